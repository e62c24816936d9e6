/* What the files of this room share (internal). */
#ifndef HEED_CHECK_CHECK_H
#define HEED_CHECK_CHECK_H

#include "../nn/nn.h"

/* Which known mistake gives the outputs of an attention (internal). */

/* What is asked about a function f with a module: of what it was meant to be, and what it did. */
typedef struct heed_attention_question {
    const heed_attention_check_args *o;
    void *module;
    double rounding;               /* relative differences up to this are none */
    heed_tensor *x;                /* (B, T, d_model) */
    heed_tensor *y;                /* f(x), f64 (B, T, width), without a graph */
    heed_attention_report *report; /* of the other checks; gets the likely mistake */
    bool brief;                    /* single mistakes, and roles by names if there are any */
    const void *context;
    heed_tensor *(*outputs)(const void *context, heed_tensor *x); /* f(x) like y; NULL on error */
} heed_attention_question;

/* heed_attention_mistake: compares y with the formula, and if it differs, with each known mistake,
 * then with pairs of them. The report's mistake is the one that gives y, or "". Skipped if the
 * module has no matrices that could be W_q, W_k and W_v. *why may be set to a text for the verdict.
 */
heed_verdict heed_attention_mistake(const heed_attention_question *question, const char **why);

/* heed_attention_report_print: one line a check, the reach as a picture, and the mistake. */
void heed_attention_report_print(FILE *stream, const heed_attention_report *report);

#endif
