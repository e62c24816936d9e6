/* Lesson 8: several heads without a loop.
 *
 *     build/lesson8_heads_by_reshape [STEPS]       of training; default: 1000
 *
 * Lessons 2 and 3 give each head its own matrices. Most code in use has one W_q, one W_k and one
 * W_v for all heads, cuts their results into heads, attends in all heads at once, and joins what
 * comes out: (B, T, C) -> (B, heads, T, C / heads) and back. The most frequent mistakes in
 * attention are made in these two lines. Their shapes fit and their losses fall, so they stay for
 * years.
 *
 * Sources: Vaswani et al., "Attention Is All You Need", 2017, arXiv:1706.03762, section 3.2.2, has
 * the heads. check_attention/attentions.c names the threads about these mistakes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "heed.h"

typedef enum mistake { RIGHT, SPLIT_BY_VIEW, MERGED_BY_VIEW, SCALED_BY_C, MISTAKES } mistake;

/* ---- the two steps ---- */

/* x (B, T, C) -> (B, heads, T, width), width = C / heads: head i gets features i * width
 * to (i + 1) * width - 1 of every token. PyTorch's view is a reshape that refuses to copy, so after
 * a transpose it needs .contiguous(); heed_reshape copies where it must, and there is no heed_view.
 */
static heed_tensor *split_heads(heed_tensor *x, int heads, mistake made)
{
    const int64_t B = heed_size(x, 0), T = heed_size(x, 1), width = heed_size(x, 2) / heads;
    if (made == SPLIT_BY_VIEW) {
        return heed_reshape(
            x, HEED_SHAPE(B, heads, T, width)); /* the shape is right, the numbers are not */
    }
    return heed_transpose(heed_reshape(x, HEED_SHAPE(B, T, heads, width)), 1, 2);
}

/* y (B, heads, T, C / heads) -> (B, T, C) */
static heed_tensor *merge_heads(heed_tensor *y, mistake made)
{
    const int64_t B = heed_size(y, 0), T = heed_size(y, 2);
    if (made != MERGED_BY_VIEW) {
        y = heed_transpose(y, 1, 2);
    }
    return heed_reshape(y, HEED_SHAPE(B, T, -1));
}

/* ---- the class ---- */

enum { HEADS = 4, C = 32 };

struct multi_head {
    heed_module module;
    struct heed_linear *W_q, *W_k, *W_v, *W_o;
    mistake made;
    heed_tensor *percent; /* (B, HEADS, T, T) of the last forward, until its scope ends */
};
static const heed_module_kind multi_head_kind = {.name = "MultiHead",
                                                 .size = sizeof(struct multi_head)};

static struct multi_head *multi_head_new(mistake made)
{
    struct multi_head *m = heed_module_new(&multi_head_kind);
    HEED_CHILD(m, W_q, heed_linear_new(C, C, .no_bias = true));
    HEED_CHILD(m, W_k, heed_linear_new(C, C, .no_bias = true));
    HEED_CHILD(m, W_v, heed_linear_new(C, C, .no_bias = true));
    HEED_CHILD(m, W_o, heed_linear_new(C, C, .no_bias = true));
    m->made = made;
    return m;
}

/* softmax(q k^T / sqrt(width)) v of each head, with the future masked: (..., T, C / heads) -> the
 * same. width is C / heads, unless the scale is wrong. */
static heed_tensor *attend(heed_tensor *q, heed_tensor *k, heed_tensor *v, double width,
                           heed_tensor **percent)
{
    heed_tensor *scores = heed_div_scalar(heed_matmul(q, heed_transpose(k, -2, -1)), sqrt(width));
    heed_tensor *future = heed_causal_block_mask(heed_size(q, -2));
    *percent = heed_softmax(heed_masked_fill(scores, future, -(double)INFINITY), -1);
    return heed_matmul(*percent, v);
}

