/* The terminal of a watch: a bar that is redrawn in place, or lines. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../plot/terminal.h"
#include "watch_sink.h"

enum {
    MOST_COLUMNS = 200,
    LINE = MOST_COLUMNS + 1,
    SHORTEST_BAR = 8,
    LONGEST_BAR = 32,
    LINES = 10, /* per run */
    CURVE_LINES = 12,
    CURVE_COLUMNS = 40 /* minimum */
};
static const double between = 0.1;       /* seconds between two bars */
static const double between_spikes = 15; /* seconds between two lines about spikes */

typedef struct terminal {
    heed_sink sink;
    FILE *stream;
    bool smart;          /* draws a bar; else lines */
    bool drawn;          /* a bar is on the screen; the cursor is at its end */
    int columns;         /* when it was drawn */
    double shown;        /* time of the last bar; -INFINITY before the first, like the next two */
    double sparse_shown; /* of the last bar drawn early for a sparse value */
    double spike_shown;  /* of the last line printed early for a spike */
    int64_t spikes;      /* so far */
    int64_t reported;    /* the last step with a line */
} terminal;

/* ---- numbers ---- */

static heed_text number(double value)
{
    const double size = fabs(value);
    return heed_number_text(value == 0 || (size >= 0.1 && size < 10000) ? "%.3f" : "%.3g", value);
}

/* "12.3k", "950" */
static heed_text short_number(double value)
{
    return value >= 1e6    ? heed_number_text("%.1fM", value / 1e6)
           : value >= 1000 ? heed_number_text("%.1fk", value / 1000)
           : value >= 10   ? heed_number_text("%.0f", value)
                           : heed_number_text("%.2g", value);
}

/* "4:05", "1:04:05", at most 99:59:59 */
static heed_text duration(double seconds)
{
    const long long all = seconds < 359999 ? (long long)(seconds + 0.5) : 359999;
    heed_text text;
    if (all >= 3600) {
        snprintf(text.text, sizeof text.text, "%lld:%02lld:%02lld", all / 3600, all / 60 % 60,
                 all % 60);
    } else {
        snprintf(text.text, sizeof text.text, "%lld:%02lld", all / 60, all % 60);
    }
    return text;
}

/* Excludes the first step, which includes setup, once there are more. */
static double steps_per_second(const heed_watch *w)
{
    const double done = (double)(w->steps - w->options.resumed);
    const double time = done > 1 ? w->now - w->first : w->now - w->began;
    return time > 0 ? (done > 1 ? done - 1 : done) / time : 0;
}

static bool has_rate(const heed_watch *w)
{
    return w->options.unit != NULL && w->options.per_step > 0;
}

static double rate(const heed_watch *w)
{
    return w->options.per_step * steps_per_second(w);
}

/* "1:05 left", or "" if unknown or at the end. */
static heed_text time_left(const heed_watch *w, bool ended)
{
    heed_text text = {""};
    const double speed = steps_per_second(w);
    if (!ended && w->steps < w->options.steps && speed > 0) {
        text = duration((double)(w->options.steps - w->steps) / speed);
        strcat(text.text, " left");
    }
    return text;
}

static bool is_sparse(const heed_series *s)
{
    return s->step - s->before > 1;
}

static bool has_value(const heed_series *s)
{
    return s->step > s->before;
}

/* ---- lines ---- */

static bool is_spike(const heed_watch *w, const heed_series *s)
{
    return s->z > 0 && heed_series_is_fresh(w, s);
}

static void put_rate(heed_output *out, const heed_watch *w)
{
    const double units = rate(w);
    if (has_rate(w)) {
        heed_output_print(out, "   %s ",
                          heed_number_text(units < 10 ? "%.3g" : "%.0f", units).text);
        heed_output_text(out, w->options.unit);
        heed_output_text(out, "/s");
    }
}

/* Prints the values measured since the last line, each only once; values of an earlier step come
 * with its number. Above a bar, which shows the values, prints only the spikes. */
static void put_line(terminal *t, const heed_watch *w, bool ended)
{
    heed_output *out = &t->sink.out;
    const heed_text left = time_left(w, ended);
    const int digits = snprintf(NULL, 0, "%lld", (long long)w->options.steps);
    heed_output_text(out, w->options.step_name);
    heed_output_print(out, " %*lld", digits > 5 ? digits : 5, (long long)w->steps);
    if (w->options.steps > 0) {
        heed_output_print(out, "/%lld", (long long)w->options.steps);
    }
    for (int i = 0; i < w->count; i++) {
        const heed_series *s = &w->series[i];
        const bool is_due = t->smart ? is_spike(w, s) : has_value(s) && s->step > t->reported;
        if (s->shown && is_due) {
            heed_output_text(out, "   ");
            heed_output_text(out, s->name);
            heed_output_print(out, " %s", number(s->value).text);
            if (s->step < w->steps) {
                heed_output_print(out, " (step %lld)", (long long)s->step);
            }
        }
    }
    if (!t->smart) {
        put_rate(out, w);
        heed_output_print(out, "%s%s", *left.text != '\0' ? "   " : "", left.text);
    }
    for (int i = 0; i < w->count; i++) {
        const heed_series *s = &w->series[i];
        if (is_spike(w, s)) {
            heed_output_print(out, "   ! %s spike, z = %s", s->name,
                              heed_number_text("%.1f", s->z).text);
        }
    }
    heed_output_text(out, "\n");
    t->reported = w->steps;
}

