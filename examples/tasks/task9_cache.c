/* Task 9: generation with a cache of keys and values.    make task9, HINT=1, HINT=2
 *
 * A model writes one token after another. Without a cache, each step computes the keys and values
 * of all tokens again, though only one token is new. With a cache, a step computes those of the
 * new token and reads the others:
 *
 *     token p:  q_p attends to k_0 ... k_p and v_0 ... v_p      (B, 1, d), (B, p + 1, d) twice
 *
 * Row p must be the same as in one pass over the whole sentence, which writer_forward computes.
 * grade/task9.h has the model, struct writer.
 *
 * Functions: with_positions, attend and keep of grade/task9.h; heed_linear_forward, heed_cat.
 *
 * Read first: lesson 9, "prefill, then one token at a time"; docs/questions.md, questions 28 to
 * 31. */
#include "grade/task9.h"

/* The whole sentence at once, as in training. Given. x (B, T, d) -> (B, T, d) */
heed_tensor *writer_forward(struct writer *m, heed_tensor *x)
{
    x = with_positions(m, x, 0);
    heed_tensor *q = heed_linear_forward(m->W_q, x);
    heed_tensor *k = heed_linear_forward(m->W_k, x);
    heed_tensor *v = heed_linear_forward(m->W_v, x);
    heed_tensor *y = attend(q, k, v, heed_causal_block_mask(heed_size(x, 1)));
    return heed_linear_forward(m->W_o, y);
}

/* One token: x (B, 1, d), the token at `position` -> (B, 1, d), its row of writer_forward
 *
 * The tokens at positions 0 to position - 1 were the steps before. Position 0 begins a new
 * sentence, with any B. The cache is m->keys and m->values; only the new token passes through W_q,
 * W_k and W_v. */
heed_tensor *writer_step(struct writer *m, heed_tensor *x, int64_t position)
{
    return NULL; /* your code */
}
