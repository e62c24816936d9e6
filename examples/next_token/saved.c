/* Models in files. */
#include "examples/next_token/saved.h"

#include <stdlib.h>
#include <string.h>

#include "examples/common/flags.h"

static const char format[] = "heed next_token 1";
static const char *const tasks[TASKS] = {"toy", "char", "word"};

/* ---- reading ---- */

/* A whole number from 1 to `most`; 0 if it is none. */
static int64_t read_size(const heed_safetensors *file, const char *key, int64_t most)
{
    const char *text = heed_safetensors_metadata(file, key);
    char *end = NULL;
    const int64_t size = text != NULL && *text >= '1' && *text <= '9' ? strtoll(text, &end, 10) : 0;
    return size >= 1 && size <= most && *end == '\0' ? size : 0;
}

static void read_about(saved_model *saved, const heed_safetensors *file, const char *path)
{
    const char *is = heed_safetensors_metadata(file, "format");
    const char *task = heed_safetensors_metadata(file, "task");
    const char *words = heed_safetensors_metadata(file, "vocabulary");
    int i = 0;
    while (i < TASKS && (task == NULL || strcmp(task, tasks[i]) != 0)) {
        i++;
    }
    saved->task = (options_task)i;
    saved->sizes = (model_sizes){.context = read_size(file, "context", 4096),
                                 .d_model = read_size(file, "d_model", 4096),
                                 .heads = (int)read_size(file, "heads", MODEL_MOST_HEADS)};
    if (heed_error_pending()) {
        return;
    }
    if (is == NULL || strcmp(is, format) != 0 || words == NULL || *words == '\0' || i == TASKS ||
        saved->sizes.context == 0 || saved->sizes.d_model == 0 || saved->sizes.heads == 0) {
        heed_fail(HEED_ERR_VALUE, "--load: %s: no model that --save has written", path);
    } else if (text_check("--load: the vocabulary", words, strlen(words))) {
        saved->vocabulary =
            vocabulary_of_list(i == TASK_CHAR ? TEXT_CHAR : TEXT_WORD, i != TASK_TOY, words);
        saved->sizes.words = saved->vocabulary.count;
    }
}

saved_model saved_read(const char *path)
{
    saved_model saved = {.task = TASK_TOY};
    heed_safetensors *file = heed_safetensors_open(path);
    if (file == NULL) {
        flags_blame("--load", HEED_ERR_VALUE);
        return saved;
    }
    read_about(&saved, file, path);
    heed_safetensors_close(file);
    return saved;
}

heed_status saved_load(const char *path, struct token_model *m)
{
    heed_load_state_dict(m, path, (heed_load_options){0});
    return flags_blame("--load", HEED_ERR_VALUE);
}

/* ---- writing ---- */

heed_status saved_write(const char *path, struct token_model *m, options_task task,
                        const vocabulary *v)
{
    char context[24], d_model[24], heads[24];
    text_buffer words = vocabulary_list(v);
    snprintf(context, sizeof context, "%lld", (long long)m->sizes.context);
    snprintf(d_model, sizeof d_model, "%lld", (long long)m->sizes.d_model);
    snprintf(heads, sizeof heads, "%d", m->sizes.heads);
    const heed_metadata about[] = {
        {"format", format}, {"task", tasks[task]},       {"context", context}, {"d_model", d_model},
        {"heads", heads},   {"vocabulary", words.bytes}, {NULL, NULL}};
    heed_save_state_dict(m, path, about);
    text_free(&words);
    return flags_blame("--save", HEED_ERR_FILE);
}

heed_status saved_write_logits(const char *path, struct token_model *m, const int64_t *tokens,
                               int64_t count)
{
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_save_npy(model_forward(m, heed_from_i64(tokens, HEED_SHAPE(count))), path);
    heed_scope_end(&scope);
    return flags_blame("--logits", HEED_ERR_FILE);
}
