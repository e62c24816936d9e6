/* config.json of a GPT-2: settings that are read survive a round trip of writing and reading. If
 * the weights have other sizes, loading is rejected before a model is created. */
#include <string.h>

#include "src/models/gpt/gpt_config.h"
#include "tests/fuzz/common/fuzz.h"

const fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("{\"vocab_size\":3,\"n_positions\":2,\"n_embd\":4,\"n_layer\":1,\"n_head\":2}"),
    FUZZ_SEED("{\"vocab_size\":3,\"max_position_embeddings\":2,\"hidden_size\":4,"
              "\"num_hidden_layers\":1,\"num_attention_heads\":1,\"tie_word_embeddings\":false,"
              "\"n_inner\":16}"),
    FUZZ_SEED("{\"activation_function\":\"silu\",\"attn_pdrop\":0.5,\"embd_pdrop\":5e-1,"
              "\"resid_pdrop\":0.5,\"layer_norm_epsilon\":1e-6,\"model_type\":\"gpt\\u0032\","
              "\"n_embd\":4,\"n_head\":4,\"n_layer\":1,\"n_positions\":2,\"vocab_size\":3}"),
    FUZZ_SEED("{\"n_embd\":65536,\"n_layer\":2147483647,\"x\":[1,{\"y\":null}],\"n_head\":1}"),
    FUZZ_SEED("{}"),
    {NULL, 0}};

static bool is_small(const heed_gpt_config *c)
{
    return c->vocab_size <= 64 && c->block_size <= 64 && c->n_embd <= 32 && c->n_layer <= 3;
}

static void must_equal_configs(const heed_gpt_config *a, const heed_gpt_config *b)
{
    must(a->vocab_size == b->vocab_size && a->block_size == b->block_size);
    must(a->n_layer == b->n_layer && a->n_head == b->n_head && a->n_embd == b->n_embd);
    must(a->dropout == b->dropout && a->layer_norm_eps == b->layer_norm_eps);
    must(a->activation == b->activation && a->untied == b->untied);
}

static void check_written(const heed_gpt_config *config)
{
    heed_gpt_config again = {0};
    const char *path = fuzz_path("config.json");
    struct heed_gpt *m = heed_gpt_new(*config);
    must(m != NULL && heed_gpt_config_write("write", path, m) == HEED_OK);
    must(heed_gpt_config_read("read", path, &again) == HEED_OK);
    must_equal_configs(config, &again);
    heed_module_free(m);
}

/* Loads the settings next to weights of the first seed's sizes. */
static void check_folder(const uint8_t *data, size_t size, const heed_gpt_config *config)
{
    char folder[128];
    const char *weights = fuzz_path("model.safetensors"), *path = fuzz_path("config.json");
    strcpy(folder, path);
    *strrchr(folder, '/') = '\0';
    struct heed_gpt *m = heed_gpt_new((heed_gpt_config){
        .vocab_size = 3, .block_size = 2, .n_layer = 1, .n_head = 1, .n_embd = 4});
    must(heed_gpt_save(m, weights, HEED_GPT_LAYOUT_GPT2) == HEED_OK);
    heed_module_free(m);
    fuzz_file("config.json", data, size, "", 0);
    m = heed_gpt_from_pretrained(folder);
    if (m == NULL) {
        must_fail_printably();
        return;
    }
    must_equal_configs(&m->config, config);
    must(heed_gpt_save_pretrained(m, folder) == HEED_OK);
    struct heed_gpt *again = heed_gpt_from_pretrained(folder);
    must(again != NULL);
    must_equal_configs(&again->config, config);
    must_equal_tensors(again->transformer->wte->weight, m->transformer->wte->weight);
    heed_module_free(m);
    heed_module_free(again);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    heed_gpt_config config = {0};
    if (heed_gpt_config_read("read", fuzz_file("config.json", data, size, "", 0), &config) !=
        HEED_OK) {
        must_fail_printably();
        return;
    }
    if (is_small(&config)) {
        check_written(&config);
    }
    check_folder(data, size, &config);
}