/* x (B, T, C) -> (B, T, C) */
static heed_tensor *forward(heed_tensor *x, void *context)
{
    struct multi_head *m = context;
    heed_tensor *q = split_heads(heed_linear_forward(m->W_q, x), HEADS, m->made);
    heed_tensor *k = split_heads(heed_linear_forward(m->W_k, x), HEADS, m->made);
    heed_tensor *v = split_heads(heed_linear_forward(m->W_v, x), HEADS, m->made);
    const double width = m->made == SCALED_BY_C ? C : (double)C / HEADS;
    heed_tensor *y = attend(q, k, v, width, &m->percent);
    return heed_linear_forward(m->W_o, merge_heads(y, m->made));
}

/* ---- 1. where each number goes ---- */

/* Prints (1, heads, T, width): a line a token, the heads side by side; or (1, T, C). */
static void print_numbers(const char *title, heed_tensor *t)
{
    const bool is_split = t->ndim == 4;
    const int64_t heads = is_split ? heed_size(t, 1) : 1, T = heed_size(t, -2);
    printf("\n%s\n", title);
    for (int64_t token = 0; token < T; token++) {
        printf("  ");
        for (int64_t head = 0; head < heads; head++) {
            printf("%s", head > 0 ? "   |" : "");
            for (int64_t i = 0; i < heed_size(t, -1); i++) {
                const heed_shape at =
                    is_split ? HEED_INDEX(0, head, token, i) : HEED_INDEX(0, token, i);
                printf("  %02d", (int)heed_at(t, at));
            }
        }
        printf("\n");
    }
}

static void show_places(void)
{
    HEED_SCOPE(scope);
    heed_tensor *tokens = heed_reshape(heed_arange(0, 30, 10, HEED_F32), HEED_SHAPE(1, 3, 1));
    heed_tensor *x = heed_add(tokens, heed_arange(0, 4, 1, HEED_F32)),
                *split = split_heads(x, 2, RIGHT);
    printf("1. Where each number goes. 21 is feature 1 of token 2.\n");
    print_numbers("x (1, 3, 4): three tokens of four features", x);
    print_numbers("split: reshape(1, 3, 2, 2), transpose(1, 2). Each head has all tokens:", split);
    print_numbers("merged: transpose(1, 2), reshape(1, 3, 4). x again:", merge_heads(split, RIGHT));
    print_numbers("split by reshape(1, 2, 3, 2) alone. Head 0 has token 0 and half of token 1:",
                  split_heads(x, 2, SPLIT_BY_VIEW));
    print_numbers("merged by reshape(1, 3, 4) alone. Token 0 has features of token 1:",
                  merge_heads(split, MERGED_BY_VIEW));
}

/* ---- 2. the same, said in three ways ---- */

/* One head after another, each with its rows of W_q, W_k and W_v. */
static heed_tensor *separate_heads(struct multi_head *m, heed_tensor *x)
{
    heed_tensor *heads[HEADS], *percent;
    for (int i = 0; i < HEADS; i++) {
        heed_tensor *rows[3], *const weights[] = {m->W_q->weight, m->W_k->weight, m->W_v->weight};
        for (int j = 0; j < 3; j++) {
            heed_tensor *of_head = heed_narrow(weights[j], 0, i * C / HEADS, C / HEADS);
            rows[j] = heed_linear(x, of_head, NULL);
        }
        heads[i] = attend(rows[0], rows[1], rows[2], (double)C / HEADS, &percent);
    }
    return heed_linear_forward(m->W_o, heed_cat(heads, HEADS, -1));
}

/* Heed's torch.nn.MultiheadAttention. Its in_proj_weight is W_q, W_k and W_v stacked: W_q is rows 0
 * to C - 1. PyTorch's own wants the causal mask as attn_mask besides is_causal. */
static heed_tensor *packed(struct multi_head *m, heed_tensor *x)
{
    struct heed_multihead_attention *all =
        heed_multihead_attention_new(C, HEADS, .no_bias = true, .batch_first = true);
    heed_tensor *const weights[] = {m->W_q->weight, m->W_k->weight, m->W_v->weight};
    heed_copy_into(all->in_proj_weight, heed_detach(heed_cat(weights, 3, 0)));
    heed_copy_into(all->out_proj->weight, heed_detach(m->W_o->weight));
    heed_tensor *y = heed_multihead_attention_forward(all, x, x, x, .is_causal = true);
    heed_module_free(all);
    return y;
}

