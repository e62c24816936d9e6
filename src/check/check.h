/* What the files of this room share (internal). */
#ifndef HEED_CHECK_CHECK_H
#define HEED_CHECK_CHECK_H

#include "../nn/nn.h"

/* Which known mistake gives the outputs of an attention (internal). */

/* heed_attention_mistake: compares y (B, T, width) of x (B, T, d_model) with the formula, and if it
 * differs, with each known mistake, then with pairs of them. Relative differences up to `rounding`
 * are none. The module's parameters are called as in the tutorial or as in torch; if not, the
 * verdict is skipped. `text` names the mistake, if one gives y. y is f64 without a graph. */
heed_verdict heed_attention_mistake(const heed_attention_check_args *o, double rounding,
                                    heed_tensor *x, heed_tensor *y, char *text, size_t size);

/* heed_attention_report_print: one line a check, the reach as a picture, and the mistake. */
void heed_attention_report_print(FILE *stream, const heed_attention_report *report);

#endif
