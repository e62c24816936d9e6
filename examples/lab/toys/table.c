/* The table of many runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/toys/runs.h"

/* ---- quantiles ---- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double toys_quantile(const double *sorted, int64_t count, double q)
{
    const double at = q * (double)(count - 1);
    const int64_t low = (int64_t)floor(at), high = (int64_t)ceil(at);
    if (low == high || isinf(sorted[high])) {
        return sorted[high];
    }
    return sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
}

/* The columns after "learned": quantiles over the runs of a point that are done. */
enum { STEPS, LOSS, SCORE, LONGER, BEST, SIMPLE };
static const struct {
    const char *name, *format;
    int what;
    double q;
} columns[] = {
    {"steps", "%.0f", STEPS, 0.5},    {"25 %", "%.0f", STEPS, 0.25},
    {"75 %", "%.0f", STEPS, 0.75},    {"loss", "%.4f", LOSS, 0.5},
    {"25 %", "%.4f", LOSS, 0.25},     {"75 %", "%.4f", LOSS, 0.75},
    {"score", "%.4f", SCORE, 0.5},    {"longer", "%.4f", LONGER, 0.5},
    {"best loss", "%.4f", BEST, 0.5}, {"simple", "%.4f", SIMPLE, 0.5},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* A value of a result. Runs that did not learn have an infinite number of steps, and those that
 * diverged an infinite loss. */
static double value_of(const toys_result *x, int what)
{
    const bool diverged = x->steps > 0 && !isfinite(x->train_loss);
    const double values[] = {x->learned_at >= 0 ? (double)x->learned_at : HUGE_VAL,
                             diverged ? HUGE_VAL : x->test.loss,
                             x->test.score,
                             x->longer,
                             x->best,
                             x->simple};
    return values[what];
}

/* ---- the table ---- */

bool toys_varies(const toys_runs *r, const flag_row *f)
{
    for (int64_t i = 1; i < r->point_count; i++) {
        if (strcmp(flags_text(f, &r->points[i].settings).text,
                   flags_text(f, &r->points[0].settings).text) != 0) {
            return true;
        }
    }
    return false;
}

/* values: memory for all runs. */
static void put_point(FILE *stream, const toys_runs *r, int64_t point, double *values)
{
    int64_t count = 0, learned = 0;
    fprintf(stream, "%-10s", r->points[point].task->name);
    for (int i = 0; i < toys_setting_flags.count; i++) {
        const flag_row *f = &toys_setting_flags.flags[i];
        if (toys_varies(r, f)) {
            fprintf(stream, " %12s", flags_rounded(f, &r->points[point].settings).text);
        }
    }
    for (int i = 0; i < COLUMNS; i++) {
        char text[32] = "-";
        count = learned = 0;
        for (int64_t j = 0; j < r->count; j++) {
            if (r->records[j].point == point && r->records[j].done) {
                learned += r->records[j].result.learned_at >= 0;
                values[count++] = value_of(&r->records[j].result, columns[i].what);
            }
        }
        if (i == 0) {
            snprintf(text, sizeof text, "%.1f %%", 100 * (double)learned / (double)count);
            fprintf(stream, " %6lld %9s", (long long)count, count > 0 ? text : "-");
        }
        qsort(values, (size_t)count, sizeof *values, compare);
        const double x = count > 0 ? toys_quantile(values, count, columns[i].q) : (double)NAN;
        snprintf(text, sizeof text, columns[i].format, x);
        fprintf(stream, " %9s", isfinite(x) ? text : isinf(x) ? "never" : "-");
    }
    fputc('\n', stream);
}

void toys_table(FILE *stream, const toys_runs *r)
{
    double *values = heed_alloc((size_t)(r->count + 1) * sizeof *values);
    fprintf(stream, "%-10s", "task");
    for (int i = 0; i < toys_setting_flags.count; i++) {
        if (toys_varies(r, &toys_setting_flags.flags[i])) {
            fprintf(stream, " %12s", toys_setting_flags.flags[i].name);
        }
    }
    fprintf(stream, " %6s %9s", "runs", "learned");
    for (int i = 0; i < COLUMNS; i++) {
        fprintf(stream, " %9s", columns[i].name);
    }
    fputc('\n', stream);
    for (int64_t i = 0; i < r->point_count && values != NULL; i++) {
        put_point(stream, r, i, values);
    }
    heed_free(values);
}
