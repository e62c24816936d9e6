/* Task 10: find the fault.    make task10, HINT=1, HINT=2
 *
 * Five small classes, each with one fault. They run, their shapes are right, and all of them train:
 * so look at what they do. Above each class is its symptom, as a program printed it: a map of its
 * attention, its losses, or a report of heed_attention_check. Which line causes it? Change
 * that line; one is enough for each class, and the others are right.
 *
 * The grader checks each class with other inputs, and its gradients, and says how many of the five
 * are right. `make task10 SYMPTOMS=1` prints the five symptoms of your classes as they are now.
 *
 * Read first: docs/attention.md; docs/questions.md. grade/task10.h has struct attention. */
#include "grade/task10.h"

/* 1. One head without a mask. Its map of "the pizza is good", before training: how much each word
 * (row) looks at each word (column).
 *
 *                  p
 *                  i       g
 *              t   z       o
 *              h   z   i   o
 *              e   a   s   d
 *       the   14  12: 27= 43
 *     pizza : 25  11: 27  12
 *        is : 31  11: 26  12
 *      good : 29# 67: 21: 33
 */
heed_tensor *one_head(struct attention *m, heed_tensor *x, heed_tensor **weights)
{
    heed_tensor *q = heed_linear_forward(m->W_q, x);
    heed_tensor *k = heed_linear_forward(m->W_k, x);
    heed_tensor *v = heed_linear_forward(m->W_v, x);
    heed_tensor *scores = heed_matmul(q, heed_transpose(k, 1, 2));
    scores = heed_div_scalar(scores, sqrt((double)heed_size(k, 2)));
    *weights = heed_softmax(scores, 1);
    return heed_linear_forward(m->W_o, heed_matmul(*weights, v));
}

/* 2. A head of a model that predicts the next symbol. It is trained on random symbols, of which
 * there are 16: knowing all symbols before does not help, so no model can get below ln 16 = 2.77.
 *
 *     mean loss of 30 steps each
 *
 *       to step   a right class   next_word
 *            30           2.848   2.447
 *            60           2.802   0.855
 *            90           2.790   0.563
 *           120           2.794   0.505
 *           150           2.790   0.475
 *           180           2.790   0.447
 *           210           2.786   0.450
 *           240           2.782   0.449
 */
heed_tensor *next_word(struct attention *m, heed_tensor *x)
{
    heed_tensor *q = heed_linear_forward(m->W_q, x);
    heed_tensor *k = heed_linear_forward(m->W_k, x);
    heed_tensor *v = heed_linear_forward(m->W_v, x);
    heed_tensor *scores = heed_matmul(q, heed_transpose(k, 1, 2));
    scores = heed_div_scalar(scores, sqrt((double)heed_size(k, 2)));
    heed_tensor *ones = heed_ones(HEED_SHAPE(heed_size(x, 1), heed_size(x, 1)), HEED_BOOL);
    scores = heed_masked_fill(scores, heed_triu(ones, 2), -(double)INFINITY); /* true blocks */
    return heed_linear_forward(m->W_o, heed_matmul(heed_softmax(scores, 2), v));
}

/* (B, T, d) -> (B, heads, T, d_head) */
static heed_tensor *split(struct attention *m, heed_tensor *x)
{
    return heed_transpose(heed_unflatten(x, 2, HEED_SHAPE(m->heads, -1)), 1, 2);
}

/* 3. Two heads with a causal mask. `split` is right. The report of
 * heed_attention_check:
 *
 *     attention check
 *
 *       repeat     ok     the same input gives the same output
 *       batch      ok     another sequence of the batch changes nothing
 *       reach      WRONG  row 0 sees token 1, which is blocked (10 such pairs, all of them
 *                         later tokens)
 *       values     WRONG  replacing tokens: row 0 sees token 1, which is blocked (10 such
 *                         pairs, all of them later tokens)
 *       order      -      needs two tokens and no mask, or three and positions
 *       equal      WRONG  equal tokens do not give what one of them gives: see reach; or
 *                         the weights of a row do not sum to 1 (softmax over another dim, a
 *                         mask after it, none, a factor of T), or v has positions
 *       length     WRONG  the first rows of T = 1 differ from those of T = 8: outputs depend
 *                         on the length (a scale, a mask aligned to the end, positions counted
 *                         from the end)
 *       padding    -      no .padded
 *       parameters -      no .module
 *       cache      -      no .step
 *       formula    -      no .module
 *
 *       effect of token (column) on output (row):
 *
 *           0 1 2 3 4 5 6 7
 *        0  * ! . . . . . .
 *        1  * * ! ! . . . .
 *        2  + + + ! ! ! . .
 *        3  + + + * ! ! ! !
 *        4  # * x x x . . .
 *        5  * * # * x x . .
 *        6  + + * + * + x .
 *        7  + + + + + + * +
 *
 *       as expected: . no effect, - to # an effect
 *       wrong:       ! an effect that should not be
 *       wrong:       x no effect where one should be
 *
 *     WRONG: 2 checks passed, 4 failed
 */
