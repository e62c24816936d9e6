/* Task 5: a training step.    make task5, HINT=1, HINT=2
 *
 * A model gives each word of its vocabulary a score (a logit) as the next word. Its loss is the
 * mean, over all places, of -log of the share that softmax gives the word that really came next:
 * with V words and no idea, log V. A training step computes the loss, its gradient for each weight,
 * and moves each weight a little against its gradient:
 *
 *     cross_entropy = mean over n of -log softmax(logits[n])[targets[n]]        w -= lr * w.grad
 *
 * Logits of 1000 must work. The model is given: grade/task5.h says what it computes. backward adds
 * to .grad (heed_clear_grad empties it), heed_copy_into changes the numbers of a tensor, and
 * HEED_SCOPE_NO_GRAD opens a scope that records no graph.
 *
 * Functions: heed_amax_dim, heed_exp, heed_sum_dim, heed_log, heed_gather, heed_unsqueeze,
 * heed_sub, heed_mean; heed_narrow, heed_flatten, heed_size, heed_backward, heed_mul_scalar,
 * heed_item.
 *
 * Read first: lesson 5, its end; docs/questions.md, questions 32 and 33. */
#include "grade/task5.h"

/* logits (N, V) f64, targets (N) i64 in 0 ... V-1 -> the loss, one number, with its graph. */
heed_tensor *cross_entropy(heed_tensor *logits, heed_tensor *targets)
{
    return NULL; /* your code */
}

/* text (B, T+1) i64: B sentences. From each word but the last the model is to predict the next one:
 * model_logits(m, tokens (B, T)) -> (B, T, WORDS). Changes the numbers of the tensors m->weights[0]
 * ... m->weights[WEIGHTS - 1], and returns the loss before that. */
double training_step(struct model *m, heed_tensor *text, double lr)
{
    return NAN; /* your code */
}
