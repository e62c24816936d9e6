/* Reads the command line and prints the help from one table of flags. */
#include "examples/lab/common/flags.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

flag_name flags_name(const flag_row *f)
{
    flag_name name;
    snprintf(name.text, sizeof name.text, "--%s", f->name);
    for (char *at = name.text; (at = strchr(at, '_')) != NULL;) {
        *at = '-';
    }
    return name;
}

/* The flag that `argument` names, alone or before a '='; NULL: none. *value: the text after '='. */
static const flag_row *find(const flag_table *table, const char *argument, const char **value)
{
    const size_t length = strcspn(argument, "=");
    for (int i = 0; i < table->count; i++) {
        const flag_name name = flags_name(&table->flags[i]);
        if (strlen(name.text) == length && strncmp(argument, name.text, length) == 0) {
            *value = argument[length] == '=' ? argument + length + 1 : NULL;
            return &table->flags[i];
        }
    }
    return NULL;
}

static bool *given_of(const flag_row *f, void *options)
{
    return (bool *)((char *)options + f->given);
}

/* ---- values ---- */

/* A decimal number with nothing after it. */
static bool read_number(const flag_row *f, const char *text, int64_t *whole, double *real)
{
    const char *const characters = f->kind == FLAG_WHOLE ? "+-0123456789" : "+-.0123456789eE";
    char *end = NULL;
    errno = 0;
    if (*text == '\0' || text[strspn(text, characters)] != '\0') {
        return false;
    }
    if (f->kind == FLAG_WHOLE) {
        *whole = strtoll(text, &end, 10);
        *real = (double)*whole;
    } else {
        *real = strtod(text, &end);
        errno = isfinite(*real) ? 0 : errno; /* subnormal numbers set it */
    }
    return errno == 0 && *end == '\0' && *real >= f->low && *real <= f->high;
}

/* The index of `text` in a list such as "char|word"; -1: not in the list. */
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

static bool is_number(const flag_row *f)
{
    return f->kind == FLAG_WHOLE || f->kind == FLAG_REAL;
}

/* The values that a flag takes: "a whole number from 1 to 16". */
static void describe_range(const flag_row *f, char *text, size_t size)
{
    if (f->kind == FLAG_CHOICE) {
        snprintf(text, size, "one of %s", f->value);
    } else {
        snprintf(text, size, "a %snumber from %.10g to %.10g",
                 f->kind == FLAG_WHOLE ? "whole " : "", f->low, f->high);
    }
}

static void set(void *options, const flag_row *f, const char *text, int64_t whole, double real)
{
    void *field = (char *)options + f->offset;
    if (f->kind == FLAG_STRING || f->kind == FLAG_BARE) {
        *(const char **)field = text;
    } else if (f->kind == FLAG_REAL) {
        *(double *)field = real;
    } else if (f->kind == FLAG_SWITCH) {
        *(bool *)field = whole != 0;
    } else {
        *(int64_t *)field = whole;
    }
}

static void read_value(void *options, const flag_row *f, const char *text)
{
    int64_t whole = f->kind == FLAG_SWITCH;
    double real = 0;
    bool fits = true;
    if (f->kind == FLAG_CHOICE) {
        whole = place_in(f->value, text);
        fits = whole >= 0;
    } else if (is_number(f)) {
        fits = read_number(f, text, &whole, &real);
    }
    if (!fits) {
        char range[96];
        describe_range(f, range, sizeof range);
        heed_fail(HEED_ERR_VALUE, "%s: '%s' is not %s", flags_name(f).text, text, range);
        return;
    }
    set(options, f, text, whole, real);
    *given_of(f, options) = true;
}

/* ---- settings in files ---- */

static flag_value text_of(const flag_row *f, const void *options, const char *format)
{
    const void *field = (const char *)options + f->offset;
    flag_value value = {""};
    if (f->kind == FLAG_SWITCH) {
        strcpy(value.text, *(const bool *)field ? "true" : "false");
    } else if (f->kind == FLAG_REAL) {
        snprintf(value.text, sizeof value.text, format, *(const double *)field);
    } else if (f->kind == FLAG_WHOLE) {
        snprintf(value.text, sizeof value.text, "%lld", (long long)*(const int64_t *)field);
    } else if (f->kind == FLAG_CHOICE) {
        const char *item = f->value;
        for (int64_t place = *(const int64_t *)field; place > 0; place--) {
            item += strcspn(item, "|") + 1;
        }
        snprintf(value.text, sizeof value.text, "%.*s", (int)strcspn(item, "|"), item);
    }
    return value;
}

