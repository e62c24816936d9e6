/* Single operations (W6): element-wise, row-wise, and over all parameters. For row-wise operations
 * backward is also timed separately, for a given upstream gradient. */
#include <math.h>
#include <stdio.h>

#include "bench/heed/tables.h"

static heed_tensor *x, *other; /* other: the second operand of add and mul */
static heed_tensor *weight, *bias, *ids, *g;
static heed_tensor *y; /* result to differentiate, for backward */
static int64_t rows, columns;
static heed_tensor *(*apply)(void);

enum { MOST_KEYS = 1024 }; /* of attention */

static double at(const heed_tensor *t, int64_t i)
{
    return (double)heed_const_data_f32(t)[i];
}

static void run_forward(void)
{
    HEED_SCOPE(scope);
    apply();
}

/* True if the result differs from the formula, computed in double. */
static bool result_differs(double (*expected)(int64_t i))
{
    HEED_SCOPE(scope);
    return differs(apply(), expected);
}

/* ---- element-wise ---- */

/* Each operation, and the formula for an element. */
#define OPERATION(name, call, value)                                                               \
    static heed_tensor *name##_all(void)                                                           \
    {                                                                                              \
        return call;                                                                               \
    }                                                                                              \
    static double name##_of(int64_t i)                                                             \
    {                                                                                              \
        const double a = at(x, i), b = at(other, i);                                               \
        (void)b;                                                                                   \
        return value;                                                                              \
    }

OPERATION(add, heed_add(x, other), a + b)
OPERATION(mul, heed_mul(x, other), a *b)
OPERATION(div, heed_div(x, other), a / b)
OPERATION(exp, heed_exp(x), exp(a))
OPERATION(tanh, heed_tanh(x), tanh(a))
OPERATION(gelu, heed_gelu(x), a / 2 * (1 + erf(a * sqrt(0.5))))
OPERATION(gelu_tanh, heed_gelu_tanh(x),
          a / 2 * (1 + tanh(sqrt(2 / acos(-1.0)) * (a + 0.044715 * a * a * a))))

static heed_tensor *sum_all(void)
{
    return heed_sum(x);
}

static double sum_of(int64_t i)
{
    double sum = 0;
    for (; i < x->numel; i++) {
        sum += at(x, i);
    }
    return sum;
}

static const struct {
    const char *name;
    heed_tensor *(*apply)(void);
    double (*expected)(int64_t i);
    bool near_copy;    /* reads one array and writes one */
    long of_subnormal; /* also timed with this number of subnormal elements */
} elementwise[] = {
    {"add", add_all, add_of, false, 0},
    {"add_new", add_all, add_of, false, 0},
    {"mul", mul_all, mul_of, false, 1 << 16},
    {"div", div_all, div_of, false, 1 << 16},
    {"exp", exp_all, exp_of, true, 0},
    {"tanh", tanh_all, tanh_of, true, 0},
    {"gelu", gelu_all, gelu_of, true, 1 << 16},
    {"sum", sum_all, sum_of, false, 0},
    {"gelu_tanh", gelu_tanh_all, gelu_tanh_of, true, 0},
};
enum { ELEMENTWISE = sizeof elementwise / sizeof *elementwise };

static const char *prepare_elementwise(const struct workload *w)
{
    x = input_of(w, heed_randn(HEED_SHAPE(w->size[0]), HEED_F32));
    other = heed_randn(HEED_SHAPE(w->size[0]), HEED_F32);
    apply = elementwise[w->variant].apply;
    return result_differs(elementwise[w->variant].expected) ? "an element differs from libm" : NULL;
}

static void add_elementwise(struct table *table)
{
    static const long sizes[] = {1 << 10, 1 << 16, 1 << 20, 1 << 24};
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < ELEMENTWISE; i++) {
            struct workload *w = add_workload(table,
                                              (struct workload){.unit = "ns/element",
                                                                .scale = 1e9 / (double)sizes[s],
                                                                .size = {sizes[s]},
                                                                .variant = i,
                                                                .prepare = prepare_elementwise,
                                                                .run = run_forward},
                                              "w6.%s.%ld", elementwise[i].name, sizes[s]);
            if (elementwise[i].near_copy) {
                snprintf(w->bound, sizeof w->bound, "copy.%ld", sizes[s]);
                w->bound_times = 1;
            }
            if (elementwise[i].of_subnormal == sizes[s]) {
                add_subnormal(table, *w);
            }
        }
    }
}

