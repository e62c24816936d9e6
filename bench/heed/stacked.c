/* A prototype: many seeds as one model, each of whose parameters is a tensor of all of them. A step
 * is a step of every seed. On several threads each has a stack of its own. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench/heed/tables.h"
#include "bench/heed/toys.h"

enum { MOST_STACKS = 16, CHECKED = 5 };

static struct stack {
    struct toy toys[SEEDS]; /* with the names of parameters; the check trains them */
    int count;
    heed_tensor *parameters[MOST_PARAMETERS]; /* (count, ...) */
    heed_tensor *inputs;  /* i64 (count, rows, tokens): rows of the embeddings of all seeds */
    heed_tensor *targets; /* i64 (count * rows * scored) */
    heed_tensor *shares;  /* (count * rows * scored): of a target in its seed's mean loss */
    heed_optimizer *adam;
} stacks[MOST_STACKS];
static int stack_count;

/* ---- layers of all seeds ---- */

static heed_tensor *parameter(const struct stack *s, const char *format, ...) HEED_PRINTF(2, 3);

/* The parameter of that name, or NULL. */
static heed_tensor *parameter(const struct stack *s, const char *format, ...)
{
    char name[64];
    const heed_tensor_list list = heed_parameters(s->toys[0].model);
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    for (int i = 0; i < list.count; i++) {
        if (strcmp(list.names[i], name) == 0) {
            return s->parameters[i];
        }
    }
    return NULL;
}

/* x (count, n, in) -> (count, n, out) */
static heed_tensor *linear(heed_tensor *x, heed_tensor *weight, heed_tensor *bias)
{
    heed_tensor *y = heed_matmul(x, heed_transpose(weight, -2, -1));
    return bias != NULL ? heed_add(y, heed_unsqueeze(bias, 1)) : y;
}

static heed_tensor *layer_norm(heed_tensor *x, heed_tensor *weight, heed_tensor *bias)
{
    heed_tensor *y = heed_layer_norm(x, HEED_SHAPE(heed_size(x, -1)), NULL, NULL, 0);
    return heed_add(heed_mul(y, heed_unsqueeze(weight, 1)), heed_unsqueeze(bias, 1));
}

/* The table (count, rows, width) as one of all seeds. */
static heed_tensor *embed(const struct stack *s, heed_tensor *weight)
{
    return heed_embedding(s->inputs, heed_flatten(weight, 0, 1));
}

/* ---- models ---- */

/* The logits (count * 5, 5). */
static heed_tensor *w1_logits(const struct stack *s)
{
    const struct w1 *m = s->toys[0].model;
    heed_tensor *e = heed_add(embed(s, parameter(s, "we.weight")), m->pe->pe), *qkv[3];
    for (int i = 0; i < 3; i++) {
        qkv[i] = linear(e, parameter(s, "attention.W_%c.weight", "qkv"[i]), NULL);
    }
    heed_tensor *y = heed_scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], .is_causal = true);
    y = linear(heed_add(y, e), parameter(s, "fc.weight"), parameter(s, "fc.bias"));
    return heed_flatten(y, 0, 1);
}

/* x (count, rows * tokens, width), from which queries, keys and values of all heads come. */
static heed_tensor *attend(const struct stack *s, int block, heed_tensor *x)
{
    const struct toys_model *m = s->toys[0].model;
    const int64_t heads = m->settings.heads, tokens = m->shape.tokens;
    heed_tensor *qkv = linear(x, parameter(s, "blocks.%d.qkv.weight", block), NULL), *part[3];
    qkv = heed_reshape(qkv, HEED_SHAPE(-1, tokens, 3 * heads, m->settings.width / heads));
    qkv = heed_transpose(qkv, 1, 2);
    for (int i = 0; i < 3; i++) {
        part[i] = heed_narrow(qkv, 1, i * heads, heads);
    }
    heed_tensor *y =
        heed_scaled_dot_product_attention(part[0], part[1], part[2], .is_causal = true);
    y = heed_reshape(heed_transpose(y, 1, 2), heed_shape_of_tensor(x));
    return linear(y, parameter(s, "blocks.%d.W_o.weight", block), NULL);
}

/* The logits (count * rows * scored, outputs) of attention-only models with layer norm. */
static heed_tensor *toys_logits(const struct stack *s)
{
    const struct toys_model *m = s->toys[0].model;
    heed_tensor *x = embed(s, parameter(s, "wte.weight"));
    x = heed_add(x, heed_unsqueeze(parameter(s, "wpe.weight"), 1));
    const heed_shape rows_and_tokens = HEED_SHAPE(heed_size(x, 1), heed_size(x, 2));
    x = heed_flatten(x, 1, 2);
    for (int i = 0; i < m->settings.layers; i++) {
        heed_tensor *y = layer_norm(x, parameter(s, "blocks.%d.norm_1.weight", i),
                                    parameter(s, "blocks.%d.norm_1.bias", i));
        x = heed_add(x, attend(s, i, y));
    }
    x = heed_unflatten(x, 1, rows_and_tokens);
    x = heed_flatten(heed_slice(x, 2, m->shape.first, INT64_MAX, 1), 1, 2);
    x = layer_norm(x, parameter(s, "norm.weight"), parameter(s, "norm.bias"));
    return heed_flatten(linear(x, parameter(s, "unembed.weight"), NULL), 0, 1);
}