heed_tensor *multi_head(struct attention *m, heed_tensor *x)
{
    heed_tensor *q = split(m, heed_linear_forward(m->W_q, x));
    heed_tensor *k = split(m, heed_linear_forward(m->W_k, x));
    heed_tensor *v = split(m, heed_linear_forward(m->W_v, x));
    heed_tensor *scores = heed_matmul(q, heed_transpose(k, 2, 3));
    scores = heed_div_scalar(scores, sqrt((double)heed_size(k, 3)));
    heed_tensor *future = heed_causal_block_mask(heed_size(x, 1));
    scores = heed_masked_fill(scores, future, -(double)INFINITY);
    heed_tensor *y = heed_matmul(heed_softmax(scores, 3), v);
    y = heed_reshape(y, heed_shape_of_tensor(x));
    return heed_linear_forward(m->W_o, y);
}

/* 4. A head for sentences of different lengths. is_word (B, T) is true for words and false for
 * padding, which no word should look at. (What the rows of padding look at does not matter: nobody
 * reads them.) Its map of "the pizza is good", padded to 6 tokens, before training:
 *
 *                  p           <   <
 *                  i       g   p   p
 *              t   z       o   a   a
 *              h   z   i   o   d   d
 *              e   a   s   d   >   >
 *       the    .   .   .   .= 35* 65
 *     pizza    .   .   .   .= 46* 54
 *        is    .   .   .   .* 56= 44
 *      good    .   .   .   .@ 95   5
 *     <pad>    .   .   .   .* 59= 41
 *     <pad>    .   .   .   .# 72: 28
 */
heed_tensor *padded(struct attention *m, heed_tensor *x, heed_tensor *is_word,
                    heed_tensor **weights)
{
    heed_tensor *q = heed_linear_forward(m->W_q, x);
    heed_tensor *k = heed_linear_forward(m->W_k, x);
    heed_tensor *v = heed_linear_forward(m->W_v, x);
    heed_tensor *scores = heed_matmul(q, heed_transpose(k, 1, 2));
    scores = heed_div_scalar(scores, sqrt((double)heed_size(k, 2)));
    heed_tensor *mask = heed_unsqueeze(is_word, 1); /* (B, 1, T): the same keys for all queries */
    *weights = heed_softmax(heed_masked_fill(scores, mask, -(double)INFINITY), 2);
    return heed_linear_forward(m->W_o, heed_matmul(*weights, v));
}

/* 5. A head that learns to say the symbol before each symbol, with a causal mask. It knows the
 * positions, so it only has to look one symbol back. The loss of this class and of a right one:
 *
 *     mean loss of 30 steps each
 *
 *       to step   a right class   previous_word
 *            30           2.425   2.589
 *            60           0.976   2.052
 *            90           0.285   1.801
 *           120           0.154   1.775
 *           150           0.118   1.675
 *           180           0.154   1.668
 *           210           0.086   1.651
 *           240           0.049   1.633
 */
heed_tensor *previous_word(struct attention *m, heed_tensor *x, heed_tensor **weights)
{
    heed_tensor *q = heed_linear_forward(m->W_q, x);
    heed_tensor *k = heed_linear_forward(m->W_k, x);
    heed_tensor *v = heed_linear_forward(m->W_v, x);
    heed_tensor *scores = heed_matmul(q, heed_transpose(k, 1, 2));
    scores = heed_div_scalar(scores, sqrt((double)heed_size(k, 2)));
    heed_tensor *future = heed_causal_block_mask(heed_size(x, 1));
    scores = heed_masked_fill(scores, future, -(double)INFINITY);
    *weights = heed_detach(heed_softmax(scores, 2)); /* the map needs no graph */
    return heed_linear_forward(m->W_o, heed_matmul(*weights, v));
}
