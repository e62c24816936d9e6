/* What goes by rows (W6): softmax, layer_norm, cross_entropy, rows of a table, sums over a dim; forward, and
 * backward alone, with a gradient that is given: r rows of c elements. */
#include <math.h>

#include "bench/heed/workloads.h"

static heed_tensor *x, *weight, *bias, *ids, *g;
static heed_tensor *y; /* of the backward: what is differentiated */
static int64_t rows, columns;
static heed_tensor *(*apply)(void);

/* ---- a gradient that is given, as in torch.autograd.grad(y, x, g) ---- */

static heed_status given_rule(const heed_call *call, heed_result *result)
{
    (void)call;
    result->shape = HEED_SCALAR;
    return HEED_OK;
}

static heed_status given_forward(const heed_call *call, heed_tensor *result)
{
    (void)call;
    return heed_fill_into(result, 0);
}

static void given_backward(const heed_vjp *v)
{
    v->grads[0] = v->inputs[1];
}

HEED_OPERATION(given) = {.name = "given",
                         .inputs = 2,
                         .rule = given_rule,
                         .forward = given_forward,
                         .backward = given_backward,
                         .saves = {HEED_SAVES_INPUT(1)}};

/* A result whose backward costs nothing but that of `result`, which gets g. */
static heed_tensor *with_given(heed_tensor *result)
{
    return heed_apply(&op_given, (heed_tensor *[]){result, g}, 2, NULL, 0);
}

/* ---- plain formulas, in doubles ---- */

static double at(const heed_tensor *t, int64_t i)
{
    return (double)heed_const_data_f32(t)[i];
}

static double mean_of_row(const heed_tensor *t, int64_t row)
{
    double sum = 0;
    for (int64_t i = row * columns; i < (row + 1) * columns; i++) {
        sum += at(t, i);
    }
    return sum / (double)columns;
}

static double sum_of_exp(int64_t row)
{
    double sum = 0;
    for (int64_t i = row * columns; i < (row + 1) * columns; i++) {
        sum += exp(at(x, i));
    }
    return sum;
}

static double softmax_of(int64_t i)
{
    return exp(at(x, i)) / sum_of_exp(i / columns);
}

static double softmax_gradient_of(int64_t i)
{
    const int64_t first = i / columns * columns;
    const double sum = sum_of_exp(i / columns);
    double inner = 0;
    for (int64_t j = first; j < first + columns; j++) {
        inner += at(g, j) * exp(at(x, j)) / sum;
    }
    return exp(at(x, i)) / sum * (at(g, i) - inner);
}

static double deviation_of_row(int64_t row, double mean)
{
    double sum = 0;
    for (int64_t i = row * columns; i < (row + 1) * columns; i++) {
        sum += (at(x, i) - mean) * (at(x, i) - mean);
    }
    return sqrt(sum / (double)columns + 1e-5);
}

static double layer_norm_of(int64_t i)
{
    const double mean = mean_of_row(x, i / columns);
    return (at(x, i) - mean) / deviation_of_row(i / columns, mean);
}

static double layer_norm_gradient_of(int64_t i)
{
    const int64_t row = i / columns;
    const double mean = mean_of_row(x, row), deviation = deviation_of_row(row, mean);
    double inner = 0;
    for (int64_t j = row * columns; j < (row + 1) * columns; j++) {
        inner += at(g, j) * (at(x, j) - mean) / deviation / (double)columns;
    }
    const double z = (at(x, i) - mean) / deviation;
    return (at(g, i) - mean_of_row(g, row) - z * inner) / deviation;
}

static int64_t id_of(int64_t row)
{
    return heed_const_data_i64(ids)[row];
}

static double cross_entropy_of(int64_t i)
{
    double sum = 0;
    for (int64_t row = i; row < rows; row++) {
        sum += log(sum_of_exp(row)) - at(x, row * columns + id_of(row));
    }
    return sum / (double)rows;
}

static double cross_entropy_gradient_of(int64_t i)
{
    return (softmax_of(i) - (i % columns == id_of(i / columns) ? 1 : 0)) / (double)rows;
}

static double embedding_of(int64_t i)
{
    return at(weight, id_of(i / columns) * columns + i % columns);
}

static double embedding_gradient_of(int64_t i)
{
    double sum = 0;
    for (int64_t row = 0; row < rows; row++) {
        sum += id_of(row) == i / columns ? at(g, row * columns + i % columns) : 0;
    }
    return sum;
}

static double sum_of_row(int64_t row)
{
    return mean_of_row(x, row) * (double)columns;
}

static double sum_of_column(int64_t column)
{
    double sum = 0;
    for (int64_t row = 0; row < rows; row++) {
        sum += at(x, row * columns + column);
    }
    return sum;
}

/* ---- what is timed ---- */

