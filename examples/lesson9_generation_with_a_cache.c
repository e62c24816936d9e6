/* Lesson 9: generation with a cache of keys and values.
 *
 *     build/lesson9_generation_with_a_cache
 *
 * A model that writes text reads all tokens again for each new one, unless it keeps their keys and
 * values. With them, a new token costs one query. What is kept, which mask remains, and where the
 * new token stands are easy to get wrong.
 *
 * There is one head and no W_o, to keep it short. With several heads, split as in lesson 8, then
 * rotate each head, keep (B, heads, n, C / heads), and append along dim 2.
 *
 * Sources: Shazeer, "Fast Transformer Decoding: One Write-Head is All You Need", 2019,
 * arXiv:1911.02150, sections 2.3 and 2.4, has the cache; Su et al., "RoFormer", 2021,
 * arXiv:2104.09864, the rotary positions. */
#include <math.h>
#include <stdio.h>

#include "heed.h"

enum { SYMBOLS = 8, PERIOD = 4, PROMPT = 4, NEW = 8, C = 32, TRAINED = 12, STEPS = 600 };

/* ---- one layer of attention, with and without a cache ---- */

struct writer {
    heed_module module;
    struct heed_embedding *embedding;
    struct heed_linear *W_q, *W_k, *W_v, *output;
};
static const heed_module_kind writer_kind = {.name = "Writer", .size = sizeof(struct writer)};

static struct writer *writer_new(void)
{
    struct writer *m = heed_module_new(&writer_kind);
    HEED_CHILD(m, embedding, heed_embedding_new(SYMBOLS, C));
    HEED_CHILD(m, W_q, heed_linear_new(C, C, .no_bias = true));
    HEED_CHILD(m, W_k, heed_linear_new(C, C, .no_bias = true));
    HEED_CHILD(m, W_v, heed_linear_new(C, C, .no_bias = true));
    HEED_CHILD(m, output, heed_linear_new(C, SYMBOLS));
    return m;
}

/* The keys (B, n, C), rotated by their positions, and the values of the n tokens so far. There are
 * no queries: each is asked once, in the step in which its token arrives. A cache in use allocates
 * its memory once. Here each step copies it, and one scope around all steps owns the copies; a step
 * with a scope of its own would have to heed_scope_keep k, v and the logits. */
typedef struct cache {
    heed_tensor *k, *v; /* NULL: no tokens yet */
} cache;

static int64_t length(const cache *c)
{
    return c->k == NULL ? 0 : heed_size(c->k, 1);
}

static heed_tensor *appended(heed_tensor *old, heed_tensor *new)
{
    return old == NULL ? new : heed_cat((heed_tensor *[]){old, new}, 2, 1);
}

/* For n queries after `before` tokens, bool (n, before + n), true blocks: query i is token
 * before + i, which sees keys 0 ... before + i. One query sees all: its mask blocks nothing. */
static heed_tensor *mask_after(int64_t before, int64_t n)
{
    return heed_triu(heed_ones(HEED_SHAPE(n, before + n), HEED_BOOL), (int)before + 1);
}

/* x (B, n, C), n tokens after those in the cache, to which they are added -> (B, n, C). `position`
 * of the first is length(c), unless a mistake is shown. heed_rope rotates features i and i + C / 2
 * by the angle position * base^(-2i / C), so that a score depends on how far apart two tokens are.
 */
static heed_tensor *attend(struct writer *m, heed_tensor *x, cache *c, int64_t position)
{
    const int64_t before = length(c), n = heed_size(x, 1);
    const double base = 100; /* 10000 for long texts */
    heed_tensor *at = heed_arange((double)position, (double)(position + n), 1, HEED_I64);
    heed_tensor *q = heed_rope(heed_linear_forward(m->W_q, x), at, base);
    c->k = appended(c->k, heed_rope(heed_linear_forward(m->W_k, x), at, base));
    c->v = appended(c->v, heed_linear_forward(m->W_v, x));
    heed_tensor *scores = heed_div_scalar(heed_matmul(q, heed_transpose(c->k, 1, 2)), sqrt(C));
    scores = heed_masked_fill(scores, mask_after(before, n), -(double)INFINITY);
    return heed_matmul(heed_softmax(scores, -1), c->v);
}

/* ids (B, n) -> logits (B, n, SYMBOLS) */
static heed_tensor *forward(struct writer *m, heed_tensor *ids, cache *c)
{
    heed_tensor *x = heed_embedding_forward(m->embedding, ids);
    return heed_linear_forward(m->output, heed_add(x, attend(m, x, c, length(c))));
}

