/* Checkpoints: creates models from settings, stores the record of a run as metadata of a
 * safetensors file, and loads both. The library stores the tensors. */
#include "examples/lab/gpt/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- models ---- */

struct gpt *gpt_model_new(const gpt_train_options *s, int64_t tokens)
{
    return gpt_new((gpt_config){
        .vocab_size = tokens,
        .block_size = s->context,
        .n_layer = (int)s->n_layer,
        .n_head = (int)s->n_head,
        .n_embd = s->n_embd,
        .dropout = s->dropout,
    });
}

/* Without biases and norms. */
static double count_parameters(const gpt_train_options *s, int64_t tokens)
{
    const double width = (double)s->n_embd;
    return 12 * (double)s->n_layer * width * width + ((double)tokens + (double)s->context) * width;
}

/* ---- reading a record ---- */

static const char format[] = "heed gpt 1";
#define COUNT(...) +1
enum { SETTINGS = 0 GPT_SETTINGS(COUNT), OTHERS = 8 };

static const char *value_of(const heed_safetensors *file, const char *key, bool *good)
{
    const char *text = heed_safetensors_metadata(file, key);
    *good = *good && text != NULL;
    return text != NULL ? text : "";
}

static double real_of(const heed_safetensors *file, const char *key, bool *good)
{
    const char *text = value_of(file, key, good);
    char *end = NULL;
    const double number = strtod(text, &end);
    *good = *good && end != text && *end == '\0';
    return number;
}

static void read_settings(gpt_record *r, const heed_safetensors *file, bool *good)
{
    for (int i = 0; i < gpt_settings.count && *good; i++) {
        const char *name = gpt_settings.flags[i].name;
        const char *text = value_of(file, name, good);
        *good = *good && flags_set(&gpt_settings, &r->settings, name, text) == HEED_OK;
    }
}

static void read_place(gpt_record *r, const heed_safetensors *file, bool *good)
{
    const char *path = value_of(file, "text", good), *hash = value_of(file, "text_hash", good);
    char *end = NULL;
    r->text_hash = strtoull(hash, &end, 16);
    *good = *good && end != hash && *end == '\0';
    r->val_loss = real_of(file, "val_loss", good);
    r->best_loss = real_of(file, "best_loss", good);
    *good = *good && !isnan(r->best_loss); /* no loss compares lower than NaN */
    const double step = real_of(file, "best_step", good);
    *good = *good && step >= 0 && step <= 1e12;
    r->best_step = *good ? (int64_t)step : 0;
    text_append(&r->text, path, strlen(path) + 1);
}

static void read_record(gpt_record *r, const heed_safetensors *file, bool *good)
{
    read_settings(r, file, good);
    read_place(r, file, good);
    const char *tokens = value_of(file, "tokenizer", good);
    if (*good && !heed_error_pending()) {
        r->tokenizer = tokenizer_of_saved((token_level)r->settings.level, tokens);
        *good = !heed_error_pending();
    }
}

/* Compares the settings with the file before a model of these sizes is created. */
static void check_size(const gpt_record *r, const char *flag, const char *path)
{
    struct stat at;
    const double bytes = sizeof(float) * count_parameters(&r->settings, r->tokenizer.count);
    if (stat(path, &at) == 0 && (double)at.st_size < bytes) {
        heed_fail(HEED_ERR_VALUE,
                  "%s: %s: damaged: it has %lld bytes, but a model with its settings has %.0f",
                  flag, path, (long long)at.st_size, bytes);
    }
}

heed_status gpt_record_read(gpt_record *r, const char *flag, const char *path)
{
    bool good = true;
    *r = (gpt_record){.best_step = 0};
    heed_safetensors *file = heed_safetensors_open(path);
    if (file == NULL) {
        return flags_blame(flag, HEED_ERR_VALUE);
    }
    const char *is = heed_safetensors_metadata(file, "format");
    if (is == NULL || strcmp(is, format) != 0) {
        heed_fail(HEED_ERR_VALUE, "%s: %s: not a file written by gpt train", flag, path);
    } else {
        read_record(r, file, &good);
    }
    if (!good && heed_error_pending() != HEED_ERR_MEMORY) {
        heed_error();
        heed_fail(HEED_ERR_VALUE, "%s: %s: damaged: entries of gpt train are missing or invalid",
                  flag, path);
    }
    if (!heed_error_pending()) {
        check_size(r, flag, path);
    }
    heed_safetensors_close(file);
    return heed_error_pending();
}

/* ---- writing a record ---- */

/* Metadata is UTF-8, so a path that is not UTF-8 cannot be stored; --resume then needs --text. */
static const char *text_path(const gpt_record *r)
{
    const char *path = r->text.bytes != NULL ? r->text.bytes : "";
    return path[utf8_valid(path, strlen(path))] == '\0' ? path : "";
}

heed_status gpt_record_save(const gpt_record *r, void *model, heed_optimizer *optimizer,
                            const char *flag, const char *path)
{
    HEED_SCOPE(scope);
    heed_metadata about[SETTINGS + OTHERS];
    flag_value values[SETTINGS];
    char hash[24], val_loss[40], best_loss[40], best_step[24];
    text_buffer tokens = tokenizer_saved(&r->tokenizer);
    int count = 0;
    for (; count < SETTINGS; count++) {
        values[count] = flags_text(&gpt_settings.flags[count], &r->settings);
        about[count] = (heed_metadata){gpt_settings.flags[count].name, values[count].text};
    }
    snprintf(hash, sizeof hash, "%016" PRIx64, r->text_hash);
    snprintf(val_loss, sizeof val_loss, "%.17g", r->val_loss);
    snprintf(best_loss, sizeof best_loss, "%.17g", r->best_loss);
    snprintf(best_step, sizeof best_step, "%lld", (long long)r->best_step);
    const heed_metadata others[OTHERS] = {
        {"format", format},
        {"text", text_path(r)},
        {"text_hash", hash},
        {"tokenizer", tokens.bytes},
        {"val_loss", isnan(r->val_loss) ? "nan" : val_loss}, /* printf may give a NaN a sign */
        {"best_loss", best_loss},
        {"best_step", best_step},
        {NULL, NULL}};
    memcpy(about + count, others, sizeof others);
    if (!heed_error_pending()) {
        heed_save_checkpoint(model, optimizer, path, about);
    }
    text_free(&tokens);
    return flags_blame(flag, HEED_ERR_FILE);
}

void gpt_record_free(gpt_record *r)
{
    tokenizer_free(&r->tokenizer);
    text_free(&r->text);
}

/* ---- models in files ---- */

struct gpt *gpt_model_load(const gpt_record *r, const char *flag, const char *path)
{
    struct gpt *model = gpt_model_new(&r->settings, r->tokenizer.count);
    if (model != NULL) {
        heed_load_checkpoint(model, NULL, path);
        heed_eval(model);
    }
    if (flags_blame(flag, HEED_ERR_VALUE) != HEED_OK) {
        heed_module_free(model);
        return NULL;
    }
    return model;
}

heed_status gpt_load(gpt_loaded *l, const char *flag, const char *path)
{
    *l = (gpt_loaded){.model = NULL};
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    if (path == NULL) {
        return heed_fail(HEED_ERR_VALUE, "no %s FILE: a model saved by gpt train", flag);
    }
    if (gpt_record_read(&l->record, flag, path) == HEED_OK) {
        l->model = gpt_model_load(&l->record, flag, path);
    }
    return heed_error_pending();
}

void gpt_loaded_free(gpt_loaded *l)
{
    heed_module_free(l->model);
    gpt_record_free(&l->record);
    *l = (gpt_loaded){.model = NULL};
}
