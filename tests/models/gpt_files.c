/* Models saved by transformers and nanoGPT give their logits here, and are saved here as the same
 * bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/gpt_files_util.h"

static const heed_gpt_config nanogpt_config = {.vocab_size = 40,
                                               .block_size = 12,
                                               .n_layer = 2,
                                               .n_head = 2,
                                               .n_embd = 8,
                                               .activation = heed_gelu,
                                               .no_bias = true};

/* ---- logits ---- */

static heed_tensor *fixture(const char *name)
{
    heed_tensor *x = load_one(GPT2_FIXTURE("logits.safetensors"), name);
    expect_no_error();
    return x;
}

static heed_tensor *logits_of(struct heed_gpt *m)
{
    heed_tensor *logits = heed_detach(heed_gpt_forward(m, fixture("tokens")));
    expect_no_error();
    return logits;
}

/* f32 logits compared with theirs in f32 and f64, and f64 logits with theirs in f64. */
static void expect_logits(struct heed_gpt *m, const char *name)
{
    char exact[64];
    snprintf(exact, sizeof exact, "%s.f64", name);
    expect_close(logits_of(m), fixture(name), 1e-5);
    expect_close(heed_to(logits_of(m), HEED_F64), fixture(exact), 1e-5);
    heed_module_to(m, HEED_F64);
    expect_close(logits_of(m), fixture(exact), 1e-12);
}

static const struct {
    const char *name, *folder;
    int n_layer;
    heed_activation_function *activation;
    double eps, dropout;
    bool untied;
} folders[] = {{"tied", GPT2_FIXTURE("tied"), 2, heed_gelu_tanh, 1e-5, 0.1, false},
               {"untied", GPT2_FIXTURE("untied"), 2, heed_relu, 1e-3, 0, true},
               {"old", GPT2_FIXTURE("old"), 1, heed_gelu_tanh, 1e-5, 0.1, false}};
enum { FOLDERS = sizeof folders / sizeof *folders };

START_TEST(transformers_models_give_their_logits)
{
    heed_tensor *before = heed_get_rng_state();
    struct heed_gpt *m = heed_gpt_from_pretrained(folders[_i].folder);
    expect_same_bits(heed_get_rng_state(), before); /* loading draws nothing */
    const heed_gpt_config *c = &m->config;
    ck_assert(c->vocab_size == 40 && c->block_size == 12 && c->n_embd == 8 && c->n_head == 2);
    ck_assert_int_eq(c->n_layer, folders[_i].n_layer);
    ck_assert(c->activation == folders[_i].activation && c->untied == folders[_i].untied);
    ck_assert(c->dropout == folders[_i].dropout && c->layer_norm_eps == folders[_i].eps);
    ck_assert(!m->module.training && !heed_gpt_block_at(m, 0)->attn->module.training);
    expect_logits(m, folders[_i].name);
    heed_module_free(m);
}
END_TEST

START_TEST(nanogpt_models_give_their_logits)
{
    struct heed_gpt *m = heed_gpt_new(nanogpt_config);
    ck_assert_int_eq(heed_gpt_load(m, GPT2_FIXTURE("nanogpt.safetensors")), HEED_OK);
    heed_eval(m);
    expect_logits(m, "nanogpt");
    heed_module_free(m);
}
END_TEST

/* ---- round trips ---- */

START_TEST(what_is_saved_is_what_transformers_saved)
{
    struct heed_gpt *m = heed_gpt_from_pretrained(folders[_i].folder);
    ck_assert_int_eq(heed_gpt_save_pretrained(m, in_folder("")), HEED_OK);
    expect_no_error();
    char path[200];
    snprintf(path, sizeof path, "%s/model.safetensors", folders[_i].folder);
    if (strcmp(folders[_i].name, "old") != 0) { /* which is f16 and has masks */
        expect_same_files(in_folder("model.safetensors"), path);
    }
    struct heed_gpt *again = heed_gpt_from_pretrained(in_folder(""));
    expect_same_state(again, m);
    ck_assert_int_eq(files_in_folder(), 2);
    heed_module_free(m);
    heed_module_free(again);
}
END_TEST

