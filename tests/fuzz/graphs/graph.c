#include "tests/fuzz/graphs/graph.h"
#include "tensor/tensor.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The next number of splitmix64 (Steele et al., 2014). */
static uint64_t random_bits(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static int64_t random_in(uint64_t *state, int64_t low, int64_t high)
{
    return low + (int64_t)(random_bits(state) % (uint64_t)(high - low));
}

/* ---- helpers of the rules ---- */

static int64_t some(graph_node *n, int i, int64_t low, int64_t high)
{
    n->chosen[i] = low + (int64_t)(n->parameter[i] % (uint64_t)(high - low));
    n->used |= 1u << i;
    return n->chosen[i];
}

static heed_tensor *positive(heed_tensor *x)
{
    return heed_add_scalar(heed_square(x), 0.5);
}

static heed_dims turned(const heed_tensor *x)
{
    heed_dims dims = {.count = x->ndim};
    for (int i = 0; i < x->ndim; i++) {
        dims.dim[i] = (i + 1) % x->ndim;
    }
    return dims;
}

/* The sizes in reverse order: for a reshape, not a transpose. */
static heed_shape swapped_shape(const heed_tensor *x)
{
    heed_shape shape = {.ndim = x->ndim};
    for (int i = 0; i < x->ndim; i++) {
        shape.size[i] = x->shape[x->ndim - 1 - i];
    }
    return shape;
}

static heed_tensor *expanded(heed_tensor *x, int64_t size)
{
    heed_shape shape = {.ndim = x->ndim + 1, .size = {size}};
    memcpy(shape.size + 1, x->shape, (size_t)x->ndim * sizeof *x->shape);
    return heed_expand(x, shape);
}

/* x plus a function that changes only at x = 0. */
static heed_tensor *rounded(heed_tensor *x)
{
    return heed_add(x, heed_floor(heed_mul_scalar(heed_tanh(x), 0.4)));
}

static heed_tensor *product_of_halves(heed_tensor *x, int dim)
{
    heed_tensor *parts[2];
    if (heed_size(x, dim) < 2 || heed_size(x, dim) % 2 != 0 || heed_chunk(x, 2, dim, parts) != 2) {
        return NULL;
    }
    return heed_mul(parts[0], parts[1]);
}

static heed_tensor *indices(heed_shape shape, uint64_t seed, int64_t most)
{
    heed_tensor *ids = heed_empty(shape, HEED_I64);
    int64_t *id = heed_data_i64(ids);
    for (int64_t i = 0; id != NULL && i < ids->numel; i++) {
        id[i] = random_in(&seed, 0, most);
    }
    return ids;
}

static heed_tensor *mask_alike(const heed_tensor *x, uint64_t seed)
{
    return heed_eq_scalar(indices(heed_shape_of_tensor(x), seed, 3), 0);
}

/* A keep mask for self-attention. The second row is all false. */
static heed_tensor *kept(const heed_tensor *x)
{
    const int64_t length = heed_size(x, -2);
    heed_tensor *mask = heed_tril(heed_ones(HEED_SHAPE(length, length), HEED_BOOL), 0);
    bool *keep = heed_data_bool(mask);
    for (int64_t i = 0; keep != NULL && length > 1 && i < length; i++) {
        keep[length + i] = false;
    }
    return mask;
}

/* All dims but the last merged: (rows, columns). */
static heed_tensor *table(heed_tensor *x)
{
    return heed_reshape(x, HEED_SHAPE(-1, heed_size(x, -1)));
}

/* ---- an operation whose backward is wrong ---- */

static heed_status forward_square(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_square(call->inputs[0]));
}

static void backward_square(const heed_vjp *v)
{
    v->grads[0] = heed_mul(v->g, v->inputs[0]); /* without the factor 2 */
}

HEED_OPERATION(broken_square) = {.name = "broken_square",
                                 .inputs = 1,
                                 .forward = forward_square,
                                 .backward = backward_square,
                                 .saves = {HEED_SAVES_INPUT(0)}};

static heed_tensor *broken_square(heed_tensor *x)
{
    return heed_apply(&op_broken_square, &x, 1, NULL, 0);
}

/* ---- the rules: those of tests/ops/operations.def ---- */

