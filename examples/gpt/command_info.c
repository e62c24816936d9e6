/* gpt info: what is in a file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "examples/common/console.h"
#include "examples/gpt/commands.h"
#include "examples/gpt/loaded.h"

/* ---- parameters ---- */

static void put_name(const char *name)
{
    console_put(stdout, name, strlen(name), true);
}

/* Names, shapes and counts; a line at the end for all of them. */
static void put_parameters(heed_tensor_list list)
{
    int64_t all = 0;
    int width = 0;
    for (int i = 0; i < list.count; i++) {
        const int length = (int)strlen(list.names[i]);
        width = length > width && length <= 60 ? length : width;
    }
    printf("\nparameters\n");
    for (int i = 0; i < list.count; i++) {
        const heed_tensor *t = list.tensors[i];
        const int length = (int)strlen(list.names[i]);
        printf("  ");
        put_name(list.names[i]);
        printf("%*s  %-14s %10lld\n", length < width ? width - length : 0, "",
               heed_shape_text(t->ndim, t->shape).text, (long long)t->numel);
        all += t->numel;
    }
    printf("  %-*s  %-14s %10lld\n", width, "all", "", (long long)all);
}

static void put_model(struct heed_gpt *m)
{
    heed_module_print(stdout, m);
    put_parameters(heed_parameters(m));
}

/* ---- files of gpt train ---- */

static void put_settings(const gpt_record *r)
{
    printf("\nsettings\n");
    for (int i = 0; i < gpt_settings.count; i++) {
        const flag_row *f = &gpt_settings.flags[i];
        printf("  %-16s ", flags_name(f).text);
        if (f->kind == FLAG_REAL || f->kind == FLAG_ABOVE) {
            double real;
            memcpy(&real, (const char *)&r->settings + f->offset, sizeof real);
            printf("%g\n", real); /* as it was typed */
        } else {
            printf("%s\n", flags_text(f, &r->settings).text);
        }
    }
}

static void put_run(const gpt_record *r, int64_t steps)
{
    const gpt_train_options *s = &r->settings;
    const double tokens = (double)steps * (double)(s->batch * s->accumulate * s->context);
    printf("\nrun\n  text       ");
    put_name(r->text.bytes);
    printf(", %lld bytes\n  tokenizer  %s, %lld tokens\n", (long long)r->text_length,
           token_level_name(r->tokenizer.level), (long long)r->tokenizer.count);
    printf("  steps      %lld of %lld, %.0f tokens learnt\n", (long long)steps, (long long)s->steps,
           tokens);
    if (!isnan(r->val_loss)) {
        printf("  validation loss %.4f; lowest %.4f, after step %lld\n", r->val_loss, r->best_loss,
               (long long)r->best_step);
    }
}

/* The steps that the optimiser in the file has taken. */
static int64_t steps_in(const heed_safetensors *file)
{
    heed_tensor *steps = heed_safetensors_tensor(file, "optimizer.AdamW.steps");
    return steps != NULL ? heed_item_i64(steps) : 0;
}

static void show_run(const heed_safetensors *file, const char *path)
{
    gpt_record record;
    struct heed_gpt *model = NULL;
    if (gpt_record_read(&record, "info", path) == HEED_OK) {
        model = gpt_model_load(&record, "info", path);
    }
    const int64_t steps = model != NULL ? steps_in(file) : 0;
    if (!heed_error_pending()) {
        put_model(model);
        put_settings(&record);
        put_run(&record, steps);
    }
    heed_module_free(model);
    gpt_record_free(&record);
}

/* ---- files of others ---- */

static bool ends_with(const char *name, const char *end)
{
    const size_t length = strlen(name), of_end = strlen(end);
    return length >= of_end && strcmp(name + length - of_end, end) == 0;
}

/* The shapes tell the sizes, but not how many heads there are. */
static void show_other(const heed_safetensors *file, const char *path)
{
    enum { MOST = 1 << 14 }; /* 1000 blocks have some 12 each */
    static heed_tensor *tensors[MOST];
    static const char *names[MOST];
    heed_tensor_list list = {0, tensors, names};
    const heed_tensor *words = NULL, *places = NULL;
    int blocks = 0;
    for (int i = 0; i < heed_safetensors_count(file) && list.count < MOST; i++) {
        const char *name = heed_safetensors_name(file, i);
        heed_tensor *t = heed_safetensors_tensor(file, name);
        if (t == NULL) {
            flags_blame("info", HEED_ERR_VALUE);
            return;
        }
        words = ends_with(name, "wte.weight") && t->ndim == 2 ? t : words;
        places = ends_with(name, "wpe.weight") && t->ndim == 2 ? t : places;
        blocks += ends_with(name, "attn.c_attn.weight");
        names[list.count] = name;
        tensors[list.count++] = t;
    }
    if (words == NULL || blocks == 0) {
        heed_fail(HEED_ERR_VALUE,
                  "info: %s: no GPT: it has no wte.weight, or no attn.c_attn.weight", path);
        return;
    }
    printf("a GPT of %d blocks, %lld wide, with %lld tokens", blocks, (long long)words->shape[1],
           (long long)words->shape[0]);
    if (places != NULL) {
        printf(" and a context of %lld", (long long)places->shape[0]);
    }
    printf("\n");
    put_parameters(list);
}

static void show_file(const char *path)
{
    heed_safetensors *file = heed_safetensors_open(path);
    if (file == NULL) {
        flags_blame("info", HEED_ERR_VALUE);
        return;
    }
    const char *format = heed_safetensors_metadata(file, "format");
    if (format != NULL && strncmp(format, "heed gpt", strlen("heed gpt")) == 0) {
        show_run(file, path);
    } else {
        show_other(file, path);
    }
    heed_safetensors_close(file);
}

static void show_folder(const char *path)
{
    struct heed_gpt *model = heed_gpt_from_pretrained(path);
    flags_blame("info", HEED_ERR_VALUE);
    if (model != NULL) {
        put_model(model);
    }
    heed_module_free(model);
}

int gpt_info(int argc, char **argv)
{
    gpt_info_options o = {.file = NULL};
    int status = 0;
    if (!gpt_begin(&gpt_info_flags, &o, argc, argv, &status)) {
        return status;
    }
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    if (o.file == NULL) {
        heed_fail(HEED_ERR_VALUE, "which FILE?");
    } else if (gpt_is_folder(o.file)) {
        show_folder(o.file);
    } else {
        show_file(o.file);
    }
    heed_scope_end(&scope);
    return gpt_end(false);
}