/* Each line of our config.json occurs in that of transformers. */
START_TEST(the_config_is_as_transformers_writes_it)
{
    size_t size;
    struct heed_gpt *m = heed_gpt_from_pretrained(folders[_i].folder);
    heed_gpt_save_pretrained(m, in_folder(""));
    char *ours = read_bytes(in_folder("config.json"), &size);
    char path[200], line_end[] = "\n";
    snprintf(path, sizeof path, "%s/config.json", folders[_i].folder);
    char *theirs = read_bytes(path, &size);
    int lines = 0;
    for (char *line = strtok(ours, line_end); line != NULL; line = strtok(NULL, line_end)) {
        line[strcspn(line, ",")] = '\0';
        const bool own = strstr(line, "initializer_range") != NULL ||
                         (folders[_i].dropout == 0 && strstr(line, "_pdrop\": 0.0") != NULL);
        ck_assert_msg(own || strstr(theirs, line) != NULL, "%s has no %s", path, line);
        lines++;
    }
    ck_assert_int_eq(lines, 26);
    free(ours);
    free(theirs);
    heed_module_free(m);
}
END_TEST

static const heed_gpt_config variants[] = {
    {.vocab_size = 0},
    {.no_bias = true},
    {.untied = true},
    {.sinusoidal = true},
    {.dropout = 0.25},
    {.activation = heed_gelu},
    {.activation = heed_relu},
    {.layer_norm_eps = 1.0 / 3, .dropout = 1},
    {.untied = true, .no_bias = true, .sinusoidal = true, .activation = heed_silu}};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* Every model survives a round trip through a folder with the same logits, bit for bit. */
START_TEST(every_model_comes_back_from_a_folder)
{
    const heed_dtype dtype = _i % 2 == 0 ? HEED_F32 : HEED_F64;
    struct heed_gpt *m = new_gpt(variants[_i / 2], 1);
    heed_module_to(m, dtype);
    ck_assert_int_eq(heed_gpt_save_pretrained(m, in_folder("")), HEED_OK);
    struct heed_gpt *again = heed_gpt_from_pretrained(in_folder(""));
    expect_no_error();
    ck_assert_int_eq(again->lm_head->weight->dtype, dtype);
    expect_same_bits(logits_of(again), logits_of(m));
    ck_assert(again->config.dropout == m->config.dropout);
    ck_assert(again->transformer->ln_f->eps == m->transformer->ln_f->eps);
    ck_assert(again->config.activation == m->config.activation);
    if (!m->config.no_bias && !m->config.sinusoidal) {
        expect_same_state(again, m);
    }
    heed_module_free(m);
    heed_module_free(again);
}
END_TEST

START_TEST(every_model_comes_back_from_a_file)
{
    const heed_gpt_layout layouts[] = {HEED_GPT_LAYOUT_GPT2, HEED_GPT_LAYOUT_NANOGPT};
    heed_gpt_config config = variants[_i / 2];
    struct heed_gpt *m = new_gpt(config, 1);
    ck_assert_int_eq(heed_gpt_save(m, in_folder("a"), layouts[_i % 2]), HEED_OK);
    config.sinusoidal = false; /* such files store them as learned positions */
    config.no_bias = config.no_bias && layouts[_i % 2] == HEED_GPT_LAYOUT_NANOGPT;
    struct heed_gpt *again = new_gpt(config, 2);
    ck_assert_int_eq(heed_gpt_load(again, in_folder("a")), HEED_OK);
    expect_same_bits(logits_of(again), logits_of(m));
    heed_module_free(m);
    heed_module_free(again);
}
END_TEST