flag_value flags_text(const flag_row *f, const void *options)
{
    return text_of(f, options, "%.17g");
}

flag_value flags_rounded(const flag_row *f, const void *options)
{
    return text_of(f, options, "%g");
}

heed_status flags_set(const flag_table *table, void *options, const char *name, const char *text)
{
    const flag_row *f = NULL;
    for (int i = 0; i < table->count; i++) {
        f = strcmp(table->flags[i].name, name) == 0 ? &table->flags[i] : f;
    }
    if (f == NULL) {
        heed_fail(HEED_ERR_VALUE, "no flag is called %s", name);
    } else {
        read_value(options, f, text);
    }
    return heed_error_pending();
}

bool flags_given(const flag_row *f, const void *options)
{
    return *((const bool *)((const char *)options + f->given));
}

/* ---- the command line ---- */

/* An argument without a flag. */
static void read_bare(const flag_table *table, void *options, const char *argument)
{
    int i = 0;
    while (i < table->count &&
           (table->flags[i].kind != FLAG_BARE || flags_given(&table->flags[i], options))) {
        i++;
    }
    if (argument[0] == '-' && argument[1] != '\0') {
        heed_fail(HEED_ERR_VALUE, "unknown flag %s", argument);
    } else if (i == table->count) {
        heed_fail(HEED_ERR_VALUE, "unexpected argument '%s'", argument);
    } else {
        read_value(options, &table->flags[i], argument);
    }
}

bool flags_read(const flag_table *table, void *options, int argc, char **argv)
{
    for (int i = 1; i < argc && !heed_error_pending(); i++) {
        const char *value = NULL, *of_next;
        const flag_row *f = find(table, argv[i], &value);
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
        if (f == NULL) {
            read_bare(table, options, argv[i]);
        } else if (f->kind == FLAG_SWITCH && value != NULL) {
            heed_fail(HEED_ERR_VALUE, "%s: takes no value", flags_name(f).text);
        } else if (f->kind == FLAG_SWITCH) {
            read_value(options, f, argv[i]);
        } else if (value == NULL && (i + 1 == argc || find(table, argv[i + 1], &of_next) != NULL)) {
            heed_fail(HEED_ERR_VALUE, "no value after %s", argv[i]);
        } else {
            read_value(options, f, value != NULL ? value : argv[++i]);
        }
    }
    return false;
}

void flags_complete(const flag_table *table, void *options)
{
    for (int i = 0; i < table->count; i++) {
        const flag_row *f = &table->flags[i];
        if (!flags_given(f, options) && f->kind != FLAG_STRING && f->kind != FLAG_BARE &&
            !isnan(f->standard)) {
            set(options, f, NULL, (int64_t)f->standard, f->standard);
        }
    }
}

void flags_help(const flag_table *table, FILE *stream)
{
    for (int i = 0; i < table->count; i++) {
        const flag_row *f = &table->flags[i];
        char range[96];
        fprintf(stream, f->kind == FLAG_BARE ? "  [%s]" : "  %s", flags_name(f).text);
        fprintf(stream, f->kind == FLAG_SWITCH ? "%s" : " %s", f->value);
        if (is_number(f)) {
            describe_range(f, range, sizeof range);
            fprintf(stream, ": %s", range);
        }
        if (is_number(f) && !isnan(f->standard)) {
            fprintf(stream, "; default: %.10g", f->standard);
        }
        fprintf(stream, "\n      %s\n", f->help);
    }
    fputs("  --help\n      show this help\n", stream);
}

/* ---- errors ---- */

heed_status flags_blame(const char *flag, heed_status status)
{
    char message[8192];
    const heed_status pending = heed_error_pending();
    if (pending != HEED_OK && pending != HEED_ERR_MEMORY) {
        heed_error();
        snprintf(message, sizeof message, "%s", heed_error_message());
        const char *colon = strstr(message, ": ");
        heed_fail(status, "%s: %s", flag, colon != NULL ? colon + 2 : message);
    }
    return heed_error_pending();
}
