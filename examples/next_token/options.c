/* Reading the command line by the table of flags, and writing the help from it. */
#include "examples/next_token/options.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { STRING, CHOICE, WHOLE, REAL, ABOVE } kind;

typedef struct flag {
    kind kind;
    const char *name; /* with _ for - */
    const char *value;
    double low, high;
    double defaults[TASKS];
    const char *help;
    size_t offset, given; /* in the struct of options */
} flag;

/* clang-format off */
#define ROW(kind, field, value, low, high, toy, by_char, by_word, help)                            \
    {kind, #field, value, (double)(low), (double)(high), {toy, by_char, by_word}, help,            \
     offsetof(options, field), offsetof(options, given.field)},
/* clang-format on */
static const flag flags[] = {OPTIONS(ROW)};
enum { FLAGS = sizeof flags / sizeof *flags };

/* ---- names ---- */

/* A flag's name as it is typed. */
typedef struct typed_name {
    char text[24];
} typed_name;

static typed_name name_of(const flag *f)
{
    typed_name name;
    snprintf(name.text, sizeof name.text, "--%s", f->name);
    for (char *at = name.text; (at = strchr(at, '_')) != NULL;) {
        *at = '-';
    }
    return name;
}

/* The flag that `argument` is, alone or before a '='; NULL: none. *value is what
 * follows the '='. */
static const flag *find(const char *argument, const char **value)
{
    const size_t length = strcspn(argument, "=");
    for (int i = 0; i < FLAGS; i++) {
        const typed_name name = name_of(&flags[i]);
        if (strlen(name.text) == length && strncmp(argument, name.text, length) == 0) {
            *value = argument[length] == '=' ? argument + length + 1 : NULL;
            return &flags[i];
        }
    }
    return NULL;
}

/* ---- values ---- */

/* A number in ordinary notation, and nothing after it. */
static bool read_number(const flag *f, const char *text, int64_t *whole, double *real)
{
    const char *const characters = f->kind == WHOLE ? "+-0123456789" : "+-.0123456789eE";
    char *end = NULL;
    errno = 0;
    if (*text == '\0' || text[strspn(text, characters)] != '\0') {
        return false;
    }
    if (f->kind == WHOLE) {
        *whole = strtoll(text, &end, 10);
        *real = (double)*whole;
    } else {
        *real = strtod(text, &end);
        errno = isfinite(*real) && (*real != 0 || f->kind != ABOVE) ? 0 : errno;
    }
    return errno == 0 && *end == '\0' && *real <= f->high &&
           (f->kind == ABOVE ? *real > f->low : *real >= f->low);
}

/* The place of `text` in a list such as "char|word"; -1: it is not there. */
static int place_in(const char *list, const char *text)
{
    const size_t length = strlen(text);
    for (int place = 0;; place++) {
        const size_t item = strcspn(list, "|");
        if (item == length && strncmp(list, text, length) == 0) {
            return place;
        }
        if (list[item] == '\0') {
            return -1;
        }
        list += item + 1;
    }
}

/* "a whole number from 1 to 16": what a flag takes. */
static void describe_range(const flag *f, char *text, size_t size)
{
    if (f->kind == WHOLE && f->high > 1e15) {
        snprintf(text, size, "a whole number from %.0f to %lld", f->low, (long long)INT64_MAX);
    } else if (f->kind == WHOLE) {
        snprintf(text, size, "a whole number from %.0f to %.0f", f->low, f->high);
    } else if (f->kind == CHOICE) {
        snprintf(text, size, "one of %s", f->value);
    } else {
        snprintf(text, size, "a number %s %g%s %g", f->kind == ABOVE ? "above" : "from", f->low,
                 f->kind == ABOVE ? ", at most" : " to", f->high);
    }
}

/* Puts a value into its field. */
static void set(options *o, const flag *f, const char *text, int64_t whole, double real)
{
    char *field = (char *)o + f->offset;
    switch (f->kind) {
    case STRING:
        memcpy(field, &text, sizeof text);
        break;
    case CHOICE:
    case WHOLE:
        memcpy(field, &whole, sizeof whole);
        break;
    case REAL:
    case ABOVE:
        memcpy(field, &real, sizeof real);
        break;
    }
}

