/* Single operations: products (W5), and what is element-wise, row-wise or over all parameters (W6).
 */
#include "bench/heed/bench.h"

enum { INPUTS = 3 };

/* An operation, its inputs, and for the backward pass a given upstream gradient. */
typedef heed_tensor *(*operation)(heed_tensor *const *in);
static operation apply;
static heed_tensor *inputs[INPUTS], *y;

static void run_forward(void)
{
    HEED_SCOPE(scope);
    apply(inputs);
}

/* ---- a given upstream gradient, as in torch.autograd.grad(y, x, g) ---- */

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
                         .signature = "y (...), g (...) -> ()",
                         .forward = given_forward,
                         .backward = given_backward,
                         .saves = {HEED_SAVES_INPUT(1)}};

/* A scalar whose backward costs nothing and passes a random g to `result`. */
static heed_tensor *with_gradient(heed_tensor *result)
{
    heed_tensor *g = heed_randn(heed_shape_of_tensor(result), HEED_F32);
    return heed_apply(&op_given, (heed_tensor *[]){result, g}, 2, NULL, 0);
}

static void run_backward(void)
{
    HEED_SCOPE(scope);
    heed_backward_retain(y);
    for (int i = 0; i < INPUTS; i++) {
        if (inputs[i]->grad != NULL) {
            heed_clear_grad(inputs[i]);
        }
    }
}

/* ---- products: C (m, n) = op(A) op(B), over k ---- */

static const struct product {
    const char *mode; /* which of A and B is stored transposed; "nt": B */
    int m, n, k, batch;
} products[] = {
    {"nn", 8, 8, 8, 1},          {"nn", 64, 64, 64, 1},    {"nn", 256, 256, 256, 1},
    {"nn", 1024, 1024, 1024, 1}, {"nt", 256, 256, 256, 1}, {"nt", 768, 384, 128, 1},
    {"tn", 384, 128, 768, 1},    {"nt", 64, 64, 32, 48},
};
enum { PRODUCTS = sizeof products / sizeof *products };
static const char *mode;

static heed_tensor *product(heed_tensor *const *in)
{
    return heed_matmul(mode[0] == 't' ? heed_transpose(in[0], -2, -1) : in[0],
                       mode[1] == 't' ? heed_transpose(in[1], -2, -1) : in[1]);
}

static const char *prepare_product(const struct workload *w)
{
    const struct product *p = &products[w->variant];
    const bool left = p->mode[0] == 't', right = p->mode[1] == 't';
    mode = p->mode;
    apply = product;
    inputs[0] = heed_randn(HEED_SHAPE(p->batch, left ? p->k : p->m, left ? p->m : p->k), HEED_F32);
    inputs[1] =
        heed_randn(HEED_SHAPE(p->batch, right ? p->n : p->k, right ? p->k : p->n), HEED_F32);
    for (int i = 0; i < 2 && p->batch == 1; i++) {
        inputs[i] = heed_select(inputs[i], 0, 0);
    }
    return NULL;
}

static void add_products(void)
{
    for (int i = 0; i < PRODUCTS; i++) {
        const struct product *p = &products[i];
        add_workload((struct workload){.unit = "GFLOP/s",
                                       .scale = 2e-9 * p->m * p->n * p->k * p->batch,
                                       .variant = i,
                                       .prepare = prepare_product,
                                       .run = run_forward},
                     "w5.%s.%dx%dx%dx%d", p->mode, p->batch, p->m, p->n, p->k);
    }
}

/* ---- element-wise and row-wise ---- */

#define OPERATION(name, call)                                                                      \
    static heed_tensor *name(heed_tensor *const *in)                                               \
    {                                                                                              \
        return call;                                                                               \
    }

OPERATION(add, heed_add(in[0], in[1]))
OPERATION(mul, heed_mul(in[0], in[1]))
OPERATION(all_exp, heed_exp(in[0]))
OPERATION(all_tanh, heed_tanh(in[0]))
OPERATION(gelu, heed_gelu(in[0]))
OPERATION(sum, heed_sum(in[0]))
OPERATION(sum_dim0, heed_sum_dim(in[0], 0, false))
OPERATION(sum_dim1, heed_sum_dim(in[0], 1, false))
OPERATION(softmax, heed_softmax(in[0], -1))
OPERATION(layer_norm, heed_layer_norm(in[0], HEED_SHAPE(heed_size(in[0], 1)), in[1], in[2], 0))
OPERATION(cross_entropy, heed_cross_entropy(in[0], in[1]))
OPERATION(attention, heed_scaled_dot_product_attention(in[0], in[1], in[2], .is_causal = true))

