/* GPT files that do not fit, or cannot be read or written: each gives an error, and changes
 * nothing. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/common/gpt_files_util.h"

/* ---- mismatches ---- */

/* Loading must fail with these words and change nothing. */
static void expect_misfit(heed_gpt_config config, const char *path, const char *words)
{
    struct heed_gpt *m = new_gpt(config, 1), *same = new_gpt(config, 1);
    ck_assert_int_eq(heed_gpt_load(m, path), HEED_ERR_VALUE);
    ck_assert_ptr_nonnull(strstr(heed_error_message(), "gpt_load: "));
    expect_error(HEED_ERR_VALUE, words);
    expect_same_state(m, same);
    heed_module_free(m);
    heed_module_free(same);
}

/* Writes the tied fixture without one tensor, and with another under `name`. */
static void write_changed(const char *without, const char *name, heed_tensor *t)
{
    heed_tensor *tensors[64];
    const char *names[64];
    int count = 0;
    heed_safetensors *file = heed_safetensors_open(GPT2_FIXTURE("tied/model.safetensors"));
    for (int i = 0; i < heed_safetensors_count(file); i++) {
        names[count] = heed_safetensors_name(file, i);
        tensors[count] = heed_safetensors_tensor(file, names[count]);
        count += without == NULL || strcmp(names[count], without) != 0;
    }
    if (name != NULL) {
        names[count] = name;
        tensors[count++] = t;
    }
    heed_save_file((heed_tensor_list){count, tensors, names}, in_folder("a"), NULL);
    heed_safetensors_close(file);
    expect_no_error();
}

START_TEST(what_does_not_fit_is_told)
{
    const heed_gpt_config plain = {0};
    heed_tensor *x = heed_ones(HEED_SHAPE(3), HEED_F32);
    write_changed("transformer.h.1.ln_2.bias", NULL, NULL);
    expect_misfit(plain, in_folder("a"),
                  "/a does not fit this GPT: 1 missing: transformer.h.1.ln_2.bias");
    write_changed(NULL, "transformer.h.2.ln_1.bias", x);
    expect_misfit(plain, in_folder("a"), "GPT: 1 unexpected: transformer.h.2.ln_1.bias");
    write_changed("transformer.h.0.mlp.c_fc.weight", "transformer.h.0.mlp.c_fc.weight",
                  heed_ones(HEED_SHAPE(32, 8), HEED_F32));
    expect_misfit(
        plain, in_folder("a"),
        "1 with a different shape or dtype: transformer.h.0.mlp.c_fc.weight is (32, 8) there, "
        "(8, 32) here");
    write_changed("transformer.h.0.attn.c_attn.weight", NULL, NULL);
    expect_misfit(plain, in_folder("a"), "; 1 missing: transformer.h.0.attn.c_attn.weight");
    write_changed("transformer.wte.weight", NULL, NULL);
    expect_misfit(plain, in_folder("a"), "2 missing: transformer.wte.weight, lm_head.weight");
    save_one(in_folder("a"), x);
    expect_misfit(plain, in_folder("a"), "missing: transformer.wte.weight, ");
    expect_misfit(plain, GPT2_FIXTURE("nanogpt.safetensors"),
                  "13 missing: _orig_mod.transformer.h.0.ln_1.bias, ");
    expect_misfit((heed_gpt_config){.no_bias = true}, GPT2_FIXTURE("tied/model.safetensors"),
                  "13 unexpected: transformer.h.0.attn.c_attn.bias, ");
    expect_misfit((heed_gpt_config){.untied = true}, GPT2_FIXTURE("tied/model.safetensors"),
                  "1 missing: lm_head.weight");
    expect_misfit((heed_gpt_config){.sinusoidal = true}, GPT2_FIXTURE("tied/model.safetensors"),
                  "has learned positions, transformer.wpe.weight, but those of this GPT are "
                  "sinusoidal; create it without .sinusoidal");
    expect_misfit(
        plain, GPT2_FIXTURE("untied/model.safetensors"),
        "has different values for transformer.wte.weight and lm_head.weight, which are one tensor "
        "in this GPT; create it with .untied");
}
END_TEST

