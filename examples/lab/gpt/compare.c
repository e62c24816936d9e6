/* gpt compare: reads two runs from their reports or logs, and shows their results, different
 * settings, and both losses in one picture. */
#include "examples/lab/gpt/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/figure.h"
#include "examples/lab/common/preflight.h"
#include "examples/lab/common/report_file.h"
#include "examples/lab/common/run_log.h"
#include "examples/lab/gpt/options.h"

enum { NAME = 20, COLUMN = 28 /* widths */, MOST_CURVES = 8, LINES = 22 };

/* A run read from a report or a log. */
typedef struct compared {
    report_file report; /* empty for a log */
    heed_watch *log;    /* NULL for a report */
    const heed_curve *curves;
    int64_t curve_count, step;
} compared;

static void read_run(compared *c, const char *path)
{
    if (path == NULL) {
        heed_fail(HEED_ERR_VALUE, "compare takes two files: reports or logs of gpt train");
    } else if (file_begins(path, report_signature)) {
        report_file_read(&c->report, path);
        c->curves = c->report.curves;
        c->curve_count = c->report.curve_count;
        c->step = c->report.step;
    } else if (access(path, F_OK) == 0 && !file_begins(path, "step,")) {
        heed_fail(HEED_ERR_VALUE,
                  "%s: neither a report from gpt train --report nor a log from --log", path);
    } else {
        c->log = run_log_read("compare", path);
        c->curve_count = heed_watch_curves(c->log, &c->curves);
        c->step = heed_watch_steps(c->log);
    }
}

static const heed_curve *curve_named(const compared *c, const char *name)
{
    return curve_among(c->curves, c->curve_count, name);
}

/* ---- tables ---- */

/* Prints a cell on one line; returns its characters. */
static int put_cell(const char *text)
{
    const size_t length = strlen(text);
    int count = 0;
    for (size_t at = 0, size; at < length; at += size, count++) {
        uint32_t code;
        size = utf8_next(text + at, length - at, &code);
        if (code == '\n' || code == '\t') {
            putchar(' ');
        } else {
            console_put(stdout, text + at, size, true);
        }
    }
    return count;
}

/* A row of the table: a name and two values; the first value is padded. */
static void put_row(const char *name, const char *a, const char *b)
{
    printf("  ");
    int count = put_cell(name);
    printf("%*s", count < NAME ? NAME - count : 1, "");
    count = put_cell(a);
    printf("%*s", count < COLUMN ? COLUMN - count : 1, "");
    put_cell(b);
    printf("\n");
}

static void describe_state(const compared *c, char text[64])
{
    if (c->log == NULL) {
        snprintf(text, 64, "%lld of %lld, %.20s", (long long)c->step, (long long)c->report.steps,
                 c->report.state);
    } else {
        snprintf(text, 64, "%lld", (long long)c->step);
    }
}

/* The mean of the last tenth, which is less noisy than the last value. */
static void describe_end(const heed_curve *c, char text[64])
{
    double sum = 0;
    const int64_t count = c != NULL ? (c->count + 9) / 10 : 0;
    for (int64_t i = 0; i < count; i++) {
        sum += c->y[c->count - 1 - i];
    }
    snprintf(text, 64, count > 0 ? "%.4g" : "-", sum / (double)count);
}

static void describe_lowest(const heed_curve *c, char text[64])
{
    int64_t best = 0;
    for (int64_t i = 0; c != NULL && i < c->count; i++) {
        best = c->y[i] < c->y[best] || !isfinite(c->y[best]) ? i : best;
    }
    if (c != NULL && c->count > 0) {
        snprintf(text, 64, "%.4g at step %.0f", c->y[best], c->x[best]);
    } else {
        snprintf(text, 64, "-");
    }
}

static void put_results(const compared runs[2])
{
    char a[64], b[64];
    describe_state(&runs[0], a);
    describe_state(&runs[1], b);
    put_row("steps", a, b);
    describe_end(curve_named(&runs[0], "loss"), a);
    describe_end(curve_named(&runs[1], "loss"), b);
    put_row("loss, last tenth", a, b);
    describe_lowest(curve_named(&runs[0], "val_loss"), a);
    describe_lowest(curve_named(&runs[1], "val_loss"), b);
    put_row("lowest val_loss", a, b);
}

