/* Looking inside a trained model, with a recording of its forward and with a hook that changes
 * it; the model itself knows nothing of this. Heads are counted from 0 here and from 1 in output.
 */
#ifndef HEED_TOYS_INSIDE_H
#define HEED_TOYS_INSIDE_H

#include "examples/lab/common/recording.h"
#include "examples/lab/toys/run.h"

/* toys_input: a batch of one row: the tokens that `text` names, or else row 0 of the test batch.
 * All its positions are scored; it has no targets. HEED_ERR_VALUE: no such token, or too many; the
 * message names `flag`. */
toys_batch toys_input(const toys_run *r, const char *flag, const char *text);

/* toys_labels: the texts of the tokens of a batch's first row; free them with heed_free. */
const char **toys_labels(const toys_run *r, const toys_batch *b);

/* toys_attention: the attention weights (rows, heads, queries, tokens) of a layer on a batch. */
heed_tensor *toys_attention(struct toys_model *m, const toys_batch *b, int layer);

/* A place of the forward: index `at` of dimension 1, a head or a position, of the n-th result of an
 * operation of a module, and what replaces it. */
typedef struct toys_place {
    char path[64];
    const char *op;
    int n;
    int64_t at;
    enum { TOYS_ZEROS, TOYS_MEAN, TOYS_CLEAN } by; /* mean: over rows and positions */
    heed_tensor *clean;                            /* the result in another forward */
} toys_place;

/* toys_head: a head's result. toys_replaced: the outputs if a place's value is replaced. */
toys_place toys_head(int layer, int head);
heed_tensor *toys_replaced(struct toys_model *m, const toys_batch *b, toys_place where);

/* toys_attribute: direct logit attribution. The residual stream is a sum, so each part of it adds
 * to the logits, with the scale of the last norm fixed. Prints what each part adds to the logit of
 * the right answer, above the mean of all logits, on average; returns the sum of these less that
 * value of the logits themselves, 0 up to rounding. */
double toys_attribute(FILE *stream, const toys_run *r);

/* toys_spectrum: the shares of the power of the token embedding, as a periodic function of the
 * first `period` tokens, at frequencies 1 ... period / 2; sets shares[0] to [period / 2 - 1], in
 * the order of the frequencies. */
void toys_spectrum(const struct toys_model *m, int64_t period, double *shares);

/* toys_put_number: a number, right-aligned in a column; "-" for NaN. */
void toys_put_number(FILE *stream, int width, const char *format, double x);

/* What the flags of these names print. put_patching (patch.c): the clean sequences are those of the
 * test batch, and each is corrupted by the next one; or else both are given, with as many tokens.
 * put_positions (positions.c): of the test batch, then of the longer sequences. */
void toys_put_attention(FILE *stream, const toys_run *r, const toys_options *o);
void toys_put_scores(FILE *stream, const toys_run *r, const toys_options *o);
void toys_put_ablation(FILE *stream, const toys_run *r, const toys_options *o);
void toys_put_patching(FILE *stream, const toys_run *r, const toys_options *o);
void toys_put_positions(FILE *stream, const toys_run *r, const toys_options *o);
void toys_put_spectrum(FILE *stream, const toys_run *r, const toys_options *o);

#endif