/* Learns sequences that repeat every PERIOD symbols. */
static struct writer *trained(void)
{
    heed_manual_seed(0);
    struct writer *m = writer_new();
    heed_optimizer *adam = heed_adam_new(heed_parameters(m), 1e-2);
    for (int step = 0; step < STEPS; step++) {
        HEED_SCOPE(scope);
        heed_tensor *part = heed_randint(0, SYMBOLS, HEED_SHAPE(32, PERIOD));
        heed_tensor *rows = heed_cat((heed_tensor *[]){part, part, part}, 3, 1);
        cache none = {NULL, NULL};
        heed_tensor *logits = forward(m, heed_narrow(rows, 1, 0, TRAINED - 1), &none);
        heed_tensor *loss = heed_cross_entropy(
            heed_flatten(heed_narrow(logits, 1, PERIOD - 1, TRAINED - PERIOD), 0, 1),
            heed_flatten(heed_narrow(rows, 1, PERIOD, TRAINED - PERIOD), 0, 1));
        heed_optimizer_zero_grad(adam);
        heed_backward(loss);
        heed_optimizer_step(adam);
    }
    heed_optimizer_free(adam);
    return m;
}

/* ---- 1. prefill, then one token at a time ---- */

static bool is_same(const char *name, heed_tensor *a, heed_tensor *b)
{
    const bool same = heed_allclose(a, b, 1e-5, 1e-5, false);
    printf("  %-58s the same: %s\n", name, same ? "yes" : "no");
    return same;
}

static int64_t likeliest(heed_tensor *logits)
{
    return heed_item_i64(heed_argmax(heed_select(logits, 1, heed_size(logits, 1) - 1)));
}

static bool show_generation(struct writer *m)
{
    HEED_SCOPE_NO_GRAD(scope);
    int64_t ids[PROMPT + NEW] = {1, 4, 0, 3}; /* b e a d */
    heed_tensor *rows[1 + NEW];
    cache c = {NULL, NULL};
    printf("1. The prompt \"bead\" is read at once (prefill); its last row of logits gives the "
           "first new\n"
           "   token. Then each step reads the token just written (decode).\n\n"
           "          queries      keys, values kept   scores       next token\n");
    for (int i = 0; i < NEW; i++) {
        const int64_t before = length(&c), n = i == 0 ? PROMPT : 1;
        rows[i] = forward(m, heed_from_i64(ids + before, HEED_SHAPE(1, n)), &c);
        ids[before + n] = likeliest(rows[i]);
        printf("  %s (1, %lld, %d)   (1, %2lld, %d)         (1, %lld, %2lld)   %c\n",
               i == 0 ? "prefill" : "decode ", (long long)n, C, (long long)length(&c), C,
               (long long)n, (long long)length(&c), (char)('a' + ids[before + n]));
    }
    cache none = {NULL, NULL};
    heed_tensor *all = forward(m, heed_from_i64(ids, HEED_SHAPE(1, PROMPT + NEW - 1)), &none);
    printf("\n");
    bool same =
        is_same("the 11 rows of logits, and those of one forward", all, heed_cat(rows, NEW, 1));
    none = (cache){NULL, NULL}; /* later tokens change nothing: so keys and values can be kept */
    return is_same("the prompt's rows, before and after the other tokens",
                   heed_narrow(all, 1, 0, PROMPT),
                   forward(m, heed_from_i64(ids, HEED_SHAPE(1, PROMPT)), &none)) &&
           same;
}

/* ---- 2. the mask that remains ---- */

static void print_mask(const char *title, heed_tensor *blocked)
{
    printf("\n  %s\n", title);
    for (int64_t i = 0; i < heed_size(blocked, 0); i++) {
        printf("   ");
        for (int64_t j = 0; j < heed_size(blocked, 1); j++) {
            printf(" %c", heed_at(blocked, HEED_INDEX(i, j)) != 0 ? '.' : '1');
        }
        printf("\n");
    }
}