/* What the other inputs are; all are random. */
enum operands { SAME, FEATURES, IDS };

static const struct row {
    const char *name;
    operation apply;
    long rows, columns;
    enum operands operands;
    bool backward, subnormal; /* also timed: the gradients; with subnormal results */
} rows[] = {
    {"add.65536", add, 1, 1 << 16, SAME, false, false},
    {"mul.65536", mul, 1, 1 << 16, SAME, false, true},
    {"exp.65536", all_exp, 1, 1 << 16, SAME, false, false},
    {"tanh.65536", all_tanh, 1, 1 << 16, SAME, false, false},
    {"gelu.65536", gelu, 1, 1 << 16, SAME, true, true},
    {"sum.65536", sum, 1, 1 << 16, SAME, false, false},
    {"sum_dim0.768x128", sum_dim0, 768, 128, SAME, false, false},
    {"sum_dim1.768x128", sum_dim1, 768, 128, SAME, false, false},
    {"softmax.3072x64", softmax, 3072, 64, SAME, true, true},
    {"layer_norm.768x128", layer_norm, 768, 128, FEATURES, true, false},
    {"cross_entropy.768x65", cross_entropy, 768, 65, IDS, true, false},
    {"attention.512x64", attention, 512, 64, SAME, true, false},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Factors of 1e-39; or, for softmax, all scores of a row but two that are 95 lower, whose shares
 * are subnormal. */
static void make_subnormal(const struct row *r)
{
    if (r->apply == softmax) {
        float *scores = heed_data_f32(inputs[0]);
        for (long i = 0; i < r->rows * r->columns; i++) {
            scores[i] += i % r->columns < 2 ? 95 : 0;
        }
    } else {
        inputs[0] = heed_mul_scalar(inputs[0], 1e-39);
    }
}

static const char *prepare_row(const struct workload *w)
{
    const struct row *r = &rows[w->variant];
    const heed_shape shape = HEED_SHAPE(r->rows, r->columns);
    apply = r->apply;
    inputs[0] = heed_randn(shape, HEED_F32);
    for (int i = 1; i < INPUTS; i++) {
        inputs[i] =
            r->operands == IDS
                ? heed_randint(0, r->columns, HEED_SHAPE(r->rows))
                : heed_randn(r->operands == SAME ? shape : HEED_SHAPE(r->columns), HEED_F32);
    }
    if (w->subnormal) {
        make_subnormal(r);
    }
    if (w->run == run_backward) {
        for (int i = 0; i < INPUTS; i++) {
            heed_set_requires_grad(inputs[i], inputs[i]->dtype == HEED_F32);
        }
        y = with_gradient(apply(inputs));
    }
    return NULL;
}

static void add_rows(void)
{
    for (int i = 0; i < ROWS; i++) {
        const double elements = (double)rows[i].rows * (double)rows[i].columns;
        struct workload w = {.unit = "ns/element",
                             .scale = 1e9 / elements,
                             .variant = i,
                             .prepare = prepare_row,
                             .run = run_forward};
        const struct workload *added = add_workload(w, "w6.%s", rows[i].name);
        if (rows[i].subnormal) {
            add_subnormal(*added);
        }
        if (rows[i].backward) {
            w.run = run_backward;
            add_workload(w, "w6.%s.backward", rows[i].name);
        }
    }
}

/* ---- over all parameters: updates, and the norm for clipping ---- */

enum { PARAMETERS = 4, ELEMENTS = 204512 };

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

static void end_update(void)
{
    heed_optimizer_free(optimizer);
}

static const char *prepare_update(const struct workload *w)
{
    (void)w;
    for (int i = 0; i < PARAMETERS; i++) {
        parameters[i] = heed_randn(HEED_SHAPE(ELEMENTS), HEED_F32);
        heed_set_requires_grad(parameters[i], true);
        heed_set_grad(parameters[i], heed_randn(HEED_SHAPE(ELEMENTS), HEED_F32));
    }
    optimizer = heed_adamw_new(all, 1e-3, 0.01);
    return NULL;
}

void add_operations(void)
{
    add_products();
    add_rows();
    struct workload w = {.unit = "ns/parameter",
                         .scale = 1e9 / (PARAMETERS * ELEMENTS),
                         .prepare = prepare_update,
                         .run = update,
                         .finish = end_update};
    add_workload(w, "w6.adamw");
    w.run = clip;
    add_workload(w, "w6.clip_grad_norm");
}