/* Causal masks are ignored, but not other tensors with a similar suffix. */
START_TEST(masks_are_passed_over)
{
    struct heed_gpt *m = new_gpt((heed_gpt_config){0}, 1);
    heed_tensor *x = heed_ones(HEED_SHAPE(1, 1, 3, 3), HEED_BOOL);
    write_changed(NULL, "transformer.h.1.attn.bias", x);
    ck_assert_int_eq(heed_gpt_load(m, in_folder("a")), HEED_OK);
    write_changed(NULL, "transformer.h.1.attn.masked_bias", x);
    ck_assert_int_eq(heed_gpt_load(m, in_folder("a")), HEED_OK);
    heed_module_free(m);
    write_changed(NULL, "transformer.h.1.crossattn.bias", x);
    expect_misfit((heed_gpt_config){0}, in_folder("a"), "1 unexpected: transformer.h.1.cross");
}
END_TEST

/* A file may contain tied weights under one name, or under both if they are equal. */
START_TEST(tied_weights_may_have_two_names)
{
    heed_tensor *wte = load_one(GPT2_FIXTURE("tied/model.safetensors"), "transformer.wte.weight");
    struct heed_gpt *m = new_gpt((heed_gpt_config){0}, 1);
    write_changed(NULL, "lm_head.weight", wte);
    ck_assert_int_eq(heed_gpt_load(m, in_folder("a")), HEED_OK);
    write_changed("transformer.wte.weight", "lm_head.weight", wte);
    heed_fill_into(m->lm_head->weight, 0);
    ck_assert_int_eq(heed_gpt_load(m, in_folder("a")), HEED_OK);
    expect_same_bits(heed_detach(m->transformer->wte->weight), wte);
    heed_module_free(m);
}
END_TEST

START_TEST(misuse)
{
    struct heed_gpt *m = new_gpt((heed_gpt_config){0}, 1);
    ck_assert_int_eq(heed_gpt_load(NULL, "a"), HEED_ERR_NULL);
    expect_error(HEED_ERR_NULL, "gpt_load: the module is NULL");
    ck_assert_int_eq(heed_gpt_load(m, NULL), HEED_ERR_NULL);
    expect_error(HEED_ERR_NULL, "gpt_load: the path is NULL");
    ck_assert_int_eq(heed_gpt_load(m, in_folder("none")), HEED_ERR_FILE);
    expect_error(HEED_ERR_FILE, "/none: cannot open it: No such file");
    ck_assert_int_eq(heed_gpt_save(NULL, "a", HEED_GPT_LAYOUT_GPT2), HEED_ERR_NULL);
    expect_error(HEED_ERR_NULL, "gpt_save: the module is NULL");
    ck_assert_int_eq(heed_gpt_save(m, NULL, HEED_GPT_LAYOUT_GPT2), HEED_ERR_NULL);
    expect_error(HEED_ERR_NULL, "gpt_save: the path is NULL");
    ck_assert_int_eq(heed_gpt_save(m, in_folder("a"), (heed_gpt_layout)7), HEED_ERR_VALUE);
    expect_error(HEED_ERR_VALUE, "gpt_save: unknown layout 7");
    ck_assert_int_eq(heed_gpt_save_pretrained(NULL, "a"), HEED_ERR_NULL);
    expect_error(HEED_ERR_NULL, "gpt_save_pretrained: the module is NULL");
    ck_assert_int_eq(heed_gpt_save_pretrained(m, NULL), HEED_ERR_NULL);
    expect_error(HEED_ERR_NULL, "gpt_save_pretrained: the folder is NULL");
    ck_assert_int_eq(heed_gpt_save_pretrained(m, in_folder("no/such")), HEED_ERR_FILE);
    expect_error(HEED_ERR_FILE, "/no/such: cannot create this folder: No such file or directory");
    write_bytes(in_folder("file"), "", 0);
    ck_assert_int_eq(heed_gpt_save_pretrained(m, in_folder("file")), HEED_ERR_FILE);
    expect_error(HEED_ERR_FILE, "/file/model.safetensors: cannot find it: Not a directory");
    unlink(in_folder("file"));
    ck_assert_ptr_null(heed_gpt_from_pretrained(""));
    expect_error(HEED_ERR_FILE, "gpt_from_pretrained: : cannot find it: No such file");
    ck_assert_ptr_null(heed_gpt_from_pretrained(NULL));
    expect_error(HEED_ERR_NULL, "gpt_from_pretrained: the folder is NULL");
    ck_assert_ptr_null(heed_gpt_from_pretrained(in_folder("none")));
    expect_error(HEED_ERR_FILE, "/none/config.json: cannot open it: No such file or directory");
    char path[5000] = "";
    memset(path, 'a', sizeof path - 1);
    ck_assert_ptr_null(heed_gpt_from_pretrained(path));
    expect_file_error("aaa: cannot find it", ENAMETOOLONG);
    m->config.activation = heed_exp;
    ck_assert_int_eq(heed_gpt_save_pretrained(m, in_folder("")), HEED_ERR_VALUE);
    expect_error(HEED_ERR_VALUE, "the model's activation has no name in transformers");
    ck_assert_int_eq(files_in_folder(), 0);
    heed_module_free(m);
}
END_TEST

