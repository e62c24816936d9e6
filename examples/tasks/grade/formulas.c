/* Reads the text of a task, grade/taskN.txt: the sentences of its graders in C and in PyTorch
 * (graders/formulas.py), the formulas of what is right, and those of known mistakes.
 *
 *     name: sentence            for grade_fail and say, which fill in %s, %d and %g
 *     == group                  of the formulas that follow
 *     name = expression         in Python's notation; reads what the grader has set, and names
 * above wrong: name = expression  a mistake: the group with another formula, or with several ("; ")
 *       sentence                why it is wrong: a sentence, or the name of one
 *
 * Indented lines continue the line above. {C|Python} are words of one language, {name} is a number.
 * A mistake whose formulas cannot be computed, as shapes differ or a name is not set, does not
 * count. The first one that gives what the learner's code gives is the reason. */
#define GRADER
#include "grade.h"

#include <ctype.h>
#include <stdarg.h>

enum { MOST_ENTRIES = 200, MOST_NAMES = 60, LONGEST_TEXT = 1000, MOST_ARGS = 8 };

/* ---- the text ---- */

/* A sentence, a formula (head: its name, text: its expression) or a mistake (head: its changes). */
static struct entry {
    enum { SENTENCE, FORMULA, MISTAKE } kind;
    char *group, *head, text[LONGEST_TEXT];
} entries[MOST_ENTRIES];
static int entry_count;

/* Appends text to an entry. */
static void append(struct entry *e, const char *text)
{
    snprintf(e->text + strlen(e->text), sizeof e->text - strlen(e->text), "%s", text);
}

/* {C|Python}: takes the words of C. */
static void choose(char *text)
{
    char *to = text;
    while (*text != '\0') {
        const size_t length = strcspn(text + 1, "{}");
        const char *bar = *text == '{' ? memchr(text, '|', length) : NULL;
        const size_t own = bar != NULL ? (size_t)(bar - text) - 1 : 1;
        memmove(to, bar != NULL ? text + 1 : text, own);
        to += own;
        text += bar != NULL ? length + 2 : 1;
    }
    *to = '\0';
}

static void read_line(char *line, char *group)
{
    char *colon = strstr(line, ": "), *equals = strstr(line, " = ");
    if (line[0] == ' ') {
        struct entry *last = &entries[entry_count - 1];
        append(last, line + (last->text[0] == '\0' ? strspn(line, " ") : strspn(line, " ") - 1));
        return;
    }
    struct entry *e = &entries[entry_count++];
    const bool formula = equals != NULL && (colon == NULL || equals < colon);
    char *end = formula ? equals : colon;
    if (entry_count == MOST_ENTRIES || end == NULL) {
        fprintf(stderr, "grade/task%d.txt: %s\n", task.number, line);
        exit(1);
    }
    *end = '\0';
    e->kind = formula ? FORMULA : is(line, "wrong") ? MISTAKE : SENTENCE;
    e->group = group;
    e->head = strdup(e->kind == MISTAKE ? end + 2 : line);
    append(e, formula ? end + 3 : e->kind == MISTAKE ? "" : end + 2);
}

void grade_read_text(void)
{
    char path[1000], line[LONGEST_TEXT], *group = NULL;
    snprintf(path, sizeof path, "%s/task%d.txt", GRADE_FOLDER, task.number);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "== ", 3) == 0) {
            group = strdup(line + 3);
        } else if (line[0] != '\0' && line[0] != '#') {
            read_line(line, group);
        }
    }
    fclose(file);
    for (int i = 0; i < entry_count; i++) {
        choose(entries[i].text);
    }
}

const char *grade_sentence(const char *name)
{
    for (int i = 0; i < entry_count; i++) {
        if (entries[i].kind == SENTENCE && is(entries[i].head, name)) {
            return entries[i].text;
        }
    }
    return name;
}

char *say(const char *name, ...)
{
    char *text = malloc(LONGEST_TEXT);
    va_list args;
    va_start(args, name);
    vsnprintf(text, LONGEST_TEXT, grade_sentence(name), args);
    va_end(args);
    return text;
}

/* ---- names ---- */

static struct {
    char name[24];
    heed_tensor *value;
    grade_function *function; /* or NULL */
    void *context;
} names[MOST_NAMES];
static int name_count;
static heed_tensor none; /* a mask that is not given */

void grade_forget(void)
{
    name_count = 0;
}

static void set(const char *name, heed_tensor *value)
{
    if (name_count == MOST_NAMES) {
        fprintf(stderr, "formulas have too many names\n");
        exit(1);
    }
    snprintf(names[name_count].name, sizeof names[0].name, "%s", name);
    names[name_count].function = NULL;
    names[name_count++].value = value;
}

void grade_let(const char *name, heed_tensor *value)
{
    if (value != NULL) {
        value = heed_detach(value);
        value = value->dtype == HEED_BOOL ? value : heed_to(value, HEED_F64);
    }
    set(name, value == NULL ? &none : value);
}

void grade_let_number(const char *name, double value)
{
    set(name, heed_scalar(value, HEED_F64));
}

