/* One head: softmax(q k^T / sqrt(d_k)) v (Vaswani et al., 2017, section 3.2.1). */

#include "attention_head.h"

#include <math.h>

#include "../autograd/ops/elementwise.h"
#include "../autograd/ops/masking.h"
#include "../autograd/ops/matmul.h"
#include "../autograd/ops/softmax.h"
#include "../autograd/ops/view.h"
#include "../tensor/read.h"

/* The tutorial's forward, line for line, except that the tutorial fills with -1e9 instead of -inf.
 * Both values give bit-identical weights unless a row is fully masked: -1e9 then gives all tokens
 * equal weights, whereas safe_softmax with -inf gives zeros. In self-attention, encodings_for_kv is
 * token_encodings; in cross-attention, it is the other sequence. */
static heed_tensor *attend(const heed_attention_head *m, heed_tensor *token_encodings,
                           heed_tensor *encodings_for_kv, heed_tensor *block_mask,
                           heed_tensor **weights)
{
    heed_tensor *q = heed_linear_forward(m->W_q, token_encodings);
    heed_tensor *k = heed_linear_forward(m->W_k, encodings_for_kv);
    heed_tensor *v = heed_linear_forward(m->W_v, encodings_for_kv);

    heed_tensor *sims = heed_matmul(q, heed_transpose(k, m->row_dim, m->col_dim));
    heed_tensor *scaled_sims = heed_div_scalar(sims, sqrt((double)heed_size(k, m->col_dim)));
    if (block_mask != NULL) {
        scaled_sims = heed_masked_fill(scaled_sims, block_mask, -HUGE_VAL);
    }
    heed_tensor *attention_percent = heed_safe_softmax(scaled_sims, m->col_dim);
    *weights = attention_percent;
    return heed_matmul(attention_percent, v);
}

void heed_keep_copy(heed_tensor **kept, heed_tensor *value)
{
    heed_release(*kept);
    *kept = heed_retain(heed_clone(heed_detach(value)));
}

heed_tensor *heed_attention_head_forward(const heed_attention_head *m, heed_tensor *token_encodings,
                                         heed_tensor *encodings_for_kv, heed_tensor *block_mask,
                                         heed_tensor *key_padding_mask, heed_tensor **weights)
{
    heed_tensor *percent = NULL;
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *mask = block_mask;
    if (key_padding_mask != NULL) { /* both masks apply */
        heed_tensor *padding = heed_unsqueeze(key_padding_mask, -2);
        mask = block_mask != NULL ? heed_logical_or(block_mask, padding) : padding;
    }
    heed_tensor *output = attend(m, token_encodings, encodings_for_kv, mask, &percent);
    if (m->kept != NULL) {
        heed_keep_copy(m->kept, percent);
    }
    if (weights != NULL) {
        *weights = heed_scope_keep(&scope, percent);
    }
    return heed_scope_end_with(&scope, output);
}