/* 1, 2, 5, 10, 20, 50, ... */
static bool is_round(int64_t step)
{
    while (step % 10 == 0) {
        step /= 10;
    }
    return step == 1 || step == 2 || step == 5;
}

static bool line_due(const heed_watch *w)
{
    const int64_t step = w->steps, steps = w->options.steps;
    if (w->options.every > 0) {
        return step % w->options.every == 0 || step == steps;
    }
    if (steps == 0) {
        return is_round(step);
    }
    return step == steps || floor((double)step * LINES / (double)steps) !=
                                floor((double)(step - 1) * LINES / (double)steps);
}

/* ---- the bar ---- */

/* Appends "  " and a part if the line then has at most `width` characters. A name may take fewer
 * columns than bytes, but not more. */
static void append(char line[LINE], int width, const char *format, ...) HEED_PRINTF(3, 4);

static void append(char line[LINE], int width, const char *format, ...)
{
    char part[LINE];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(part, sizeof part, format, arguments);
    va_end(arguments);
    const int length = (int)strlen(line), gap = length > 0 ? 2 : 0;
    if (size > 0 && length + gap + size <= width) {
        snprintf(line + length, (size_t)(LINE - length), "%*s%s", gap, "", part);
    }
}

static void append_step(char line[LINE], int width, const heed_watch *w, bool bar)
{
    const char *name = w->options.step_name;
    const bool named = !bar && strlen(name) < LINE;
    char total[24] = "";
    int digits = 0;
    if (w->options.steps > 0) {
        digits = snprintf(total, sizeof total, "/%lld", (long long)w->options.steps) - 1;
    }
    append(line, width, "%s%s%*lld%s", named ? name : "", named ? " " : "", digits,
           (long long)w->steps, total);
}

/* The numbers as text. Parts that do not fit are omitted. In order of importance: the remaining
 * time, the step, the first value of every step and the sparse ones, the bar, the others. */
static void put_words(char line[LINE], const terminal *t, const heed_watch *w, int width,
                      bool ended)
{
    bool first = true;
    const bool bar = w->options.steps > 0 && !ended;
    const heed_text left = time_left(w, ended);
    const int whole = width - (*left.text != '\0' ? (int)strlen(left.text) + 2 : 0);
    const int beside_bar = bar ? whole - SHORTEST_BAR - 4 : whole;
    *line = '\0';
    append_step(line, whole, w, bar);
    for (int i = 0; i < w->count; i++) {
        const heed_series *s = &w->series[i];
        if (s->shown && has_value(s)) {
            append(line, first || is_sparse(s) ? whole : beside_bar, "%s %s", s->name,
                   number(s->value).text);
            first = first && is_sparse(s);
        }
    }
    if (t->spikes > 0) {
        append(line, beside_bar, "%lld spike%s", (long long)t->spikes, t->spikes > 1 ? "s" : "");
    }
    if (has_rate(w)) {
        append(line, beside_bar, "%.30s %s/s", short_number(rate(w)).text, w->options.unit);
    }
    append(line, width, "%s", left.text);
}

static void draw_bar(char *bar, const heed_watch *w, int inside)
{
    const double done = (double)w->steps / (double)w->options.steps;
    const int full = done < 1 ? (int)(inside * done) : inside;
    bar[0] = '[';
    for (int i = 0; i < inside; i++) {
        bar[1 + i] = i < full ? '=' : i == full ? '>' : ' ';
    }
    strcpy(bar + 1 + inside, "]");
}

/* The numbers, after a bar if it fits. */
static void make_line(char line[LINE], const terminal *t, const heed_watch *w, bool ended)
{
    char bar[LONGEST_BAR + 3] = "", words[LINE];
    const int most = t->columns < MOST_COLUMNS ? t->columns : MOST_COLUMNS;
    const int width = most - (most > 20 ? 3 : 1); /* leaves space for a typed ^C */
    put_words(words, t, w, width, ended);
    const int space = width - (int)strlen(words) - 4;
    if (space >= SHORTEST_BAR && !ended && w->options.steps > 0) {
        draw_bar(bar, w, space < LONGEST_BAR ? space : LONGEST_BAR);
    }
    *line = '\0';
    append(line, width, "%s", bar);
    append(line, width, "%s", words);
}

/* ---- the screen ---- */

static void clear(terminal *t)
{
    if (t->drawn) {
        heed_output_text(&t->sink.out, "\r\033[J");
    }
    t->drawn = false;
    t->shown = -(double)INFINITY;
}