static const char *setting_of(const report_file *f, const char *name)
{
    for (int64_t i = 0; i < f->setting_count; i++) {
        if (strcmp(f->settings[i].name, name) == 0) {
            return f->settings[i].value;
        }
    }
    return NULL;
}

/* Flags that name outputs, which differ in all runs. */
static bool is_output(const char *name)
{
    static const char *const outputs[] = {"--save",        "--best",   "--log",  "--jsonl",
                                          "--tensorboard", "--report", "--plot", "--logits"};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        if (strcmp(name, outputs[i]) == 0) {
            return true;
        }
    }
    return false;
}

static int put_setting(const char *name, const char *a, const char *b)
{
    if (is_output(name) || (a != NULL && b != NULL && strcmp(a, b) == 0)) {
        return 0;
    }
    put_row(name, a != NULL ? a : "-", b != NULL ? b : "-");
    return 1;
}

static void put_settings(const report_file *first, const report_file *second)
{
    int differences = 0;
    if (first->setting_count == 0 || second->setting_count == 0) {
        printf("\nA log has no settings; compare two reports to see which settings differ.\n");
        return;
    }
    printf("\nsettings that differ\n");
    for (int64_t i = 0; i < first->setting_count; i++) {
        const report_setting *s = &first->settings[i];
        differences += put_setting(s->name, s->value, setting_of(second, s->name));
    }
    for (int64_t i = 0; i < second->setting_count; i++) {
        const report_setting *s = &second->settings[i];
        if (setting_of(first, s->name) == NULL) {
            differences += put_setting(s->name, NULL, s->value);
        }
    }
    if (differences == 0) {
        printf("  none\n");
    }
}

/* ---- the picture ---- */

typedef struct picture {
    heed_curve curves[MOST_CURVES];
    char names[MOST_CURVES][80];
    int count;
} picture;

/* The losses of a run, named "A loss". */
static void add_losses(picture *p, const compared *run, char letter)
{
    for (int64_t i = 0; i < run->curve_count && p->count < MOST_CURVES; i++) {
        const heed_curve *c = &run->curves[i];
        if (c->count > 0 && strstr(c->name, "loss") != NULL) {
            snprintf(p->names[p->count], sizeof p->names[0], "%c %.70s", letter, c->name);
            p->curves[p->count] = *c;
            p->curves[p->count].name = p->names[p->count];
            p->count++;
        }
    }
}

static void draw(const compared runs[2], const char *to)
{
    picture p = {.count = 0};
    figure svg = {.width = 0};
    const heed_plot_options how = {.title = "loss of A and B", .smoothing = 0.9};
    heed_plot_options in_lines = how;
    in_lines.height = LINES;
    add_losses(&p, &runs[0], 'A');
    add_losses(&p, &runs[1], 'B');
    if (to == NULL) {
        putchar('\n');
        heed_plot_text(stdout, p.curves, p.count, in_lines);
        console_drawn();
    } else {
        heed_plot_svg(figure_part(&svg), p.curves, p.count, how);
        figure_end_part(&svg);
        figure_write(&svg, "--to", to);
    }
    figure_free(&svg);
}

/* ---- the command ---- */

int gpt_compare(int argc, char **argv)
{
    gpt_compare_options o = {.first = NULL};
    compared runs[2] = {{.log = NULL}, {.log = NULL}};
    int status = 0;
    if (!gpt_begin(&gpt_compare_flags, &o, argc, argv, &status)) {
        return status;
    }
    const path_use files[] = {{.flag = "--first", .path = o.first},
                              {.flag = "--second", .path = o.second},
                              {.flag = "--to", .path = o.to, .written = true, .device = true}};
    path_check_all(files, 3);
    read_run(&runs[0], o.first);
    if (!heed_error_pending()) {
        read_run(&runs[1], o.second);
    }
    const bool ready = !heed_error_pending();
    if (ready) {
        put_row("", "A", "B");
        put_row("file", o.first, o.second);
        put_results(runs);
        put_settings(&runs[0].report, &runs[1].report);
        draw(runs, o.to);
    }
    status = gpt_end(ready);
    for (int i = 0; i < 2; i++) {
        report_file_free(&runs[i].report);
        heed_watch_free(runs[i].log);
    }
    return status;
}