START_TEST(a_folder_is_made)
{
    struct heed_gpt *m = new_gpt((heed_gpt_config){0}, 1);
    const char *folder = in_folder("new");
    ck_assert_int_eq(heed_gpt_save_pretrained(m, folder), HEED_OK);
    struct heed_gpt *again = heed_gpt_from_pretrained(folder);
    expect_same_state(again, m);
    unlink(in_folder("new/config.json"));
    ck_assert_ptr_null(heed_gpt_from_pretrained(folder));
    expect_error(HEED_ERR_FILE, "/new/config.json: cannot open it");
    unlink(in_folder("new/model.safetensors"));
    heed_module_free(m);
    heed_module_free(again);
}
END_TEST

/* ---- memory ---- */

/* Runs `work` with each allocation failing in turn, until it succeeds. */
static void expect_without_memory(heed_status (*work)(struct heed_gpt *m), int least)
{
    struct heed_gpt *m = new_gpt((heed_gpt_config){0}, 1), *same = new_gpt((heed_gpt_config){0}, 1);
    heed_gpt_save_pretrained(m, in_folder(""));
    heed_state_dict(same); /* the lists are allocated once, and kept */
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    int n = 0;
    for (heed_status status = HEED_ERR_MEMORY; status == HEED_ERR_MEMORY; n++) {
        heed_fail_allocation(n);
        status = work(m);
        heed_fail_allocation(-1);
        ck_assert_int_eq(heed_error(), status);
        ck_assert_int_eq(heed_live_tensors(), tensors);
        ck_assert_int_eq(heed_live_bytes(), bytes);
        if (status != HEED_OK) {
            expect_same_state(m, same);
        }
    }
    ck_assert_int_ge(n, least);
    heed_module_free(m);
    heed_module_free(same);
}

static heed_status load_file(struct heed_gpt *m)
{
    return heed_gpt_load(m, GPT2_FIXTURE("tied/model.safetensors"));
}

static heed_status save_folder(struct heed_gpt *m)
{
    return heed_gpt_save_pretrained(m, in_folder(""));
}

static heed_status load_folder(struct heed_gpt *m)
{
    (void)m;
    heed_module_free(heed_gpt_from_pretrained(in_folder("")));
    return heed_error_pending();
}

START_TEST(every_allocation_may_fail)
{
    expect_without_memory(load_file, 20);
    expect_without_memory(save_folder, 5);
    expect_without_memory(load_folder, 100);
}
END_TEST

void add_gpt_misfit_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "misfits");
    tcase_add_test(tests, what_does_not_fit_is_told);
    tcase_add_test(tests, masks_are_passed_over);
    tcase_add_test(tests, tied_weights_may_have_two_names);
    tcase_add_test(tests, misuse);
    tcase_add_test(tests, a_folder_is_made);
    tcase_add_test(tests, every_allocation_may_fail);
}
