/* gpt plot: draws curves and attention, as text or to an SVG file. The library's heed_plot_... and
 * heed_attention_... do the drawing. */
#include "examples/lab/gpt/plot.h"

#include <stdio.h>
#include <string.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/figure.h"
#include "examples/lab/common/preflight.h"
#include "examples/lab/common/run_log.h"
#include "examples/lab/gpt/checkpoint.h"
#include "examples/lab/gpt/reading.h"
#include "examples/lab/gpt/sample.h"

typedef struct plotter {
    gpt_plot_options options;
    gpt_loaded loaded;
    heed_watch *watch; /* of the log */
    figure figure;
} plotter;

/* ---- curves ---- */

enum { MOST_CURVES = 64 };

/* Columns that share a picture; unlisted columns share the last one. */
static const struct {
    const char *title;
    const char *columns[2];
} pictures[] = {{"loss", {"loss", "val_loss"}},
                {"learning rate", {"lr", ""}},
                {"gradient norm", {"grad_norm", ""}},
                {"tokens per second", {"tokens_per_second", ""}},
                {"other values", {"", ""}}};
enum { PICTURES = sizeof pictures / sizeof *pictures };

static int picture_of(const char *column)
{
    for (int i = 0; i < PICTURES - 1; i++) {
        if (strcmp(column, pictures[i].columns[0]) == 0 ||
            strcmp(column, pictures[i].columns[1]) == 0) {
            return i;
        }
    }
    return PICTURES - 1;
}

static void draw_picture(plotter *p, const char *title, const heed_curve *curves, int count)
{
    const heed_plot_options how = {.title = title, .smoothing = p->options.smoothing};
    if (p->options.to == NULL) {
        heed_plot_text(stdout, curves, count, how);
        putchar('\n');
        console_drawn();
    } else {
        heed_plot_svg(figure_part(&p->figure), curves, count, how);
        figure_end_part(&p->figure);
    }
}

static void draw_curves(plotter *p)
{
    const heed_curve *all;
    const int count = heed_watch_curves(p->watch, &all);
    for (int i = 0; i < PICTURES && !heed_error_pending(); i++) {
        heed_curve some[MOST_CURVES];
        int found = 0;
        for (int j = 0; j < count && found < MOST_CURVES; j++) {
            if (all[j].count > 0 && picture_of(all[j].name) == i) {
                some[found++] = all[j];
            }
        }
        if (found > 0) {
            draw_picture(p, pictures[i].title, some, found);
        }
    }
}

/* ---- attention ---- */

/* weights: of the layer, (heads, T, T). */
static void draw_layer(plotter *p, int layer, heed_tensor *weights, const char *const *labels)
{
    char title[80];
    const long long head = p->options.head;
    snprintf(title, sizeof title,
             head > 0 ? "attention, layer %d, head %lld" : "attention, layer %d", layer + 1, head);
    if (head > 0) {
        weights = heed_select(weights, 0, head - 1);
    }
    const heed_attention_plot_options how = {.title = title, .queries = labels};
    if (p->options.to == NULL) {
        heed_attention_text(stdout, weights, how);
        putchar('\n');
        console_drawn();
    } else {
        heed_attention_svg(figure_part(&p->figure), weights, how);
        figure_end_part(&p->figure);
    }
}

/* Runs the model on the last tokens of the prompt. */
static void draw_attention(plotter *p)
{
    struct heed_gpt *m = p->loaded.model;
    const tokenizer *t = &p->loaded.record.tokenizer;
    gpt_reading reading;
    HEED_SCOPE_NO_GRAD(scope);
    token_list tokens = gpt_prompt(t, p->options.prompt);
    gpt_reading_begin(&reading, m, t, tokens.ids, tokens.count);
    heed_tensor *weights = gpt_reading_attention(&reading);
    const int64_t only = p->options.layer;
    for (int layer = 0; layer < m->config.n_layer && !heed_error_pending(); layer++) {
        if (only == 0 || only == layer + 1) {
            draw_layer(p, layer, heed_select(weights, 0, layer), reading.labels);
        }
    }
    gpt_reading_free(&reading);
    token_list_free(&tokens);
}

/* ---- the command ---- */

static void prepare(plotter *p)
{
    const gpt_plot_options *o = &p->options;
    const path_use files[] = {{.flag = "--load", .path = o->load},
                              {.flag = "--log", .path = o->log},
                              {.flag = "--to", .path = o->to, .written = true, .device = true}};
    path_check_all(files, sizeof files / sizeof *files);
    if (o->log == NULL && o->prompt == NULL) {
        heed_fail(HEED_ERR_VALUE, "nothing to draw without --log FILE or --prompt TEXT");
    }
    if (o->log != NULL) {
        p->watch = run_log_read("--log", o->log);
    }
    if (o->prompt != NULL && gpt_load(&p->loaded, "--load", o->load) == HEED_OK) {
        token_list tokens = gpt_prompt(&p->loaded.record.tokenizer, o->prompt);
        token_list_free(&tokens);
        const heed_gpt_config *config = &p->loaded.model->config;
        if (o->layer > config->n_layer) {
            heed_fail(HEED_ERR_VALUE, "--layer %lld: the model has %lld", (long long)o->layer,
                      (long long)config->n_layer);
        } else if (o->head > config->n_head) {
            heed_fail(HEED_ERR_VALUE, "--head %lld: the model has %lld", (long long)o->head,
                      (long long)config->n_head);
        }
    }
}

int gpt_plot(int argc, char **argv)
{
    plotter p = {.watch = NULL};
    int status = 0;
    if (!gpt_begin(&gpt_plot_flags, &p.options, argc, argv, &status)) {
        return status;
    }
    flags_complete(&gpt_plot_flags, &p.options, 0);
    prepare(&p);
    const bool ready = !heed_error_pending();
    if (ready && p.watch != NULL) {
        draw_curves(&p);
    }
    if (ready && p.loaded.model != NULL && !heed_error_pending()) {
        draw_attention(&p);
    }
    if (ready && p.options.to != NULL) {
        figure_write(&p.figure, "--to", p.options.to);
    }
    status = gpt_end(ready);
    figure_free(&p.figure);
    gpt_loaded_free(&p.loaded);
    heed_watch_free(p.watch);
    return status;
}