/* ---- row-wise: a given upstream gradient, as in torch.autograd.grad(y, x, g) ---- */

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

/* A scalar whose backward costs nothing and passes g to `result`. */
static heed_tensor *with_given(heed_tensor *result)
{
    return heed_apply(&op_given, (heed_tensor *[]){result, g}, 2, NULL, 0);
}

/* ---- row-wise: formulas ---- */

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

static double dot(const heed_tensor *a, int64_t row, const heed_tensor *b, int64_t other_row)
{
    double sum = 0;
    for (int64_t i = 0; i < columns; i++) {
        sum += at(a, row * columns + i) * at(b, other_row * columns + i);
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

/* Attention: x, weight and bias are q, k and v. The mean over the keys of column `column` of `of`,
 * weighted by the attention of query `row`; with `along`, of its product with g v^T. */
static double mean_of_keys(int64_t row, const heed_tensor *of, int64_t column, bool along)
{
    double sum = 0, total = 0, max = -HUGE_VAL, scores[MOST_KEYS];
    for (int64_t key = 0; key <= row; key++) {
        scores[key] = dot(x, row, weight, key) / sqrt((double)columns);
        max = fmax(max, scores[key]);
    }
    for (int64_t key = 0; key <= row; key++) {
        const double p = exp(scores[key] - max),
                     value = of != NULL ? at(of, key * columns + column) : 1;
        total += p;
        sum += p * value * (along ? dot(g, row, bias, key) : 1);
    }
    return sum / total;
}

static double attention_of(int64_t i)
{
    return mean_of_keys(i / columns, bias, i % columns, false);
}

static double attention_gradient_of(int64_t i)
{
    const int64_t row = i / columns, column = i % columns;
    const double inner = mean_of_keys(row, NULL, 0, true);
    return (mean_of_keys(row, weight, column, true) -
            inner * mean_of_keys(row, weight, column, false)) /
           sqrt((double)columns);
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

/* ---- row-wise: operations ---- */

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

static heed_tensor *attention(void)
{
    return heed_scaled_dot_product_attention(x, weight, bias, .is_causal = true);
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

static void clear_gradients(void)
{
    heed_tensor *all[] = {x, weight, bias};
    for (int i = 0; i < 3; i++) {
        heed_clear_grad(all[i]);
    }
}

static void run_backward(void)
{
    HEED_SCOPE(scope);
    heed_backward_retain(y);
    clear_gradients();
}

/* The roles of the tensors weight and bias. */
enum operands { OF_FEATURES, TABLE, KEYS };

static const struct {
    const char *name;
    heed_tensor *(*apply)(void);
    double (*expected)(int64_t i), (*gradient)(int64_t i); /* of x, or of the table */
    long sizes[2][2];                                      /* rows and columns */
    /* OF_FEATURES: ones and zeros (columns); TABLE: an embedding, and columns is the number of rows
     * of its table, of WIDTH elements; KEYS: keys and values (rows, columns) */
    enum operands operands;
    bool of_subnormal; /* the first size is also timed with subnormal probabilities */
} by_rows[] = {
    {"softmax",
     softmax,
     softmax_of,
     softmax_gradient_of,
     {{3072, 64}, {4096, 1024}},
     OF_FEATURES,
     true},
    {"attention",
     attention,
     attention_of,
     attention_gradient_of,
     {{512, 64}, {MOST_KEYS, 64}},
     KEYS,
     true},
    {"layer_norm",
     layer_norm,
     layer_norm_of,
     layer_norm_gradient_of,
     {{768, 128}, {4096, 1024}},
     OF_FEATURES,
     false},
    {"cross_entropy",
     cross_entropy,
     cross_entropy_of,
     cross_entropy_gradient_of,
     {{768, 65}, {768, 50257}},
     OF_FEATURES,
     false},
    {"embedding",
     embedding,
     embedding_of,
     embedding_gradient_of,
     {{768, 65}, {768, 50257}},
     TABLE,
     false},
    {"sum_dim0", sum_rows, sum_of_column, NULL, {{768, 128}, {4096, 1024}}, OF_FEATURES, false},
    {"sum_dim1", sum_columns, sum_of_row, NULL, {{768, 128}, {4096, 1024}}, OF_FEATURES, false},
};
enum { BY_ROWS = sizeof by_rows / sizeof *by_rows, WIDTH = 128 };

/* In each row, makes all scores (x or q k^T / sqrt(columns)) but the first two 95 lower than these,
 * so that their probabilities are subnormal. (With a single large probability, the gradients would
 * be rounding errors.) */
static void spread_scores(enum operands operands)
{
    float *queries = heed_data_f32(x), *keys = operands == KEYS ? heed_data_f32(weight) : NULL;
    for (int64_t row = 0; row < rows; row++) {
        if (keys == NULL) {
            queries[row * columns] += 95;
            queries[row * columns + 1] += 95;
        } else {
            queries[row * columns] = 1;
            keys[row * columns] = row < 2 ? 95 * sqrtf((float)columns) : 0;
        }
    }
}

static void make_inputs(const struct workload *w, bool with_gradients)
{
    const enum operands operands = by_rows[w->variant].operands;
    const bool is_table = operands == TABLE;
    rows = w->size[0];
    columns = is_table ? WIDTH : w->size[1];
    apply = by_rows[w->variant].apply;
    x = heed_randn(HEED_SHAPE(rows, columns), HEED_F32);
    g = heed_randn(HEED_SHAPE(rows, columns), HEED_F32);
    weight = is_table           ? heed_randn(HEED_SHAPE(w->size[1], WIDTH), HEED_F32)
             : operands == KEYS ? heed_randn(heed_shape_of_tensor(x), x->dtype)
                                : heed_ones(HEED_SHAPE(columns), HEED_F32);
    bias = operands == KEYS ? heed_randn(heed_shape_of_tensor(x), x->dtype)
                            : heed_zeros(HEED_SHAPE(columns), HEED_F32);
    if (w->subnormal) {
        spread_scores(operands);
    }
    ids = heed_randint(0, w->size[1], HEED_SHAPE(rows));
    heed_tensor *all[] = {x, weight, bias};
    for (int i = 0; i < 3; i++) {
        heed_set_requires_grad(all[i], with_gradients);
    }
}

static const char *prepare_forward(const struct workload *w)
{
    make_inputs(w, false);
    return result_differs(by_rows[w->variant].expected) ? "the result differs from the formula"
                                                        : NULL;
}

static const char *prepare_backward(const struct workload *w)
{
    make_inputs(w, true);
    y = apply();
    y = y->ndim == 0 ? y : with_given(y);
    heed_backward_retain(y);
    const heed_tensor *leaf = by_rows[w->variant].operands == TABLE ? weight : x;
    const bool wrong = differs(leaf->grad, by_rows[w->variant].gradient);
    clear_gradients();
    return wrong ? "the gradient differs from the formula" : NULL;
}

static void add_by_rows(struct table *table)
{
    for (int i = 0; i < 2 * BY_ROWS; i++) {
        const int number = i / 2;
        const long *size = by_rows[number].sizes[i % 2];
        const bool is_table = by_rows[number].operands == TABLE;
        const bool of_subnormal = by_rows[number].of_subnormal && i % 2 == 0;
        const long elements = size[0] * (is_table ? WIDTH : size[1]);
        struct workload w = {.unit = "ns/element",
                             .scale = 1e9 / (double)elements,
                             .size = {size[0], size[1]},
                             .variant = number,
                             .prepare = prepare_forward,
                             .run = run_forward};
        const struct workload *added =
            add_workload(table, w, "w6.%s.%ldx%ld", by_rows[number].name, size[0], size[1]);
        if (of_subnormal) {
            add_subnormal(table, *added);
        }
        if (by_rows[number].gradient != NULL) {
            w.prepare = prepare_backward;
            w.run = run_backward;
            added = add_workload(table, w, "w6.%s_backward.%ldx%ld", by_rows[number].name, size[0],
                                 size[1]);
            if (of_subnormal) {
                add_subnormal(table, *added);
            }
        }
    }
}

/* ---- over all parameters: updates by AdamW and SGD, and the norm for clipping ---- */

enum { PARAMETERS = 4, ELEMENTS = 204512 };
enum { PLAIN, MOMENTUM };

static heed_optimizer *optimizer;
static heed_tensor *parameters[PARAMETERS];
static const heed_tensor_list all = {PARAMETERS, parameters, NULL};

static void update(void)
{
    heed_optimizer_step(optimizer);
}

static void clip(void)
{
    heed_clip_grad_norm(all, 1e9); /* larger than any norm: the gradients are unchanged */
}

static void make_parameters(void)
{
    for (int i = 0; i < PARAMETERS; i++) {
        parameters[i] = heed_randn(HEED_SHAPE(ELEMENTS), HEED_F32);
        heed_set_requires_grad(parameters[i], true);
        heed_set_grad(parameters[i], heed_randn(HEED_SHAPE(ELEMENTS), HEED_F32));
    }
}

/* Lets a normal state decay until it is subnormal, like that of a unit whose gradient stays 0. */
static void decay_state(void)
{
    for (int i = 0; i < PARAMETERS; i++) {
        heed_clear_grad(parameters[i]);
        heed_set_grad(parameters[i], heed_zeros(HEED_SHAPE(ELEMENTS), HEED_F32));
    }
    for (int i = 0; i < 1000; i++) {
        update();
    }
}

/* The first step moves by lr times the gradient or, for AdamW, times its sign. */
static const char *check_first_step(const struct workload *w, double decay, bool by_sign)
{
    const double before = at(parameters[0], 7), slope = at(parameters[0]->grad, 7);
    const double right =
        before * (1 - 1e-3 * decay) - 1e-3 * (by_sign ? copysign(1, slope) : slope);
    update();
    const bool wrong = !(fabs(at(parameters[0], 7) - right) < 1e-6);
    if (w->subnormal) {
        decay_state();
    }
    return wrong ? "the first step is wrong" : NULL;
}

static const char *prepare_adamw(const struct workload *w)
{
    make_parameters();
    optimizer = heed_adamw_new(all, 1e-3, 0.01);
    return check_first_step(w, 0.01, true);
}

static const char *prepare_sgd(const struct workload *w)
{
    make_parameters();
    optimizer = heed_sgd_new(all, 1e-3);
    optimizer->momentum = w->variant == MOMENTUM ? 0.9 : 0;
    return check_first_step(w, 0, false);
}

static const char *prepare_clip(const struct workload *w)
{
    (void)w;
    make_parameters();
    double sum = 0;
    for (int64_t i = 0; i < PARAMETERS * ELEMENTS; i++) {
        const double slope = at(parameters[i / ELEMENTS]->grad, i % ELEMENTS);
        sum += slope * slope;
    }
    const double norm = heed_clip_grad_norm(all, 1e9);
    return fabs(norm - sqrt(sum)) < 1e-4 * norm ? NULL : "the norm is wrong";
}

static void free_optimizer(void)
{
    heed_optimizer_free(optimizer);
}

static void add_updates(struct table *table)
{
    struct workload w = {.unit = "ns/parameter", .scale = 1e9 / (PARAMETERS * ELEMENTS)};
    w.prepare = prepare_clip;
    w.run = clip;
    add_workload(table, w, "w6.clip_grad_norm");
    w.run = update;
    w.finish = free_optimizer;
    w.prepare = prepare_sgd;
    add_workload(table, w, "w6.sgd");
    w.variant = MOMENTUM;
    add_subnormal(table, *add_workload(table, w, "w6.sgd_momentum"));
    w.prepare = prepare_adamw;
    add_subnormal(table, *add_workload(table, w, "w6.adamw"));
}

void add_operations(struct table *table)
{
    add_elementwise(table);
    add_by_rows(table);
    add_updates(table);
}
