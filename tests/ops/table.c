/* Expands the cases of operations.def into functions, and their inputs into tensors. */
#include "tests/ops/table.h"

#include "tensor/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/test_util.h"
#include "tests/ops/expressions.h"

#define COMPOSITE(name) #name,
const char *const composites[] = {
#include "tests/ops/operations.def"
};
const int composite_count = (int)(sizeof composites / sizeof *composites);

bool is_composite(const char *name)
{
    for (int i = 0; i < composite_count; i++) {
        if (strcmp(name, composites[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool graph_holds(const heed_tensor *y, const char *operation)
{
    if (y->op != NULL && strcmp(y->op->name, operation) == 0) {
        return true;
    }
    for (int i = 0; i < y->input_count; i++) {
        if (graph_holds(y->inputs[i], operation)) {
            return true;
        }
    }
    return false;
}

/* ---- a function for each row ---- */

#define A in[0]
#define B in[1]
#define C in[2]
#define D in[3]
#define E in[4]
#define F in[5]
#define CASE(name, expression)                                                                     \
    static heed_tensor *name(heed_tensor *const *in, void *context)                                \
    {                                                                                              \
        (void)context, (void)in;                                                                   \
        return expression;                                                                         \
    }
#define ROW(operation, form, derivative, accuracy, expression, torch, ...)                         \
    CASE(operation##__##form, expression)
#define GRADIENT(operation, form, derivative, expression, ...) CASE(operation##__##form, expression)
#define PARITY(operation, form, accuracy, expression, torch, ...)                                  \
    CASE(operation##__##form, expression)
#include "tests/ops/operations.def"

/* ---- a table entry for each row ---- */

/* The size at 0 is the limit of BELOW. */
#define SIZED(values, ...)                                                                         \
    {                                                                                              \
        values, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)) - 1,                     \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define INPUT(values, ...) SIZED(values, 0, __VA_ARGS__)
#define ANY(...)           INPUT(ANY, __VA_ARGS__)
#define UNIFORM(...)       INPUT(ANY, __VA_ARGS__)
#define POS(...)           INPUT(POS, __VA_ARGS__)
#define NEG(...)           INPUT(NEG, __VA_ARGS__)
#define ANY_STRIDED(...)   INPUT(ANY_STRIDED, __VA_ARGS__)
#define POS_STRIDED(...)   INPUT(POS_STRIDED, __VA_ARGS__)
#define HOLED(...)         INPUT(HOLED, __VA_ARGS__)
#define CONST(...)         INPUT(CONST, __VA_ARGS__)
#define ZEROS(...)         INPUT(ZEROS, __VA_ARGS__)
#define MASK(...)          INPUT(MASK, __VA_ARGS__)
#define IDS(...)           INPUT(IDS, __VA_ARGS__)
#define GAPS(...)          INPUT(GAPS, __VA_ARGS__)
#define BELOW(...)         SIZED(IDS, __VA_ARGS__)
#define ROW(operation, form, derivative, accuracy, expression, torch, ...)                         \
    {SUBJECT, #operation, #form, derivative, accuracy, operation##__##form, {__VA_ARGS__}},
#define GRADIENT(operation, form, derivative, expression, ...)                                     \
    {SUBJECT, #operation, #form, derivative, NOT_COMPARED, operation##__##form, {__VA_ARGS__}},
#define PARITY(operation, form, accuracy, expression, torch, ...)                                  \
    {SUBJECT, #operation, #form, NOT_CHECKED, accuracy, operation##__##form, {{NONE, 0, {0}}}},

const operation_row operation_rows[] = {
#include "tests/ops/operations.def"
};
const int operation_row_count = (int)(sizeof operation_rows / sizeof *operation_rows);

const operation_row *find_row(const char *operation, const char *form)
{
    for (int i = 0; i < operation_row_count; i++) {
        const operation_row *row = &operation_rows[i];
        if (strcmp(row->operation, operation) == 0 && strcmp(row->form, form) == 0) {
            return row;
        }
    }
    return NULL;
}

const char *row_name(int i)
{
    static char name[100];
    snprintf(name, sizeof name, "%s.%s", operation_rows[i].operation, operation_rows[i].form);
    return name;
}

/* ---- inputs ---- */

/* The i-th element of a well-spaced sequence in (0, 1): the fractional part of i times the golden
 * ratio. */
static double spread(int64_t i)
{
    double x = 0.6180339887498949 * (double)(i + 1);
    return x - floor(x);
}

static double value_of(enum values values, int number, int64_t i)
{
    const double x = spread(i + 7 * number);
    switch (values) {
    case POS:
    case POS_STRIDED:
    case CONST:
        return 0.4 + 1.2 * x;
    case NEG:
        return -0.4 - 1.2 * x;
    case ZEROS:
        return i % 2 == 0 ? 0 : 0.4 + 1.2 * x;
    case HOLED:
        return i % 2 == 0 ? 0 : i % 4 == 1 ? 0.4 + x : -0.4 - x;
    default:
        return spread(3 * i + number) < 0.5 ? -0.3 - 1.2 * x : 0.3 + 1.2 * x;
    }
}

static heed_tensor *numbers(const row_input *input, int number, heed_shape shape)
{
    heed_tensor *x = heed_empty(shape, HEED_F64);
    double *data = heed_data_f64(x);
    for (int64_t i = 0; data != NULL && i < x->numel; i++) {
        data[i] = value_of(input->values, number, i);
    }
    return x;
}

/* The same shape as a strided view: stored transposed, with every other element unused. */
static heed_tensor *strided_numbers(const row_input *input, int number, heed_shape shape)
{
    heed_shape reversed = shape;
    for (int i = 0; i < shape.ndim; i++) {
        reversed.size[i] = shape.size[shape.ndim - 1 - i];
    }
    reversed.size[0] *= 2;
    heed_tensor *x = numbers(input, number, reversed);
    x = heed_slice(x, 0, 1, INT64_MAX, 2);
    for (int i = 0; i < shape.ndim / 2; i++) {
        x = heed_transpose(x, i, shape.ndim - 1 - i);
    }
    return x;
}

static heed_tensor *whole_numbers(const row_input *input, heed_shape shape)
{
    heed_tensor *ids = heed_empty(shape, HEED_I64);
    int64_t *id = heed_data_i64(ids);
    const int64_t limit = input->size[0] > 0 ? input->size[0] : 3;
    for (int64_t i = 0; id != NULL && i < ids->numel; i++) {
        id[i] = input->values == GAPS && i % 2 == 1 ? -100 : 2 * i % 3 % limit;
    }
    return input->values == MASK ? heed_eq_scalar(ids, 0) : ids;
}

static heed_tensor *make_input(const row_input *input, int number)
{
    heed_shape shape = {.ndim = input->ndim};
    memcpy(shape.size, input->size + 1, sizeof shape.size);
    switch (input->values) {
    case MASK:
    case IDS:
    case GAPS:
        return whole_numbers(input, shape);
    case CONST:
    case ZEROS:
        return numbers(input, number, shape);
    case ANY_STRIDED:
    case POS_STRIDED:
        return heed_set_requires_grad(strided_numbers(input, number, shape), true);
    default:
        return heed_set_requires_grad(numbers(input, number, shape), true);
    }
}

int row_inputs(const operation_row *row, heed_tensor **inputs)
{
    int count = 0;
    while (count < ROW_INPUTS && row->inputs[count].values != NONE) {
        inputs[count] = make_input(&row->inputs[count], count);
        count++;
    }
    return count;
}

/* ---- tests ---- */

void add_table_rows(Suite *suite, const char *name, const TTest *test, const char *subject,
                    bool (*filter)(const operation_row *row))
{
    TCase *rows = heed_case(suite, name);
    for (int i = 0; i < operation_row_count; i++) {
        if (strcmp(operation_rows[i].subject, subject) == 0 && filter(&operation_rows[i])) {
            add_row(rows, test, i, row_name(i));
        }
    }
}

void add_operation_rows(Suite *suite, const char *name)
{
    add_gradient_rows(suite, name);
    add_parity_rows(suite, name);
    add_extreme_rows(suite, name);
    add_misuse_rows(suite, name);
}
