/* The record of a run as metadata of a safetensors file, and back. */
#include "examples/gpt/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char format[] = "heed gpt 1";
#define COUNT(...) +1
enum { SETTINGS = 0 GPT_SETTINGS(COUNT), OTHERS = 10 };

/* ---- reading ---- */

static const char *value_of(const heed_safetensors *file, const char *key, bool *good)
{
    const char *text = heed_safetensors_metadata(file, key);
    *good = *good && text != NULL;
    return text != NULL ? text : "";
}

/* What counts bytes or steps: as much as can be added to. */
static int64_t whole_of(const heed_safetensors *file, const char *key, bool *good)
{
    const long long most = INT64_MAX / 2;
    const char *text = value_of(file, key, good);
    char *end = NULL;
    const long long number = strtoll(text, &end, 10);
    *good = *good && end != text && *end == '\0' && number >= 0 && number <= most;
    return number;
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
    r->text_length = whole_of(file, "text_length", good);
    r->text_hash = strtoull(hash, &end, 16);
    *good = *good && end != hash && *end == '\0';
    r->val_loss = real_of(file, "val_loss", good);
    r->best_loss = real_of(file, "best_loss", good);
    *good = *good && !isnan(r->best_loss); /* none would be lower */
    r->best_step = whole_of(file, "best_step", good);
    r->since_best = whole_of(file, "since_best", good);
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

heed_status gpt_record_read(gpt_record *r, const char *flag, const char *path)
{
    bool good = true;
    *r = (gpt_record){.text_length = 0};
    heed_safetensors *file = heed_safetensors_open(path);
    if (file == NULL) {
        return flags_blame(flag, HEED_ERR_VALUE);
    }
    const char *is = heed_safetensors_metadata(file, "format");
    if (is == NULL || strcmp(is, format) != 0) {
        heed_fail(HEED_ERR_VALUE, "%s: %s: gpt train has not written this file", flag, path);
    } else {
        read_record(r, file, &good);
    }
    if (!good && heed_error_pending() != HEED_ERR_MEMORY) {
        heed_error();
        heed_fail(HEED_ERR_VALUE,
                  "%s: %s: damaged: not all that gpt train writes is there, or as it should be",
                  flag, path);
    }
    heed_safetensors_close(file);
    return heed_error_pending();
}

/* ---- writing ---- */

/* Metadata are UTF-8; a path that is not must be typed again. */
static const char *text_path(const gpt_record *r)
{
    const char *path = r->text.bytes != NULL ? r->text.bytes : "";
    return path[utf8_valid(path, strlen(path))] == '\0' ? path : "";
}

heed_status gpt_record_metadata(const gpt_record *r, gpt_metadata_use *use, void *context)
{
    heed_metadata about[SETTINGS + OTHERS];
    flag_value values[SETTINGS];
    char length[24], hash[24], val_loss[40], best_loss[40], best_step[24], since_best[24];
    text_buffer tokens = tokenizer_saved(&r->tokenizer);
    int count = 0;
    for (; count < SETTINGS; count++) {
        values[count] = flags_text(&gpt_settings.flags[count], &r->settings);
        about[count] = (heed_metadata){gpt_settings.flags[count].name, values[count].text};
    }
    snprintf(length, sizeof length, "%lld", (long long)r->text_length);
    snprintf(hash, sizeof hash, "%016" PRIx64, r->text_hash);
    snprintf(val_loss, sizeof val_loss, "%.17g", r->val_loss);
    snprintf(best_loss, sizeof best_loss, "%.17g", r->best_loss);
    snprintf(best_step, sizeof best_step, "%lld", (long long)r->best_step);
    snprintf(since_best, sizeof since_best, "%lld", (long long)r->since_best);
    const heed_metadata others[OTHERS] = {
        {"format", format},
        {"text", text_path(r)},
        {"text_length", length},
        {"text_hash", hash},
        {"tokenizer", tokens.bytes},
        {"val_loss", isnan(r->val_loss) ? "nan" : val_loss}, /* the sign of NAN is any */
        {"best_loss", best_loss},
        {"best_step", best_step},
        {"since_best", since_best},
        {NULL, NULL}};
    memcpy(about + count, others, sizeof others);
    if (!heed_error_pending()) {
        use(context, about);
    }
    text_free(&tokens);
    return heed_error_pending();
}

typedef struct destination {
    void *model;
    heed_optimizer *optimizer;
    const char *path;
} destination;

static heed_status save(void *context, const heed_metadata *metadata)
{
    const destination *to = context;
    return heed_save_checkpoint(to->model, to->optimizer, to->path, metadata);
}

heed_status gpt_record_save(const gpt_record *r, void *model, heed_optimizer *optimizer,
                            const char *flag, const char *path)
{
    destination to = {model, optimizer, path};
    heed_scope scope;
    heed_scope_begin(&scope);
    gpt_record_metadata(r, save, &to);
    heed_scope_end(&scope);
    return flags_blame(flag, HEED_ERR_FILE);
}

void gpt_record_free(gpt_record *r)
{
    tokenizer_free(&r->tokenizer);
    text_free(&r->text);
}