void grade_let_function(const char *name, grade_function *function, void *context)
{
    set(name, NULL);
    names[name_count - 1].function = function;
    names[name_count - 1].context = context;
}

/* -1 if there is none; the last one counts. */
static int index_of_name(const char *name)
{
    int i = name_count - 1;
    while (i >= 0 && !is(names[i].name, name)) {
        i--;
    }
    return i;
}

/* NULL if there is none. */
static heed_tensor *value_of(const char *name)
{
    const int i = index_of_name(name);
    return i >= 0 ? names[i].value : is(name, "inf") ? heed_scalar(INFINITY, HEED_F64) : NULL;
}

/* ---- expressions, in Python's notation ---- */

static const char *at; /* the next character */

static heed_tensor *expression(int level);

static heed_tensor *index_of(heed_tensor *x)
{
    return heed_to(x, HEED_I64);
}

/* logits (..., V), targets (...) */
static heed_tensor *cross_entropy_of(heed_tensor *logits, heed_tensor *targets)
{
    return heed_cross_entropy(heed_reshape(logits, HEED_SHAPE(-1, heed_size(logits, -1))),
                              heed_reshape(index_of(targets), HEED_SHAPE(-1)));
}

/* NULL if the arguments do not fit. */
static heed_tensor *call(const char *f, heed_tensor **a, int n)
{
    int64_t number[MOST_ARGS] = {0};
    heed_tensor *x = a[0];
    if (is(f, "hide") && n == 3 && a[1] == &none) {
        return x;
    }
    for (int i = 0; i < n; i++) {
        if (a[i] == NULL || a[i] == &none) {
            return NULL;
        }
        number[i] = a[i]->numel == 1 && a[i]->dtype == HEED_F64 && isfinite(heed_item(a[i]))
                        ? (int64_t)heed_item(a[i])
                        : 0;
    }
    const int dim = (int)number[1], other = (int)number[2];
    heed_shape shape = {.ndim = n - 1};
    heed_dims dims = {.count = n - 1};
    for (int i = 1; i < n; i++) {
        shape.size[i - 1] = number[i];
        dims.dim[i - 1] = (int)number[i];
    }
    return is(f, "t")               ? heed_transpose(x, -2, -1)
           : is(f, "transpose")     ? heed_transpose(x, dim, other)
           : is(f, "permute")       ? heed_permute(x, dims)
           : is(f, "reshape")       ? heed_reshape(x, shape)
           : is(f, "narrow")        ? heed_narrow(x, dim, number[2], number[3])
           : is(f, "select")        ? heed_select(x, dim, number[2])
           : is(f, "cat")           ? heed_cat(a, 2, other)
           : is(f, "stack")         ? heed_stack(a, n, 0)
           : is(f, "flip")          ? heed_flip(x, dims)
           : is(f, "unsqueeze")     ? heed_unsqueeze(x, dim)
           : is(f, "expand_as")     ? heed_expand(x, heed_shape_of_tensor(a[1]))
           : is(f, "zeros")         ? heed_zeros_like(x)
           : is(f, "ones")          ? heed_ones_like(x)
           : is(f, "number")        ? heed_to(x, HEED_F64)
           : is(f, "triu")          ? heed_triu(x, dim)
           : is(f, "tril")          ? heed_tril(x, dim)
           : is(f, "hide")          ? heed_masked_fill(x, a[1], heed_item(a[2]))
           : is(f, "softmax")       ? heed_softmax(x, dim)
           : is(f, "safesoftmax")   ? heed_safe_softmax(x, dim)
           : is(f, "log_softmax")   ? heed_log_softmax(x, dim)
           : is(f, "pick")          ? heed_gather(x, 1, heed_unsqueeze(index_of(a[1]), 1))
           : is(f, "columns")       ? heed_index_select(x, 1, index_of(a[1]))
           : is(f, "cross_entropy") ? cross_entropy_of(x, a[1])
           : is(f, "exp")           ? heed_exp(x)
           : is(f, "log")           ? heed_log(x)
           : is(f, "sqrt")          ? heed_sqrt(x)
           : is(f, "floor")         ? heed_floor(x)
           : is(f, "sum")           ? (n == 1 ? heed_sum(x) : heed_sum_dim(x, dim, true))
           : is(f, "mean")          ? (n == 1 ? heed_mean(x) : heed_mean_dim(x, dim, true))
           : is(f, "amax")          ? (n == 1 ? heed_amax(x) : heed_amax_dim(x, dim, true))
                                    : NULL;
}

static heed_tensor *combine(const char *sign, heed_tensor *a, heed_tensor *b)
{
    if (a == NULL || b == NULL || a == &none || b == &none) {
        return NULL;
    }
    return is(sign, "+")    ? heed_add(a, b)
           : is(sign, "-")  ? heed_sub(a, b)
           : is(sign, "*")  ? heed_mul(a, b)
           : is(sign, "/")  ? heed_div(a, b)
           : is(sign, "@")  ? heed_matmul(a, b)
           : is(sign, "|")  ? heed_logical_or(a, b)
           : is(sign, ">=") ? heed_ge(a, b)
           : is(sign, ">")  ? heed_gt(a, b)
           : is(sign, "<")  ? heed_lt(a, b)
                            : heed_eq(a, b);
}

