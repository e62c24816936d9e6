#include "tests/common/gpt_files_util.h"

struct heed_gpt *new_gpt(heed_gpt_config config, uint64_t seed)
{
    config.vocab_size = 40;
    config.block_size = 12;
    config.n_layer = config.n_head = 2;
    config.n_embd = 8;
    heed_manual_seed(seed);
    struct heed_gpt *m = heed_gpt_new(config);
    const heed_tensor_list state = heed_parameters(m);
    for (int i = 0; i < state.count; i++) { /* initial zeros and ones would hide errors */
        heed_normal_into(state.tensors[i], 0.2, 0.4);
    }
    heed_eval(m);
    expect_no_error();
    return m;
}