static void read_value(options *o, const flag *f, const char *text)
{
    int64_t whole = 0;
    double real = 0;
    bool fits = true;
    if (f->kind == CHOICE) {
        whole = place_in(f->value, text);
        fits = whole >= 0;
    } else if (f->kind != STRING) {
        fits = read_number(f, text, &whole, &real);
    }
    if (*text == '\0' && strcmp(f->value, "FILE") == 0) {
        heed_fail(HEED_ERR_VALUE, "%s: the name of the file is empty", name_of(f).text);
        return;
    }
    if (!fits) {
        char range[96];
        describe_range(f, range, sizeof range);
        heed_fail(HEED_ERR_VALUE, "%s: '%s' is not %s", name_of(f).text, text, range);
        return;
    }
    set(o, f, text, whole, real);
    *((bool *)((char *)o + f->given)) = true;
}

/* ---- the command line ---- */

options options_read(int argc, char **argv)
{
    options o = {.help = false};
    for (int i = 1; i < argc && !heed_error_pending(); i++) {
        const char *value = NULL, *of_next;
        const flag *f = find(argv[i], &value);
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            o.help = true;
            return o;
        }
        if (f == NULL && (argv[i][0] != '-' || argv[i][1] == '\0')) {
            heed_fail(HEED_ERR_VALUE, "unexpected argument '%s'; a text is --text FILE", argv[i]);
        } else if (f == NULL) {
            heed_fail(HEED_ERR_VALUE, "unknown flag %s", argv[i]);
        } else if (value == NULL && (i + 1 == argc || find(argv[i + 1], &of_next) != NULL)) {
            heed_fail(HEED_ERR_VALUE, "no value after %s", argv[i]);
        } else {
            read_value(&o, f, value != NULL ? value : argv[++i]);
        }
    }
    return o;
}

void options_complete(options *o, options_task task)
{
    for (int i = 0; i < FLAGS; i++) {
        const bool given = *((bool *)((char *)o + flags[i].given));
        if (!given && flags[i].kind != STRING) {
            const double value = flags[i].defaults[task];
            set(o, &flags[i], NULL, (int64_t)value, value);
        }
    }
}

/* ---- help ---- */

static const char introduction[] =
    "usage: next_token [--text FILE] [--FLAG VALUE | --FLAG=VALUE] ...\n"
    "\n"
    "Trains a model with one self-attention to foresee the next token of a text of yours. Without\n"
    "--text it learns the toy: sentences such as \"the pizza came out of the oven and it tasted\n"
    "good\", and its attention is shown before and after.\n"
    "\n";

static const char conclusion[] =
    "\n"
    "The last tenth of a text is held out; without --prompt the model writes on after the "
    "beginning\n"
    "of it. Losses are in nats per token. A loaded model brings its level, vocabulary, d-model,\n"
    "heads and context; without --text it only writes. The same flags and files give the same\n"
    "output, word for word.\n"
    "\n"
    "What is shown goes to stdout, progress to stderr: a bar on a terminal, lines elsewhere\n"
    "and where TERM is dumb; NO_COLOR takes the colors away. Ctrl-C ends a "
    "training\n"
    "after the step at work, saves and draws; a second one ends the program at once.\n"
    "\n"
    "Exit status: 0, also after Ctrl-C; 2 if flags, or the files they name, are not as they "
    "should\n"
    "be; 1 for all else that fails.\n"
    "\n"
    "  next_token --text book.txt --save book.safetensors --plot book.svg\n"
    "  next_token --load book.safetensors --prompt \"It was\"\n"
    "  next_token --prompt \"the dragon was found near the castle and it\" --heads 2\n";

/* "; toy 2000, char 3000, word 1000", or "; 32" if all are equal: what holds without the flag. */
static void put_defaults(FILE *stream, const double of[TASKS])
{
    static const char *const names[TASKS] = {"toy ", "char ", "word "};
    const bool equal = of[TASK_TOY] == of[TASK_CHAR] && of[TASK_CHAR] == of[TASK_WORD];
    for (int task = 0; task < (equal ? 1 : TASKS); task++) {
        fprintf(stream, "%s%s%g", task > 0 ? ", " : "; default: ", equal ? "" : names[task],
                of[task]);
    }
}

void options_help(FILE *stream)
{
    fputs(introduction, stream);
    for (int i = 0; i < FLAGS; i++) {
        const flag *f = &flags[i];
        char left[48], range[96];
        snprintf(left, sizeof left, "%s %s", name_of(f).text, f->value);
        fprintf(stream, "  %-18s %s\n", left, f->help);
        if (f->kind != STRING && f->kind != CHOICE) {
            describe_range(f, range, sizeof range);
            fprintf(stream, "  %-18s   %s", "", range);
            put_defaults(stream, f->defaults);
            fputc('\n', stream);
        }
    }
    fprintf(stream, "  %-18s this text\n", "--help");
    fputs(conclusion, stream);
}