/* nanoGPT's layout is the state dict. */
START_TEST(nanogpts_layout_is_the_state_dict)
{
    const heed_metadata about[] = {{"format", "pt"}, {NULL, NULL}};
    struct heed_gpt *m = heed_gpt_new(nanogpt_config), *again = heed_gpt_new(nanogpt_config);
    ck_assert_int_eq(heed_gpt_load(m, GPT2_FIXTURE("nanogpt.safetensors")), HEED_OK);
    heed_gpt_save(m, in_folder("a"), HEED_GPT_LAYOUT_NANOGPT);
    heed_save_state_dict(m, in_folder("b"), about);
    expect_same_files(in_folder("a"), in_folder("b"));
    heed_load_state_dict(again, in_folder("a"));
    expect_same_state(again, m);
    heed_module_free(m);
    heed_module_free(again);
    struct heed_gpt *odd = new_gpt((heed_gpt_config){.sinusoidal = true}, 1);
    heed_save_state_dict(odd, in_folder("a"), NULL);
    ck_assert_int_eq(heed_gpt_load(odd, in_folder("a")), HEED_OK); /* a state dict with pe.pe */
    heed_module_free(odd);
}
END_TEST

/* A training checkpoint, as `gpt train` saves it, also loads as a plain model. */
START_TEST(a_checkpoint_gives_its_model)
{
    struct heed_gpt *m = new_gpt((heed_gpt_config){.dropout = 0}, 1);
    struct heed_gpt *again = new_gpt((heed_gpt_config){.dropout = 0}, 2);
    heed_optimizer *adamw = heed_adamw_new(heed_parameters(m), 1e-3, 0);
    heed_scope scope;
    heed_scope_begin(&scope);
    ck_assert_int_eq(heed_save_checkpoint(m, adamw, in_folder("a"), NULL), HEED_OK);
    heed_scope_end(&scope);
    const heed_generator before = heed_get_generator();
    ck_assert_int_eq(heed_gpt_load(again, in_folder("a")), HEED_OK);
    expect_same_state(again, m);
    const heed_generator after = heed_get_generator();
    ck_assert_mem_eq(&before, &after, sizeof before);
    heed_optimizer_free(adamw);
    heed_module_free(m);
    heed_module_free(again);
}
END_TEST

START_TEST(a_gpt2_file_loads_into_a_model_that_is_there)
{
    struct heed_gpt *m = new_gpt((heed_gpt_config){.untied = true}, 1);
    heed_tensor *weight = heed_gpt_block_at(m, 1)->mlp->c_fc->weight;
    const void *data = weight->data;
    heed_train(m);
    ck_assert_int_eq(heed_gpt_load(m, GPT2_FIXTURE("untied/model.safetensors")), HEED_OK);
    struct heed_gpt *expected = heed_gpt_from_pretrained(GPT2_FIXTURE("untied"));
    expect_same_state(m, expected);
    ck_assert(weight == heed_gpt_block_at(m, 1)->mlp->c_fc->weight && weight->data == data);
    ck_assert(weight->requires_grad && weight->op == NULL && m->module.training);
    heed_module_free(m);
    heed_module_free(expected);
}
END_TEST

void add_gpt_files_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "gpt_files");
    tcase_add_loop_test(tests, transformers_models_give_their_logits, 0, FOLDERS);
    tcase_add_test(tests, nanogpt_models_give_their_logits);
    tcase_add_loop_test(tests, what_is_saved_is_what_transformers_saved, 0, FOLDERS);
    tcase_add_loop_test(tests, the_config_is_as_transformers_writes_it, 0, FOLDERS - 1);
    tcase_add_loop_test(tests, every_model_comes_back_from_a_folder, 0, 2 * VARIANTS);
    tcase_add_loop_test(tests, every_model_comes_back_from_a_file, 0, 2 * VARIANTS);
    tcase_add_test(tests, nanogpts_layout_is_the_state_dict);
    tcase_add_test(tests, a_checkpoint_gives_its_model);
    tcase_add_test(tests, a_gpt2_file_loads_into_a_model_that_is_there);
}