/* The losses of all seeds, (count). */
static heed_tensor *losses(const struct stack *s)
{
    heed_tensor *logits = s->toys[0].size->task == NULL ? w1_logits(s) : toys_logits(s);
    heed_tensor *each = heed_cross_entropy(logits, s->targets, .reduction = HEED_NONE);
    return heed_sum_dim(heed_reshape(heed_mul(each, s->shares), HEED_SHAPE(s->count, -1)), 1,
                        false);
}

static void stack_step(const struct stack *s)
{
    HEED_SCOPE(scope);
    heed_optimizer_zero_grad(s->adam);
    heed_backward(heed_sum(losses(s)));
    heed_optimizer_step(s->adam);
}

/* ---- stacks ---- */

/* A seed's ids select from its own part of the embeddings of all. */
static void offset_inputs(const struct stack *s)
{
    int64_t *ids = heed_data_i64(s->inputs);
    const int64_t each = s->inputs->numel / s->count, rows = heed_size(s->parameters[0], 1);
    for (int64_t i = 0; i < s->inputs->numel; i++) {
        ids[i] += i / each * rows;
    }
}

static heed_tensor *shares_of(const struct stack *s)
{
    heed_tensor *scored = heed_ne_scalar(s->targets, TOYS_UNSCORED);
    scored = heed_reshape(heed_to(scored, HEED_F32), HEED_SHAPE(s->count, -1));
    return heed_flatten(heed_div(scored, heed_sum_dim(scored, 1, true)), 0, 1);
}

static void begin_stack(struct stack *s, const struct toy_size *size, int first, int count)
{
    s->count = count;
    for (int i = 0; i < count; i++) {
        toy_begin(&s->toys[i], size, (uint64_t)(first + i));
    }
    const int parameters = heed_parameters(s->toys[0].model).count;
    for (int i = 0; i < parameters; i++) {
        s->parameters[i] = heed_set_requires_grad(heed_detach(toys_part(s->toys, count, i)), true);
    }
    s->inputs = toys_part(s->toys, count, parameters + INPUTS);
    s->targets = heed_reshape(toys_part(s->toys, count, parameters + TARGETS), HEED_SHAPE(-1));
    s->shares = shares_of(s);
    offset_inputs(s);
    s->adam = heed_adam_new((heed_tensor_list){parameters, s->parameters, NULL}, 1e-3);
}

/* True if a seed's loss differs from that of the same model, trained alone. */
static bool losses_differ(const struct stack *s)
{
    HEED_SCOPE_NO_GRAD(scope);
    const float *stacked = heed_const_data_f32(losses(s));
    for (int i = 0; i < s->count; i++) {
        const double alone = heed_item(toy_loss(&s->toys[i]));
        if (!(fabs((double)stacked[i] - alone) <= 1e-5 * fabs(alone))) {
            return true;
        }
    }
    return false;
}

/* Before, between and after a few steps. */
static bool stack_differs(const struct stack *s)
{
    bool differs_somewhere = losses_differ(s);
    for (int step = 0; step < CHECKED; step++) {
        stack_step(s);
        for (int i = 0; i < s->count; i++) {
            toy_step(&s->toys[i]);
        }
        differs_somewhere |= losses_differ(s);
    }
    return differs_somewhere;
}

static void train_stack(int number)
{
    const struct stack *s = &stacks[number];
    for (int i = 0; i < s->toys[0].size->steps; i++) {
        stack_step(s);
    }
}

static void train_stacks(void)
{
    run_threads(stack_count, train_stack);
}

static const char *prepare(const struct workload *w)
{
    bool wrong = false;
    stack_count = heed_get_num_threads() < MOST_STACKS ? heed_get_num_threads() : MOST_STACKS;
    heed_set_num_threads(1);
    for (int i = 0; i < stack_count; i++) {
        const int first = i * SEEDS / stack_count, end = (i + 1) * SEEDS / stack_count;
        begin_stack(&stacks[i], &toy_sizes[w->size[0]], first, end - first);
        wrong |= stack_differs(&stacks[i]);
    }
    return wrong ? "a stack and its models, trained one by one, differ" : NULL;
}

static void finish(void)
{
    for (int i = 0; i < stack_count; i++) {
        heed_optimizer_free(stacks[i].adam);
        for (int seed = 0; seed < stacks[i].count; seed++) {
            toy_end(&stacks[i].toys[seed]);
        }
    }
    heed_set_num_threads(stack_count);
}

void add_stacked(struct table *table)
{
    struct workload w = {
        .unit = "us", .scale = 1e6, .prepare = prepare, .run = train_stacks, .finish = finish};
    for (int i = 0; i < TOY_SIZES && toy_sizes[i].steps > 0; i++) {
        w.size[0] = i;
        w.per = SEEDS * toy_sizes[i].steps;
        add_workload(table, w, "seeds.%s.stacked", toy_sizes[i].name);
    }
}