typedef enum guard { SMOOTH, SMALL, NONZERO, JUMPS, DISTINCT, APART, AWAY } guard;
typedef enum operand_kind {
    NOTHING,
    ALIKE,     /* A's shape */
    BROADCAST, /* broadcasts to A's shape */
    LONGER,    /* A's shape, but of any size in dim DIM */
    LAST,      /* (size of A's last dim) */
    COLUMNS,   /* (size of A's last dim, any), perhaps with A's batch dims */
    WEIGHT,    /* (any, size of A's last dim) */
    SQUARE,    /* (size of A's last dim, the same) */
    KEYS,      /* A's shape, but any number of rows */
} operand_kind;

#define A                    in[0]
#define B                    in[1]
#define C                    in[2]
#define SOME(i, low, high)   some(n, i, low, high)
#define DIM                  ((int)some(n, 0, 0, in[0]->ndim))
#define SIZE                 heed_size(in[0], DIM)
#define POSITIVE(x)          positive(x)
#define SEEDED               heed_manual_seed(n->parameter[3])
#define MASK_ALIKE           mask_alike(in[0], n->parameter[3])
#define INDICES(count, most) indices(HEED_SHAPE(count), n->parameter[3], most)
#define INDICES_ALIKE        indices(heed_shape_of_tensor(in[0]), n->parameter[3], SIZE)
#define TABLE(x)             table(x)
#define TARGETS              INDICES(heed_size(table(in[0]), 0), heed_size(in[0], -1))
#define LAST_SHAPE           HEED_SHAPE(heed_size(in[0], -1))

#define RULE(name, dims, guard, b, c, expression)                                                  \
    static heed_tensor *apply_##name(graph_node *n, heed_tensor *const *in)                        \
    {                                                                                              \
        (void)n;                                                                                   \
        return expression;                                                                         \
    }
#define BROKEN RULE(broken_square, 0, SMALL, NOTHING, NOTHING, broken_square(A))
BROKEN
#include "tests/ops/operations.def"

#define RULE(name, dims, guard, b, c, expression) {#name, dims, guard, {b, c}, apply_##name},
static const struct rule {
    const char *name;
    int dims;
    guard guard;
    operand_kind others[OPERANDS - 1];
    heed_tensor *(*apply)(graph_node *n, heed_tensor *const *in);
} rules[] = {
    BROKEN /* only with --broken: its backward forgets a factor */
#include "tests/ops/operations.def"
};
enum { RULES = sizeof rules / sizeof *rules };

/* ---- evaluation ---- */

static heed_tensor *value_of(int operand, heed_tensor *const *leaves, heed_tensor *const *nodes)
{
    return operand < 0 ? leaves[~operand] : nodes[operand];
}

static heed_tensor *apply(graph_node *n, heed_tensor *const *leaves, heed_tensor *const *nodes)
{
    heed_tensor *in[OPERANDS] = {NULL};
    for (int i = 0; i < n->operands; i++) {
        in[i] = value_of(n->operand[i], leaves, nodes);
        if (in[i] == NULL) {
            return NULL;
        }
    }
    return rules[n->rule].apply(n, in);
}

heed_tensor *graph_evaluate(heed_tensor *const *leaves, void *context)
{
    graph *g = context;
    heed_tensor *nodes[MAX_NODES], *ends[MAX_NODES];
    bool used[MAX_NODES] = {false};
    int count = 0;
    for (int i = 0; i < g->node_count; i++) {
        nodes[i] = apply(&g->nodes[i], leaves, nodes);
        for (int j = 0; j < g->nodes[i].operands; j++) {
            if (g->nodes[i].operand[j] >= 0) {
                used[g->nodes[i].operand[j]] = true;
            }
        }
    }
    for (int i = 0; i < g->node_count; i++) {
        if (!used[i]) {
            ends[count++] = heed_reshape(nodes[i], HEED_SHAPE(-1));
        }
    }
    return heed_cat(ends, count, 0);
}

/* ---- generation ---- */

typedef struct builder {
    graph *g;
    uint64_t random;
    heed_tensor *leaves[MAX_LEAVES], *nodes[MAX_NODES];
} builder;

static int64_t random_size(builder *b)
{
    const int64_t small = random_in(&b->random, 1, 5);
    return b->g->large ? small * random_in(&b->random, 1, 24) : small;
}

/* In +-[0.1, 1.5]. */
static double random_value(builder *b)
{
    const double x = 0.1 + 1.4 * (double)(random_bits(&b->random) >> 11) * 0x1p-53;
    return random_bits(&b->random) & 1 ? x : -x;
}

