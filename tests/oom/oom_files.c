/* Out of memory in readers and writers of files, and in the examples' tokenizers. */
#include "tests/oom/oom.h"

#include <stdlib.h>
#include <string.h>

#include "examples/lab/gpt/tokenizer.h"
#include "tests/common/files_util.h"

static uint64_t hash_of_state(void *module, uint64_t sum)
{
    const heed_tensor_list list = heed_state_dict(module);
    for (int i = 0; i < list.count; i++) {
        sum = hash_of(list.tensors[i], sum);
    }
    return sum;
}

/* A failed writer leaves no temporary file. Only FEW failures, because each run waits for the disk.
 */
static void starve_files(const char *name, scenario *run, const void *context, int few, int files)
{
    starve(name, run, context, few);
    ck_assert_int_eq(files_in_folder(), files);
}

/* ---- the library's formats ---- */

static uint64_t run_tensors(const void *context)
{
    (void)context;
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    const char *path = in_folder("tensors");
    heed_tensor *tensors[] = {
        heed_rand(HEED_SHAPE(2, 3), HEED_F32),
        heed_transpose(heed_rand(HEED_SHAPE(2, 3), HEED_F64), 0, 1),
        heed_zeros(HEED_SHAPE(4), HEED_BOOL),
    };
    const char *const names[] = {"a.weight", "b", "c"};
    const heed_metadata about[] = {{"text", "\"quoted\"\n"}, {"b", ""}, {NULL, NULL}};
    heed_save_file((heed_tensor_list){3, tensors, names}, path, about);
    heed_safetensors *file = heed_safetensors_open(path);
    uint64_t sum = FNV_BASIS;
    for (int i = 0; i < 3; i++) {
        sum = hash_of(heed_safetensors_tensor(file, names[i]), sum);
    }
    const char *text = heed_safetensors_metadata(file, "text");
    if (text != NULL) {
        sum = fnv(text, strlen(text), sum);
    }
    heed_safetensors_close(file);
    return sum;
}

static uint64_t run_checkpoint(const void *context)
{
    (void)context;
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    const char *path = in_folder("run"), *weights = in_folder("weights");
    const heed_metadata about[] = {{"steps", "1"}, {NULL, NULL}};
    void *model = heed_linear_new(2, 3), *copy = heed_linear_new(2, 3);
    heed_optimizer *adam = heed_adam_new(heed_parameters(model), 0.1);
    heed_optimizer *same = heed_adam_new(heed_parameters(copy), 0.1);
    heed_backward(heed_sum(heed_forward(model, heed_ones(HEED_SHAPE(2), HEED_F32))));
    heed_optimizer_step(adam);
    heed_save_checkpoint(model, adam, path, about);
    heed_load_checkpoint(copy, same, path);
    uint64_t sum = hash_of_state(copy, FNV_BASIS);
    heed_save_state_dict(model, weights, about);
    heed_load_state_dict(copy, weights, .no_strict = true);
    sum = hash_of_state(copy, sum);
    heed_optimizer_free(adam);
    heed_optimizer_free(same);
    heed_module_free(model);
    heed_module_free(copy);
    return sum;
}

START_TEST(files)
{
    starve_files("safetensors", run_tensors, NULL, FEW, 1);
}
END_TEST

START_TEST(checkpoints)
{
    starve_files("checkpoints", run_checkpoint, NULL, FEW, 2);
}
END_TEST

/* ---- parts of the examples ---- */

static const char text[] = "the cat sat on the mat, and that cat sat still\nnext to the hat.\n";

/* Reading, learning, saving, encoding. */
static uint64_t run_tokenizer(const void *context)
{
    const token_level level = *(const token_level *)context;
    uint64_t sum = FNV_BASIS;
    tokenizer t = {.count = 0}, again = {.count = 0};
    text_buffer saved = {.length = 0};
    text_buffer read = text_read(in_folder("text"));
    token_list tokens = {.count = 0};
    if (!heed_error_pending()) {
        t = tokenizer_of_text(level, "it", read.bytes, read.length, 300);
    }
    if (!heed_error_pending()) {
        saved = tokenizer_saved(&t);
    }
    if (!heed_error_pending()) {
        again = tokenizer_of_saved(level, saved.bytes);
    }
    if (!heed_error_pending()) {
        tokens = tokenizer_encode(&again, "it", read.bytes, read.length);
    }
    if (!heed_error_pending()) {
        sum = fnv(tokens.ids, (size_t)tokens.count * sizeof *tokens.ids, sum);
    }
    text_free(&read);
    token_list_free(&tokens);
    text_free(&saved);
    tokenizer_free(&t);
    tokenizer_free(&again);
    return sum;
}

START_TEST(tokenizers)
{
    const token_level level = (token_level)_i;
    write_bytes(in_folder("text"), text, sizeof text - 1);
    starve_files(token_level_name(level), run_tokenizer, &level, MANY, 1);
}
END_TEST

void add_oom_files_cases(Suite *suite)
{
    TCase *tests = oom_case(suite, "files");
    tcase_add_test(tests, files);
    tcase_add_test(tests, checkpoints);
    TCase *parts = oom_case(suite, "tokenizers");
    tcase_add_loop_test(parts, tokenizers, 0, 2);
}
