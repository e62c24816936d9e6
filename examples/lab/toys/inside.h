/* Looking inside a trained model, with a recording of its forward and with observers that change
 * it; the model itself knows nothing of this. Heads are counted from 0 here and from 1 in output.
 */
#ifndef HEED_TOYS_INSIDE_H
#define HEED_TOYS_INSIDE_H

#include "examples/lab/toys/run.h"

/* toys_input: a batch of one row: the tokens that `text` names, or else row 0 of the test batch.
 * All its positions are scored; it has no targets. HEED_ERR_VALUE: no such token, or too many; the
 * message names `flag`. */
toys_batch toys_input(const toys_run *r, const char *flag, const char *text);

/* toys_labels: the texts of the tokens of a batch's first row; free them with heed_free. */
typedef char toys_text[TOYS_LABEL];
toys_text *toys_labels(const toys_run *r, const toys_batch *b);

/* toys_layer_path: the module path of a part of a layer, such as ".W_o"; "": the layer itself. */
typedef struct toys_path {
    char text[64];
} toys_path;
toys_path toys_layer_path(int layer, const char *part);

/* toys_attention: the attention weights (rows, heads, queries, tokens) of a layer on a batch.
 * toys_attention_text: prints those on a batch of one row, of all layers. */
heed_tensor *toys_attention(struct toys_model *m, const toys_batch *b, int layer);
void toys_attention_text(FILE *stream, const toys_run *r, const toys_batch *b);

/* How much a head attends, on average, to the previous token, and to the token that an induction
 * head attends to: the one after the last occurrence of the present token; NaN: the task has none.
 */
typedef struct toys_head_scores {
    double previous, induction;
} toys_head_scores;
toys_head_scores toys_score_head(const toys_run *r, int layer, int head);

/* toys_ablate: the score of the test batch if the output of a head is replaced by zeros or, with
 * `mean`, by its mean over the rows and positions of the batch. */
toys_score toys_ablate(const toys_run *r, int layer, int head, bool mean);

/* toys_attribute: direct logit attribution. The residual stream is a sum, so each part of it adds
 * to the logits, with the scale of the last norm fixed. Calls see(context, name, logits) for each
 * part; logits (rows, scored, outputs) add up to those of the model. */
typedef void toys_see_part(void *context, const char *name, heed_tensor *logits);
heed_status toys_attribute(struct toys_model *m, const toys_batch *b, toys_see_part *see,
                           void *context);

/* toys_spectrum: the shares of the power of the token embedding, as a periodic function of the
 * first `period` tokens, at frequencies 1 ... period / 2; sets shares[0] to [period / 2 - 1], in
 * the order of the frequencies. */
void toys_spectrum(const struct toys_model *m, int64_t period, double *shares);

/* toys_put_number: a number, right-aligned in a column; "-" for NaN. */
void toys_put_number(FILE *stream, int width, const char *format, double x);

/* Tables of the above for all heads. toys_put_attribution: what each part adds to the logit of the
 * right answer, above the mean of all logits, on average. */
void toys_put_scores(FILE *stream, const toys_run *r);
void toys_put_ablation(FILE *stream, const toys_run *r);
void toys_put_attribution(FILE *stream, const toys_run *r);

/* Activation patching (patch.c). The clean sequences are those of the test batch, and each is
 * corrupted by the next one; or else both are given, with as many tokens. The measure is the logit
 * of the clean answer less that of the corrupted one. toys_put_patching: for each head, the measure
 * if the head's result in the clean sequence is put into the corrupted one, and which share of the
 * clean measure this restores; of a given pair also for each position of the residual stream. */
void toys_put_patching(FILE *stream, const toys_run *r, const char *clean, const char *corrupted);

/* toys_put_positions: the loss and score at each scored position of the test batch, then of the
 * longer sequences, with the losses of the best and the simpler predictor (positions.c). */
void toys_put_positions(FILE *stream, const toys_run *r);

/* toys_put_spectrum: how many frequencies have 90 percent of the power, and the largest. */
void toys_put_spectrum(FILE *stream, const toys_run *r);

#endif