static heed_tensor *softmax(void)
{
    return heed_softmax(x, -1);
}

static heed_tensor *layer_norm(void)
{
    return heed_layer_norm(x, HEED_SHAPE(columns), weight, bias, 0);
}

static heed_tensor *cross_entropy(void)
{
    return heed_cross_entropy(x, ids);
}

static heed_tensor *embedding(void)
{
    return heed_embedding(ids, weight);
}

static heed_tensor *sum_rows(void)
{
    return heed_sum_dim(x, 0, false);
}

static heed_tensor *sum_columns(void)
{
    return heed_sum_dim(x, 1, false);
}

static void run_forward(void)
{
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    apply();
    heed_scope_end(&scope);
}

static void forget_gradients(void)
{
    heed_tensor *all[] = {x, weight, bias};
    for (int i = 0; i < 3; i++) {
        heed_clear_grad(all[i]);
    }
}

static void run_backward(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_backward_retain(y);
    forget_gradients();
    heed_scope_end(&scope);
}

static const struct {
    const char *name;
    heed_tensor *(*apply)(void);
    double (*expected)(int64_t i), (*gradient)(int64_t i); /* gradient: of x, or of the table */
    long sizes[2][2];                                      /* rows and columns */
    bool is_table; /* columns are how many rows the table has, of 128 elements */
} operations[] = {
    {"softmax", softmax, softmax_of, softmax_gradient_of, {{3072, 64}, {4096, 1024}}, false},
    {"layer_norm",
     layer_norm,
     layer_norm_of,
     layer_norm_gradient_of,
     {{768, 128}, {4096, 1024}},
     false},
    {"cross_entropy",
     cross_entropy,
     cross_entropy_of,
     cross_entropy_gradient_of,
     {{768, 65}, {768, 50257}},
     false},
    {"embedding", embedding, embedding_of, embedding_gradient_of, {{768, 65}, {768, 50257}}, true},
    {"sum_dim0", sum_rows, sum_of_column, NULL, {{768, 128}, {4096, 1024}}, false},
    {"sum_dim1", sum_columns, sum_of_row, NULL, {{768, 128}, {4096, 1024}}, false},
};
enum { COUNT = sizeof operations / sizeof *operations, WIDTH = 128 };

static void make_inputs(const struct workload *w, bool with_gradients)
{
    const bool is_table = operations[w->variant].is_table;
    rows = w->size[0];
    columns = is_table ? WIDTH : w->size[1];
    apply = operations[w->variant].apply;
    x = heed_randn(HEED_SHAPE(rows, columns), HEED_F32);
    g = heed_randn(HEED_SHAPE(rows, columns), HEED_F32);
    weight = is_table ? heed_randn(HEED_SHAPE(w->size[1], WIDTH), HEED_F32)
                      : heed_ones(HEED_SHAPE(columns), HEED_F32);
    bias = heed_zeros(HEED_SHAPE(columns), HEED_F32);
    ids = heed_randint(0, w->size[1], HEED_SHAPE(rows));
    heed_tensor *all[] = {x, weight, bias};
    for (int i = 0; i < 3; i++) {
        heed_set_requires_grad(all[i], with_gradients);
    }
}

static const char *prepare_forward(const struct workload *w)
{
    make_inputs(w, false);
    heed_scope scope;
    heed_scope_begin(&scope);
    const bool wrong = differs(apply(), operations[w->variant].expected);
    heed_scope_end(&scope);
    return wrong ? "the result is not that of the formula" : NULL;
}

static const char *prepare_backward(const struct workload *w)
{
    make_inputs(w, true);
    y = apply();
    y = y->ndim == 0 ? y : with_given(y);
    heed_backward_retain(y);
    const heed_tensor *leaf = operations[w->variant].is_table ? weight : x;
    const bool wrong = differs(leaf->grad, operations[w->variant].gradient);
    forget_gradients();
    return wrong ? "the gradient is not that of the formula" : NULL;
}

void add_lines(struct table *table)
{
    for (int i = 0; i < 2 * COUNT; i++) {
        const int number = i / 2;
        const long *size = operations[number].sizes[i % 2];
        const long elements = size[0] * (operations[number].is_table ? WIDTH : size[1]);
        struct workload w = {.unit = "ns/element",
                             .scale = 1e9 / (double)elements,
                             .size = {size[0], size[1]},
                             .variant = number,
                             .prepare = prepare_forward,
                             .run = run_forward};
        add_workload(table, w, "w6.%s.%ldx%ld", operations[number].name, size[0], size[1]);
        if (operations[number].gradient != NULL) {
            w.prepare = prepare_backward;
            w.run = run_backward;
            add_workload(table, w, "w6.%s_backward.%ldx%ld", operations[number].name, size[0],
                         size[1]);
        }
    }
}