static bool is_same(const char *name, heed_tensor *a, heed_tensor *b)
{
    const bool same = heed_allclose(a, b, 1e-5, 1e-6, false);
    printf("  %-52s the same: %s\n", name, same ? "yes" : "no");
    return same;
}

/* The number of features that differ. */
static int changed(heed_tensor *before, heed_tensor *after)
{
    heed_tensor *change = heed_flatten(heed_abs(heed_sub(after, before)), 0, 1);
    return (int)heed_item(heed_sum(heed_gt_scalar(heed_amax_dim(change, 0, false), 1e-6)));
}

static bool show_sameness(void)
{
    HEED_SCOPE_NO_GRAD(scope);
    heed_manual_seed(8);
    struct multi_head *m = multi_head_new(RIGHT);
    heed_tensor *x = heed_randn(HEED_SHAPE(2, 5, C), HEED_F32), *y = forward(x, m), *percent;
    printf("\n2. One matrix for all heads: W_q is (out, in) = (%d, %d), and its rows 0 to %d are "
           "head 0's.\n   Compared with split, attend, merge, W_o:\n\n",
           C, C, C / HEADS - 1);
    bool same = is_same("one head after another", y, separate_heads(m, x));
    same = is_same("heed_multihead_attention, PyTorch's layout", y, packed(m, x)) && same;

    heed_tensor *v = split_heads(heed_linear_forward(m->W_v, x), HEADS, RIGHT);
    heed_tensor *merged =
        merge_heads(attend(v, v, v, C / HEADS, &percent), RIGHT); /* any weights do */
    heed_fill_into(heed_narrow(m->W_v->weight, 0, 0, C / HEADS), 0);
    heed_tensor *other = merge_heads(
        heed_matmul(percent, split_heads(heed_linear_forward(m->W_v, x), HEADS, RIGHT)), RIGHT);
    printf("\n  What W_o is for. Setting head 0's values to 0 changes %d of %d features after "
           "merging,\n"
           "  and %d after W_o: only there do the heads meet.\n",
           changed(merged, other), C,
           changed(heed_linear_forward(m->W_o, merged), heed_linear_forward(m->W_o, other)));
    heed_module_free(m);
    return same;
}

/* ---- 3. what the mistakes do ---- */

enum { SYMBOLS = 8, HALF = 4, T = 2 * HALF - 1 };

/* A row is four random symbols, and the same four again. */
struct repeater {
    heed_module module;
    struct heed_embedding *embedding;
    struct heed_position_encoding *positions;
    struct multi_head *attention;
    struct heed_linear *output;
};
static const heed_module_kind repeater_kind = {.name = "Repeater", .size = sizeof(struct repeater)};

static struct repeater *repeater_new(mistake made)
{
    struct repeater *m = heed_module_new(&repeater_kind);
    HEED_CHILD(m, embedding, heed_embedding_new(SYMBOLS, C));
    HEED_CHILD(m, positions, heed_position_encoding_new(C, T));
    HEED_CHILD(m, attention, multi_head_new(made));
    HEED_CHILD(m, output, heed_linear_new(C, SYMBOLS));
    return m;
}

/* The losses (B, T) of predicting each next symbol of rows (B, T + 1). */
static heed_tensor *losses_of(struct repeater *m, heed_tensor *rows)
{
    heed_tensor *x = heed_embedding_forward(m->embedding, heed_narrow(rows, 1, 0, T));
    x = heed_position_encoding_forward(m->positions, x);
    heed_tensor *logits = heed_linear_forward(m->output, heed_add(x, forward(x, m->attention)));
    heed_tensor *next = heed_narrow(rows, 1, 1, T);
    heed_tensor *losses = heed_cross_entropy(heed_flatten(logits, 0, 1), heed_flatten(next, 0, 1),
                                             .reduction = HEED_NONE);
    return heed_reshape(losses, HEED_SHAPE(-1, T));
}

