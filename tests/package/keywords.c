/* Calls each function with keyword arguments, in order and by name: compiled, never run, with every
 * warning that users turn on (make check-cc). With -DWRONG, a keyword that does not exist;
 * with -DDROPPED=CALL, a result that is dropped. */
#include <heed.h>

static heed_tensor *square(heed_tensor *const *inputs, void *context)
{
    (void)context;
    return heed_square(inputs[0]);
}

static heed_tensor *attend(heed_tensor *x, void *m)
{
    return heed_self_attention_forward((struct heed_self_attention *)m, x, NULL);
}

void call_all(heed_tensor *x, heed_tensor *ids, void *m, int rows, char *text, size_t size);

void call_all(heed_tensor *x, heed_tensor *ids, void *m, int rows, char *text, size_t size)
{
    struct heed_multihead_attention *a = heed_multihead_attention_new(8, 2);
    const double betas[] = {0.9, 0.95};
    heed_adamw_new_args args = {.parameters = heed_parameters(m), .lr = 1e-3};
    heed_tensor *weights;

    heed_linear_new(rows, 12);
#ifndef WRONG
    heed_linear_new(64, 12, .no_bias = true);
#else
    heed_linear_new(64, 12, .no_bais = true);
#endif
    heed_linear_new(.out_features = 12, .in_features = heed_size(x, 1));
    heed_self_attention_new(8);
    heed_self_attention_new(8, -2, -1, .head_dim = 4, .kv_dim = 6);
    heed_multi_head_new(8, 2, 0, 1);
    heed_multi_head_new(8, 2, -2, -1, .head_dim = 8 / 2);
    heed_multihead_attention_new(8, 2, .dropout = 0.1, .no_bias = rows > 1, .batch_first = true);
    heed_multihead_attention_forward(a, x, x, x);
    heed_multihead_attention_forward(a, x, x, x, .key_padding_mask = ids, .attn_mask = NULL,
                                     .is_causal = true, .weights = &weights);
    x = heed_rope(x, NULL);
    x = heed_rope(heed_rope(x, ids, 500000), .interleaved = true);
    x = heed_cross_entropy(x, ids);
    x = heed_cross_entropy(x, ids, .ignore_index = -1, .label_smoothing = 0.1,
                           .reduction = HEED_SUM);
#ifdef DROPPED
    DROPPED;
#endif
    heed_adamw_new(heed_parameters(m), 1e-3, 0.01);
    heed_adamw_new(heed_parameters(m), 1, 0, .betas = {betas[0], 0.95}, .eps = 1e-6,
                   .decay_matrices_only = true);
    (heed_adamw_new)(args);
    heed_load_state_dict(m, text);
    heed_load_state_dict(m, "model.safetensors", .no_strict = true);
    heed_gradcheck(square, NULL, &x, 1);
    heed_gradgradcheck(square, m, (heed_tensor *[]){x, ids}, 2, .unused = HEED_INPUT(1), .atol = 1);
    heed_fprint(stdout, x);
    heed_fprint(stdout, x, .precision = 8, .linewidth = 86);
    heed_snprint(text, size, x);
    heed_snprint(NULL, 0, x, .precision = rows);
    heed_watch_new(.steps = 1000, .terminal = stderr, .csv = "run.csv");
    heed_attention_check(attend, m, .d_model = 64, .causal = true, .module = m);
}
