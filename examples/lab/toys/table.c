/* Tables of many runs. */
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

enum { STEPS, LOSS, SCORE, LONGER, BEST, SIMPLE };

/* A value of a result. Runs that did not learn have an infinite number of steps, and those that
 * diverged an infinite loss. */
static double value_of(const toys_result *x, int what)
{
    const bool diverged = x->steps > 0 && !isfinite(x->train_loss);
    return what == STEPS    ? (x->learned_at >= 0 ? (double)x->learned_at : HUGE_VAL)
           : what == LOSS   ? (diverged ? HUGE_VAL : x->test.loss)
           : what == SCORE  ? x->test.score
           : what == LONGER ? x->longer
           : what == BEST   ? x->best
                            : x->simple;
}

typedef struct quartiles {
    int64_t count;
    double low, median, high;
} quartiles;

/* Over the runs of a point that are done. */
static quartiles quartiles_of(const toys_runs *r, int64_t point, int what)
{
    quartiles q = {0, (double)NAN, (double)NAN, (double)NAN};
    double *x = malloc((size_t)(r->count + 1) * sizeof *x);
    if (x == NULL) {
        heed_fail(HEED_ERR_MEMORY, "toys: out of memory");
        return q;
    }
    for (int64_t i = 0; i < r->count; i++) {
        if (r->records[i].point == point && r->records[i].done) {
            x[q.count++] = value_of(&r->records[i].result, what);
        }
    }
    if (q.count > 0) {
        qsort(x, (size_t)q.count, sizeof *x, compare);
        q.low = toys_quantile(x, q.count, 0.25);
        q.median = toys_quantile(x, q.count, 0.5);
        q.high = toys_quantile(x, q.count, 0.75);
    }
    free(x);
    return q;
}

/* The share of the point's runs that learned. */
static double learned(const toys_runs *r, int64_t point)
{
    double all = 0, sum = 0;
    for (int64_t i = 0; i < r->count; i++) {
        const bool counts = r->records[i].point == point && r->records[i].done;
        all += counts;
        sum += counts && r->records[i].result.learned_at >= 0;
    }
    return sum / all;
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

static void put_number(FILE *stream, double x, const char *format)
{
    char text[32];
    snprintf(text, sizeof text, format, x);
    fprintf(stream, " %9s", isfinite(x) ? text : isinf(x) ? "never" : "-");
}

static void put_quartiles(FILE *stream, const quartiles q, const char *format)
{
    put_number(stream, q.median, format);
    put_number(stream, q.low, format);
    put_number(stream, q.high, format);
    fputs("  ", stream);
}

static bool has_longer(const toys_runs *r)
{
    for (int64_t i = 0; i < r->point_count; i++) {
        if (r->points[i].settings.longer > 0) {
            return true;
        }
    }
    return false;
}

static void put_point(FILE *stream, const toys_runs *r, int64_t point, bool longer)
{
    const toys_point *p = &r->points[point];
    fprintf(stream, "%-10s", p->task->name);
    for (int i = 0; i < toys_setting_flags.count; i++) {
        const flag_row *f = &toys_setting_flags.flags[i];
        if (toys_varies(r, f)) {
            fprintf(stream, " %*s", (int)strlen(f->name) > 10 ? (int)strlen(f->name) : 10,
                    flags_rounded(f, &p->settings).text);
        }
    }
    const quartiles steps = quartiles_of(r, point, STEPS);
    if (steps.count == 0) {
        fprintf(stream, " %6d\n", 0);
        return;
    }
    fprintf(stream, " %6lld %7.1f %%  ", (long long)steps.count, 100 * learned(r, point));
    put_quartiles(stream, steps, "%.0f");
    put_quartiles(stream, quartiles_of(r, point, LOSS), "%.4f");
    put_number(stream, quartiles_of(r, point, SCORE).median, "%.4f");
    if (longer) {
        put_number(stream, quartiles_of(r, point, LONGER).median, "%.4f");
    }
    put_number(stream, quartiles_of(r, point, BEST).median, "%.4f");
    put_number(stream, quartiles_of(r, point, SIMPLE).median, "%.4f");
    fputc('\n', stream);
}

void toys_table(FILE *stream, const toys_runs *r)
{
    const bool longer = has_longer(r);
    int width = 10;
    for (int i = 0; i < toys_setting_flags.count; i++) {
        const int name = (int)strlen(toys_setting_flags.flags[i].name);
        width += toys_varies(r, &toys_setting_flags.flags[i]) ? 1 + (name > 10 ? name : 10) : 0;
    }
    fprintf(stream, "%*s %6s %9s  %30s   %30s   %9s%s %9s %9s\n", width, "", "", "",
            "----- steps to learn -----", "-------- test loss -------", "",
            longer ? "          " : "", "loss of", "loss of");
    fprintf(stream, "%-10s", "task");
    for (int i = 0; i < toys_setting_flags.count; i++) {
        const flag_row *f = &toys_setting_flags.flags[i];
        if (toys_varies(r, f)) {
            fprintf(stream, " %10s", f->name);
        }
    }
    fprintf(stream, " %6s %9s   %9s %9s %9s   %9s %9s %9s   %9s%s %9s %9s\n", "runs", "learned",
            "median", "25 %", "75 %", "median", "25 %", "75 %", "score", longer ? "    longer" : "",
            "the best", "simple");
    for (int64_t i = 0; i < r->point_count && !heed_error_pending(); i++) {
        put_point(stream, r, i, longer);
    }
}
