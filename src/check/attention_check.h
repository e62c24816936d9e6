/* Checks attention code: is it attention, and if not, which mistake is it?
 *
 *     static heed_tensor *my_attention(heed_tensor *x, void *context) // (B, T, d) -> (B, T, ...)
 *     {
 *         return my_forward(context, x);
 *     }
 *     ...
 *     heed_attention_check(my_attention, model, (heed_attention_check_options){
 *         .d_model = 64, .heads = 4, .causal = true, .module = model, .stream = stdout});
 *
 * Most mistakes in attention leave shapes and losses plausible. The function is therefore checked
 * as a black box, against what holds for every attention, whatever its weights:
 *
 *   repeat      the same input twice gives the same output, and it is finite
 *   batch       another sequence of the batch changes nothing, nor does the place in the batch
 *   reach       the norms of dy_i/dx_j: each allowed pair has an effect, no blocked pair has
 *   values      no blocked pair has an effect that gradients do not see (detach, argmax)
 *   order       f(Px) = P f(x) for a permutation P; without mask and positions. With positions, the
 *               order of the tokens before it changes the last output
 *   equal       equal tokens give what one gives, as weights sum to 1: f(x, x, x) = f(x)
 *               in a layer alone, dy_i/dx_j of equal tokens is the same for all j
 *   length      T from 1 to the longest works; causal: a prefix of x has the same outputs
 *   padding     tokens that the mask blocks change nothing, the others do
 *   parameters  each receives a gradient and is registered
 *   cache       one token at a time gives what all at once give
 *   formula     y is softmax(q k^T / sqrt(d_head)) v W_o^T, see below
 *   derivative  gradients agree with difference quotients
 *
 * The formula is computed from parameters called W_q, W_k, W_v and W_o, or as in torch. If y
 * differs, known mistakes and pairs of them are tried, and those that reproduce y are named.
 *
 * Parameters, gradients, training flags and the generator are the same afterwards, to the bit. */
#ifndef HEED_CHECK_ATTENTION_CHECK_H
#define HEED_CHECK_ATTENTION_CHECK_H

#include <stdio.h>

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

/* The function to check: x (B, T, d_model) -> (B, T, any width), without the B if .unbatched. */
typedef heed_tensor *heed_attention_function(heed_tensor *x, void *context);

/* Whether and how outputs depend on positions: not at all; on distances (ALiBi, rotary); on the
 * index of a token (sines, a table). */
typedef enum heed_attention_positions {
    HEED_POSITIONS_NONE,
    HEED_POSITIONS_RELATIVE,
    HEED_POSITIONS_ABSOLUTE
} heed_attention_positions;

typedef enum heed_attention_checks {
    HEED_CHECK_REPEAT,
    HEED_CHECK_BATCH,
    HEED_CHECK_REACH,
    HEED_CHECK_VALUES,
    HEED_CHECK_ORDER,
    HEED_CHECK_EQUAL,
    HEED_CHECK_LENGTH,
    HEED_CHECK_PADDING,
    HEED_CHECK_PARAMETERS,
    HEED_CHECK_CACHE,
    HEED_CHECK_FORMULA,
    HEED_CHECK_DERIVATIVE,
    HEED_ATTENTION_CHECKS /* their number */
} heed_attention_checks;

typedef enum heed_verdict {
    HEED_VERDICT_SKIPPED, /* does not apply; the text says why */
    HEED_VERDICT_PASSED,
    HEED_VERDICT_FAILED,
    HEED_VERDICT_UNKNOWN /* cannot tell; the text says why */
} heed_verdict;

enum { HEED_CHECK_TOKENS = 8 }; /* tokens of the inputs, if .longest is not less */

/* What heed_attention_check found. */
typedef struct heed_attention_report {
    bool passed; /* no check failed */
    struct {
        heed_verdict verdict;
        double worst; /* the largest relative deviation from what should hold; 0 if skipped */
        char text[240];
    } checks[HEED_ATTENTION_CHECKS];
    int tokens; /* T */
    /* |dy_i/dx_j| for query i and key j, relative to the largest; and what should be: '#' an
     * effect, '.' none, '?' either (a query that may not see itself still affects its row). */
    double reach[HEED_CHECK_TOKENS][HEED_CHECK_TOKENS];
    char expected[HEED_CHECK_TOKENS][HEED_CHECK_TOKENS];
    char mistake[600]; /* the likely mistake and the remedy, one sentence each; "" if unknown */
} heed_attention_report;

typedef struct heed_attention_check_options {
    int64_t d_model;         /* features of x; required */
    int heads;               /* 0: 1 */
    bool causal;             /* token i sees tokens 0 to i */
    heed_tensor *block_mask; /* or: bool (T, T), T <= 8, true blocks; f applies the same one */
    heed_attention_positions positions;
    int64_t longest; /* the most tokens that f accepts; 0: 8 */
    bool unbatched;  /* x is (T, d_model): the tutorial's row_dim 0, col_dim 1 */
    int layers;      /* layers of attention; 0: 1 */
    bool block;      /* f is more than attention: a residual, norms, a feed-forward network */
    bool extra_keys; /* bias_k, zero_attn, sinks: weights of the tokens sum to less than 1 */
    void *module;    /* cast to f64 and set to eval during the check; NULL: f32 */
    bool f32;        /* do not cast: f creates f32 tensors of its own; may cast x to f32 and back */
    /* f with a key_padding_mask, bool (B, T), true blocks; NULL: not checked */
    heed_tensor *(*padded)(heed_tensor *x, heed_tensor *key_padding_mask, void *context);
    /* f of one token, x (B, 1, d_model), with a cache that is emptied at position 0; NULL: not
     * checked */
    heed_tensor *(*step)(heed_tensor *x, int64_t position, void *context);
    bool derivative;               /* compare gradients with difference quotients; needs f64 */
    uint64_t seed;                 /* of the inputs; 0: 1 */
    FILE *stream;                  /* the report is printed here; NULL: not printed */
    heed_attention_report *report; /* and stored here; NULL: not stored */
} heed_attention_check_options;

/* heed_attention_check: HEED_OK if no check failed. Takes some milliseconds.
 *
 * HEED_ERR_CHECK: a check failed; the message is the likely mistake. HEED_ERR_NULL: no function, or
 * it returned NULL. HEED_ERR_SHAPE: d_model is missing, the mask is not (T, T), or f returns other
 * dims than (B, T, ...). HEED_ERR_VALUE: an option does not fit the others, or f gives random
 * outputs though the generator is reset before each call. Errors of f are returned as well. */
heed_status heed_attention_check(heed_attention_function *f, void *context,
                                 heed_attention_check_options options);

/* heed_attention_report_print: one line a check, the reach as a picture, and the mistake. */
void heed_attention_report_print(FILE *stream, const heed_attention_report *report);

HEED_END_DECLS
#endif