/* Index of the leaf that gets this shape; -1: there are enough leaves. */
static int add_leaf(builder *b, heed_shape shape)
{
    graph *g = b->g;
    if (g->leaf_count == MAX_LEAVES) {
        return -1;
    }
    graph_leaf *leaf = &g->leaves[g->leaf_count];
    int64_t count = 1, inner = 1;
    for (int i = 0; i < shape.ndim; i++) {
        count *= shape.size[i];
    }
    *leaf = (graph_leaf){shape, malloc((size_t)count * sizeof(double)), -1};
    if (shape.ndim > 0 && random_in(&b->random, 0, 4) == 0) {
        leaf->constant_dim = (int)random_in(&b->random, 0, shape.ndim);
        for (int i = leaf->constant_dim + 1; i < shape.ndim; i++) {
            inner *= shape.size[i];
        }
    }
    for (int64_t i = 0; i < count; i++) {
        leaf->values[i] = random_value(b);
        if (leaf->constant_dim >= 0 && i / inner % shape.size[leaf->constant_dim] > 0) {
            leaf->values[i] = leaf->values[i - inner];
        }
    }
    b->leaves[g->leaf_count] = heed_from_f64(leaf->values, shape);
    return g->leaf_count++;
}

static heed_shape operand_shape(builder *b, operand_kind which, const heed_tensor *x, int dim)
{
    heed_shape shape = heed_shape_of_tensor(x);
    const int64_t last = x->ndim > 0 ? x->shape[x->ndim - 1] : 1;
    switch (which) {
    case BROADCAST:
        for (int i = 0; i < shape.ndim; i++) {
            shape.size[i] = random_in(&b->random, 0, 3) == 0 ? 1 : shape.size[i];
        }
        while (shape.ndim > 0 && random_in(&b->random, 0, 4) == 0) {
            memmove(shape.size, shape.size + 1, (size_t)--shape.ndim * sizeof *shape.size);
        }
        return shape;
    case LONGER:
        shape.size[dim] = random_size(b);
        return shape;
    case LAST:
        return HEED_SHAPE(last);
    case COLUMNS:
        if (random_in(&b->random, 0, 2) == 0) {
            return HEED_SHAPE(last, random_size(b));
        }
        shape.size[shape.ndim - 2] = last;
        shape.size[shape.ndim - 1] = random_size(b);
        return shape;
    case WEIGHT:
        return HEED_SHAPE(random_size(b), last);
    case SQUARE:
        return HEED_SHAPE(last, last);
    case KEYS:
        shape.size[shape.ndim - 2] = random_size(b);
        return shape;
    default:
        return shape;
    }
}

/* An operand of this shape: usually one that exists, otherwise a new leaf. */
static bool find_operand(builder *b, heed_shape shape, int *operand)
{
    const int count = b->g->leaf_count + b->g->node_count;
    const int from = (int)random_in(&b->random, 0, count);
    for (int i = 0; i < count && random_in(&b->random, 0, 8) > 0; i++) {
        const int at = (from + i) % count - b->g->leaf_count;
        if (heed_has_shape(value_of(at, b->leaves, b->nodes), &shape)) {
            *operand = at;
            return true;
        }
    }
    const int leaf = add_leaf(b, shape);
    *operand = ~leaf;
    return leaf >= 0;
}

static double smallest(heed_tensor *x)
{
    return heed_item(heed_amin(heed_abs(x)));
}

static double largest(heed_tensor *x)
{
    return heed_item(heed_amax(heed_abs(x)));
}

static bool is_distinct(heed_tensor *x)
{
    const heed_tensor *line = heed_contiguous(heed_reshape(x, HEED_SHAPE(-1)));
    bool distinct = true;
    for (int64_t i = 0; i < x->numel; i++) {
        for (int64_t j = 0; j < i; j++) {
            distinct = distinct &&
                       fabs(heed_at(line, HEED_INDEX(i)) - heed_at(line, HEED_INDEX(j))) > 1e-3;
        }
    }
    return distinct;
}

/* Finite differences must not cross a kink. */
static bool is_allowed(const builder *b, const graph_node *n)
{
    heed_tensor *x = value_of(n->operand[0], b->leaves, b->nodes);
    switch (rules[n->rule].guard) {
    case SMALL:
        return largest(x) < 3;
    case NONZERO:
        return b->g->large || smallest(x) > 1e-3;
    case JUMPS:
        return !b->g->large && smallest(x) > 1e-3;
    case DISTINCT:
        return b->g->large || is_distinct(x);
    case APART:
        return b->g->large ||
               smallest(heed_sub(x, value_of(n->operand[1], b->leaves, b->nodes))) > 1e-3;
    default:
        return true;
    }
}