/* A name, or a call. */
static heed_tensor *word(void)
{
    char name[24] = "";
    const size_t length =
        strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    heed_tensor *args[MOST_ARGS] = {NULL};
    int n = 0;
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    at += length;
    if (*at != '(') {
        return value_of(name);
    }
    do {
        at++;
        args[n++] = expression(0);
    } while (*at == ',' && n < MOST_ARGS);
    at += *at == ')';
    const int own = index_of_name(name);
    if (own >= 0 && names[own].function != NULL) {
        return args[0] != NULL ? names[own].function(names[own].context, args[0]) : NULL;
    }
    return call(name, args, n);
}

static heed_tensor *operand(void)
{
    at += strspn(at, " ");
    heed_tensor *x;
    char *end;
    const char sign = *at;
    if (sign == '-' || sign == '~') {
        at++;
        x = operand();
        return x == NULL || x == &none ? x : sign == '-' ? heed_neg(x) : heed_logical_not(x);
    }
    if (isdigit((unsigned char)*at)) {
        x = heed_scalar(strtod(at, &end), HEED_F64);
        at = end;
    } else if (*at == '(') {
        at++;
        x = expression(0);
        at += *at == ')';
    } else {
        x = word();
    }
    at += strspn(at, " ");
    return x;
}

/* Operators of the same level are taken from the left; those of higher levels bind tighter. */
static heed_tensor *expression(int level)
{
    static const char *const operators[4][4] = {
        {">=", ">", "<", "=="}, {"|"}, {"+", "-"}, {"*", "/", "@"}};
    if (level == 4) {
        return operand();
    }
    heed_tensor *x = expression(level + 1);
    for (int i = 0; i < 4 && operators[level][i] != NULL; i++) {
        const char *sign = operators[level][i];
        if (strncmp(at, sign, strlen(sign)) == 0) {
            at += strlen(sign);
            x = combine(sign, x, expression(level + 1));
            i = -1;
        }
    }
    return x;
}

/* ---- groups of formulas ---- */

/* The expression that "a = ...; b = ..." has for a name, or NULL. */
static const char *changed(const char *changes, const char *name)
{
    const size_t length = strlen(name);
    while (changes != NULL) {
        if (strncmp(changes, name, length) == 0 && strncmp(changes + length, " = ", 3) == 0) {
            return changes + length + 3;
        }
        changes = strstr(changes, "; ");
        changes = changes != NULL ? changes + 2 : NULL;
    }
    return NULL;
}

heed_tensor *grade_changed(const char *group, const char *name, const char *changes)
{
    const int before = name_count;
    const bool recorded = heed_set_grad_enabled(false);
    for (int i = 0; i < entry_count; i++) {
        if (entries[i].kind == FORMULA && is(entries[i].group, group)) {
            at = changed(changes, entries[i].head);
            at = at != NULL ? at : entries[i].text;
            heed_tensor *x = expression(0);
            if (*at != '\0' && *at != ';') {
                fprintf(stderr, "grade/task%d.txt: cannot read %s\n", task.number, at);
                exit(1);
            }
            set(entries[i].head, heed_error() == HEED_OK ? x : NULL);
        }
    }
    heed_tensor *x = value_of(name);
    name_count = before;
    heed_set_grad_enabled(recorded);
    return x;
}

heed_tensor *grade_right(const char *group, const char *name)
{
    return grade_changed(group, name, NULL);
}

/* A sentence, with numbers in place of {names}. */
static char *with_numbers(const char *text)
{
    char *result = calloc(1, LONGEST_TEXT), name[24];
    int length = 0;
    for (size_t end = 0; *text != '\0' && length < LONGEST_TEXT - 30; text += end) {
        end = *text == '{' ? strcspn(text, "}") + 1 : 1;
        snprintf(name, sizeof name, "%.*s", (int)end - 2, text + 1);
        heed_tensor *number = end > 1 ? value_of(name) : NULL;
        length += number != NULL ? sprintf(result + length, "%.4g", heed_item(number))
                                 : sprintf(result + length, "%.*s", (int)end, text);
    }
    return result;
}

struct mistake *grade_mistakes(const char *group, const char *wanted)
{
    struct mistake *mistakes = calloc(3 * MOST_ENTRIES, sizeof *mistakes);
    int count = 0;
    for (int i = 0; i < entry_count; i++) {
        int last = i; /* mistakes without a sentence share the next one */
        while (entries[last].text[0] == '\0') {
            last++;
        }
        char list[100], *rest = list, *name;
        snprintf(list, sizeof list, "%s", wanted);
        while (entries[i].kind == MISTAKE && is(entries[i].group, group) &&
               (name = strtok_r(rest, " ", &rest)) != NULL) {
            mistakes[count].result = grade_changed(group, name, entries[i].head);
            mistakes[count].changes = entries[i].head;
            mistakes[count++].why = with_numbers(grade_sentence(entries[last].text));
        }
    }
    return mistakes;
}