/* The curve of the loss as text, which the caller frees; NULL if it is not wanted, has no points
 * yet or does not fit. */
static char *make_curve(const terminal *t, heed_watch *w)
{
    char *text = NULL;
    size_t size;
    const heed_curve loss = heed_watch_curve(w, "loss");
    if (!w->options.curve || loss.count < 2 || t->columns < CURVE_COLUMNS ||
        heed_terminal_lines(t->stream, 24) < CURVE_LINES + 2 || heed_error_pending()) {
        return NULL;
    }
    FILE *stream = open_memstream(&text, &size);
    if (stream != NULL) {
        heed_plot_text(stream, &loss, 1,
                       (heed_plot_options){.x_label = w->options.step_name,
                                           .width = t->columns - 1,
                                           .height = CURVE_LINES});
        heed_error(); /* out of memory: no curve this time */
        fclose(stream);
    }
    return text;
}

/* Draws the curve below the line of this length, and returns the cursor to its end. */
static void draw_curve(terminal *t, heed_watch *w, size_t length)
{
    heed_output *out = &t->sink.out;
    char *curve = make_curve(t, w);
    int lines = 0;
    for (const char *line = curve; line != NULL && *line != '\0'; lines++) {
        const size_t end = strcspn(line, "\n");
        heed_output_text(out, "\n");
        heed_output_bytes(out, line, end);
        heed_output_text(out, "\033[K");
        line += line[end] == '\n' ? end + 1 : end;
    }
    heed_output_text(out, "\033[J"); /* an earlier curve, which no longer fits */
    if (lines > 0) {
        heed_output_print(out, "\033[%dA\r\033[%dC", lines, (int)length);
    }
    free(curve);
}

static void draw(terminal *t, heed_watch *w)
{
    char line[LINE];
    const int columns = heed_terminal_columns(t->stream, 80);
    if (columns != t->columns) {
        clear(t); /* resizing moved the old bar */
        t->columns = columns;
    }
    make_line(line, t, w, false);
    heed_output_text(&t->sink.out, "\r");
    heed_output_text(&t->sink.out, line);
    heed_output_text(&t->sink.out, "\033[K");
    if (w->options.curve) {
        draw_curve(t, w, strlen(line));
    }
    t->drawn = true;
    t->shown = w->now;
}

static void terminal_say(heed_sink *sink, const char *line)
{
    clear((terminal *)sink);
    if (line != NULL) {
        heed_output_text(&sink->out, line);
        heed_output_text(&sink->out, "\n");
    }
    heed_output_flush(&sink->out);
}

/* ---- the sink ---- */

static heed_status terminal_open(heed_sink *sink, heed_watch *w)
{
    terminal *t = (terminal *)sink;
    t->stream = w->options.terminal;
    t->smart = heed_terminal_is_smart(t->stream);
    t->shown = t->sparse_shown = t->spike_shown = -(double)INFINITY;
    t->reported = w->steps;
    sink->out.stream = t->stream;
    sink->out.fd = fileno(t->stream);
    return HEED_OK;
}

/* True if the last such event was at least `apart` seconds ago; then records this one. */
static bool is_rare(double *last, double now, double apart)
{
    const bool rare = now - *last >= apart;
    *last = rare ? now : *last;
    return rare;
}

static void terminal_step(heed_sink *sink, heed_watch *w)
{
    terminal *t = (terminal *)sink;
    bool sparse = false, spike = false;
    for (int i = 0; i < w->count; i++) {
        const heed_series *s = &w->series[i];
        if (heed_series_is_fresh(w, s)) {
            sparse |= s->shown && is_sparse(s);
            spike |= is_spike(w, s);
            t->spikes += is_spike(w, s);
        }
    }
    spike = spike && is_rare(&t->spike_shown, w->now, between_spikes);
    if (spike) {
        clear(t);
    }
    if (spike || (!t->smart && line_due(w))) {
        put_line(t, w, false);
    }
    if (t->smart &&
        (w->now - t->shown >= between || (sparse && is_rare(&t->sparse_shown, w->now, between)))) {
        draw(t, w);
    }
    if (sink->out.length > 0) {
        heed_output_flush(&sink->out);
    }
}

/* The last step is always reported. */
static void terminal_close(heed_sink *sink, heed_watch *w)
{
    terminal *t = (terminal *)sink;
    char line[LINE];
    if (w->steps == w->options.resumed) {
        return;
    }
    if (t->smart) {
        clear(t);
        t->columns = heed_terminal_columns(t->stream, 80);
        make_line(line, t, w, true);
        heed_output_text(&sink->out, line);
        heed_output_text(&sink->out, "\n");
        char *curve = make_curve(t, w);
        heed_output_text(&sink->out, curve != NULL ? curve : "");
        free(curve);
    } else if (t->reported != w->steps) {
        put_line(t, w, true);
    }
}

const heed_sink_kind heed_terminal_sink = {.size = sizeof(terminal),
                                           .open = terminal_open,
                                           .step = terminal_step,
                                           .say = terminal_say,
                                           .close = terminal_close};