static heed_tensor *rows_of(int64_t count)
{
    heed_tensor *half = heed_randint(0, SYMBOLS, HEED_SHAPE(count, HALF));
    return heed_cat((heed_tensor *[]){half, half}, 2, 1);
}

static void train(struct repeater *m, int steps)
{
    heed_optimizer *adam = heed_adam_new(heed_parameters(m), 1e-2);
    for (int step = 0; step < steps; step++) {
        HEED_SCOPE(scope);
        heed_optimizer_zero_grad(adam);
        heed_backward(heed_mean(losses_of(m, rows_of(32))));
        heed_optimizer_step(adam);
    }
    heed_optimizer_free(adam);
}

/* Trains with a mistake and prints both losses of new rows: of predicting symbols 1 to 3, which are
 * random, and 4 to 7, which repeat. Returns the model. */
static struct repeater *show_training(const char *name, mistake made, int steps)
{
    HEED_SCOPE(scope);
    heed_manual_seed(0);
    struct repeater *m = repeater_new(made);
    train(m, steps);
    heed_attention_report report = {0};
    const bool enabled = heed_set_grad_enabled(false);
    heed_tensor *losses = heed_mean_dim(losses_of(m, rows_of(1000)), 0, false);
    heed_set_grad_enabled(enabled);
    printf("  %-16s %8.1f %8.1f    ", name,
           heed_item(heed_mean(heed_narrow(losses, 0, 0, HALF - 1))),
           heed_item(heed_mean(heed_narrow(losses, 0, HALF - 1, HALF))));
    heed_attention_check(forward, m->attention, .d_model = C, .heads = HEADS, .causal = true,
                         .module = m->attention, .report = &report);
    printf(report.passed ? "passed\n" : "failed:\n      %s\n", report.mistake);
    heed_error(); /* a failed check is an error, which is printed above */
    return m;
}

/* ---- 4. what averaging hides ---- */

static void show_heads(struct repeater *m)
{
    HEED_SCOPE_NO_GRAD(scope);
    losses_of(m, rows_of(1000));
    heed_tensor *percent = heed_mean_dim(heed_mul_scalar(m->attention->percent, 100), 0, false);
    percent = heed_cat((heed_tensor *[]){percent, heed_mean_dim(percent, 0, true)}, 2, 0);
    printf("\n4. What averaging hides. Percent of position 6's attention on positions 0 to 6. The "
           "next symbol\n"
           "   repeats that of position 3:\n\n");
    for (int head = 0; head <= HEADS; head++) {
        printf(head < HEADS ? "  head %d " : "  mean   ", head);
        for (int key = 0; key < T; key++) {
            printf("%5.0f", heed_at(percent, HEED_INDEX(head, T - 1, key)));
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    const int steps = argc > 1 ? atoi(argv[1]) : 1000;
    heed_on_error(heed_die);
    show_places();
    const bool same = show_sameness();

    heed_on_error(NULL);
    printf("\n3. Four random symbols, and the same four again: predict the next one. The first "
           "half cannot be\n"
           "   known: at best the loss is ln %d = %.1f, and a lower one is a view of the future. "
           "(A model\n"
           "   that is a little too sure of its guesses has more.) The second half can be known: a "
           "loss of 0 is\n"
           "   possible.\n\n"
           "                    1st half 2nd half  heed_attention_check\n",
           SYMBOLS, log(SYMBOLS));
    static const char *const names[MISTAKES] = {"right", "split by view", "merged by view",
                                                "scaled by C"};
    struct repeater *models[MISTAKES];
    for (int made = RIGHT; made < MISTAKES; made++) {
        models[made] = show_training(names[made], (mistake)made, steps);
    }
    show_heads(models[RIGHT]);
    for (int made = RIGHT; made < MISTAKES; made++) {
        heed_module_free(models[made]);
    }
    return !same || heed_error_pending() || ferror(stdout) || fflush(stdout) != 0;
}