static bool show_masks(void)
{
    HEED_SCOPE_NO_GRAD(scope);
    printf("\n2. The mask. 1: the query of this row sees the key of this column.\n");
    print_mask("prefill: 4 queries, 4 keys", mask_after(0, 4));
    print_mask("decode: 1 query, 5 keys; nothing is blocked, so no mask is needed",
               mask_after(4, 1));
    print_mask("2 queries after a cache of 3: aligned at the bottom right", mask_after(3, 2));
    heed_tensor *top_left = heed_triu(heed_ones(HEED_SHAPE(2, 5), HEED_BOOL), 1);
    print_mask("what is_causal means in PyTorch: aligned at the top left", top_left);
    heed_manual_seed(9);
    heed_tensor *q = heed_randn(HEED_SHAPE(5, C), HEED_F32),
                *k = heed_randn(HEED_SHAPE(5, C), HEED_F32);
    heed_tensor *v = heed_randn(HEED_SHAPE(5, C), HEED_F32), *last = heed_narrow(q, 0, 3, 2);
    heed_tensor *all = heed_scaled_dot_product_attention(q, k, v, .is_causal = true);
    heed_tensor *keep = heed_logical_not(mask_after(3, 2)); /* true keeps here, as in PyTorch's */
    printf("\n");
    const bool same =
        is_same("queries 3 and 4 with the mask of the bottom right",
                heed_scaled_dot_product_attention(last, k, v, keep), heed_narrow(all, 0, 3, 2));
    heed_tensor *wrong = heed_scaled_dot_product_attention(last, k, v, .is_causal = true);
    const bool wrong_is_same =
        is_same("queries 3 and 4 with is_causal", wrong, heed_narrow(all, 0, 3, 2));
    printf("\n  So give the mask, or for one query none: is_causal would show it key 0 alone.\n");
    return same && !wrong_is_same;
}

/* ---- 3. positions, and a check ---- */

typedef struct checked {
    struct writer *writer;
    cache cache;
    int64_t shift; /* of the position of the new token: a mistake */
} checked;

static heed_tensor *attend_at_once(heed_tensor *x, void *context)
{
    cache none = {NULL, NULL};
    return attend(((checked *)context)->writer, x, &none, 0);
}

static heed_tensor *attend_one(heed_tensor *x, int64_t position, void *context)
{
    checked *at = context;
    if (position == 0) {
        at->cache = (cache){NULL, NULL};
    }
    /* Token 0 stays: a shift of all would change nothing, as scores depend on distances. */
    return attend(at->writer, x, &at->cache, position + (position > 0 ? at->shift : 0));
}

static const char *first_failure(const heed_attention_report *report)
{
    for (int i = 0; i < HEED_ATTENTION_CHECKS; i++) {
        if (report->checks[i].verdict == HEED_VERDICT_FAILED) {
            return report->checks[i].text;
        }
    }
    return "not checked";
}

static bool check(struct writer *m, const char *name, int64_t shift)
{
    HEED_SCOPE(scope);
    checked c = {.writer = m, .shift = shift};
    heed_attention_report report = {0};
    heed_attention_check(attend_at_once, &c, .d_model = C, .causal = true,
                         .positions = HEED_POSITIONS_RELATIVE, .step = attend_one,
                         .report = &report);
    heed_error(); /* a failed check is an error, which is printed here */
    printf("  %-36s %s\n", name, report.passed ? "passed" : first_failure(&report));
    return report.passed;
}

/* ---- 4. what it saves ---- */

/* Multiplications for token n: without a cache, the queries, keys and values of all n tokens, their
 * scores and their means; with one, those of the last token. The last layer alone needs one query
 * in both cases; the layers below it need the outputs of all tokens, to compute the next keys. */
static void show_cost(void)
{
    printf("\n4. Multiplications for token n in a layer %d wide, below another layer:\n\n"
           "        n    without a cache    with\n",
           C);
    for (long long n = 16; n <= 4096; n *= 4) {
        const long long one = 3 * C * C + 2 * n * C;
        printf("  %7lld %18lld %7lld\n", n, n * one, one);
    }
    printf("\n   It saves a factor of n. The last layer needs one query anyway; those below must "
           "compute all tokens\n"
           "   again. The price is memory: n keys and n values, each %d wide, for each layer.\n",
           C);
}

int main(void)
{
    heed_on_error(heed_die);
    struct writer *m = trained();
    bool good = show_generation(m);
    good = show_masks() && good;
    heed_on_error(NULL);
    printf("\n3. A token keeps its position: a key is rotated by it before it is kept. "
           "heed_attention_check,\n"
           "   with .step, one token at a time:\n\n");
    good = check(m, "positions 0, 1, 2, ...", 0) && good;
    good = !check(m, "positions 0, 2, 3, ... (off by one)", 1) && good;
    show_cost();
    heed_module_free(m);
    return !good || heed_error_pending() || ferror(stdout) || fflush(stdout) != 0;
}