static bool is_useful(const builder *b, const graph_node *n, heed_tensor *y)
{
    const int64_t most = b->g->large ? 1 << 17 : 48;
    if (y == NULL || y->numel == 0 || y->numel > most || y->ndim > 5) {
        return false;
    }
    return largest(y) < 20 && (rules[n->rule].guard != AWAY || smallest(y) > 0.1);
}

/* The operand of a new node: often the last node, so that graphs become deep. */
static int any_operand(builder *b)
{
    const int last = b->g->node_count;
    if (last > 0 && random_in(&b->random, 0, 2) == 0) {
        return last - 1;
    }
    return (int)random_in(&b->random, -b->g->leaf_count, last);
}

static void try_node(builder *b, int first_rule)
{
    graph *g = b->g;
    const int leaf_count = g->leaf_count;
    graph_node n = {.rule = (int)random_in(&b->random, first_rule, RULES), .operands = 1};
    const struct rule *rule = &rules[n.rule];
    for (int i = 0; i < PARAMETERS; i++) {
        n.parameter[i] = random_bits(&b->random);
    }
    n.operand[0] = any_operand(b);
    const heed_tensor *x = value_of(n.operand[0], b->leaves, b->nodes);
    bool fits = x->ndim >= rule->dims;
    const int dim = x->ndim > 0 ? (int)some(&n, 0, 0, x->ndim) : 0;
    n.used = 0;
    for (int i = 0; fits && i < OPERANDS - 1 && rule->others[i] != NOTHING; i++) {
        const heed_shape shape = operand_shape(b, rule->others[i], x, dim);
        fits = find_operand(b, shape, &n.operand[n.operands++]);
    }
    heed_tensor *y = fits && is_allowed(b, &n) ? apply(&n, b->leaves, b->nodes) : NULL;
    if (heed_error_pending() || is_useful(b, &n, y)) {
        n.shape = heed_error_pending() ? HEED_SCALAR : heed_shape_of_tensor(y);
        b->nodes[g->node_count] = y;
        g->nodes[g->node_count++] = n;
        return;
    }
    while (g->leaf_count > leaf_count) {
        free(g->leaves[--g->leaf_count].values);
    }
}

graph graph_new(uint64_t seed, bool large, bool broken)
{
    graph g = {.seed = seed, .large = large};
    builder b = {.g = &g, .random = seed};
    HEED_SCOPE_NO_GRAD(scope);
    heed_manual_seed(seed);
    heed_shape shape = {.ndim = (int)random_in(&b.random, large ? 2 : 0, 5)};
    for (int i = 0; i < shape.ndim; i++) {
        shape.size[i] = large && i < shape.ndim - 2 ? random_in(&b.random, 1, 4) : random_size(&b);
    }
    add_leaf(&b, shape);
    const int wanted = (int)random_in(&b.random, 1, MAX_NODES - 3 * large);
    for (int i = 0; (i < 20 * wanted || g.node_count == 0) && g.node_count < wanted; i++) {
        try_node(&b, broken ? 0 : 1);
        if (heed_error_pending()) {
            break;
        }
    }
    return g;
}

void graph_free(graph *g)
{
    for (int i = 0; i < g->leaf_count; i++) {
        free(g->leaves[i].values);
    }
}

/* ---- text ---- */

static void print_operand(FILE *stream, int operand)
{
    fprintf(stream, operand < 0 ? "x%d" : "y%d", operand < 0 ? ~operand : operand);
}

void graph_print(FILE *stream, const graph *g)
{
    for (int i = 0; i < g->leaf_count; i++) {
        const heed_shape *shape = &g->leaves[i].shape;
        fprintf(stream, "    x%d %s\n", i, heed_shape_text(shape->ndim, shape->size).text);
    }
    for (int i = 0; i < g->node_count; i++) {
        const graph_node *n = &g->nodes[i];
        fprintf(stream, "    y%d = %s(", i, rules[n->rule].name);
        for (int j = 0; j < n->operands; j++) {
            fputs(j > 0 ? ", " : "", stream);
            print_operand(stream, n->operand[j]);
        }
        for (int j = 0; j < PARAMETERS; j++) {
            if (n->used >> j & 1) {
                fprintf(stream, ", %" PRId64, n->chosen[j]);
            }
        }
        fprintf(stream, ") %s\n", heed_shape_text(n->shape.ndim, n->shape.size).text);
    }
}
