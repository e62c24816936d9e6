/* A watch: named values of a training loop, a CSV file, and a terminal. */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../tensor/alloc.h"
#include "../tensor/text.h"
#include "file_io.h"
#include "terminal.h"

enum { NAMES = 64, NAME = 64, ROWS = 1 << 14, LINE = 400, LINES = 10, BAR = 20 };
static const double redraw = 0.1, most_wait = 1, slow_step = 0.01; /* seconds */
static const char function[] = "watch_new";

typedef struct named_value {
    char name[NAME];
    double value; /* the last one; NaN: none */
    int64_t step; /* of the value; 0: none */
} named_value;

/* Text that is not written yet. */
typedef struct buffer {
    int length;
    char text[ROWS];
} buffer;

struct heed_watch {
    heed_watch_options options;
    named_value values[NAMES];
    int count, columns;             /* columns: the first values, once the file has a header */
    int64_t steps, reported;        /* ended; the last one with a line */
    double began, now, drawn, kept; /* seconds; of the last bar, 0: none; of the last flush */
    bool bar, warned, header;       /* warned: of a name without a column */
    int fd, terminal;               /* descriptors; -1: none, or switched off */
    buffer rows, line;
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- output ---- */

/* False: it cannot be written. A non-blocking terminal that is full loses a part of a bar. */
static bool write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        const int64_t written = heed_write(fd, text, length);
        if (written < 0 && errno != EINTR) {
            return errno == EAGAIN;
        }
        text += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

static void put(buffer *b, const char *format, ...) HEED_PRINTF(2, 3);
static void put(buffer *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    b->length += vsnprintf(b->text + b->length, (size_t)(ROWS - b->length), format, arguments);
    va_end(arguments);
}

/* Writes the line to the terminal, after what the program has printed there. */
static void show(heed_watch *w)
{
    if (w->terminal >= 0 && (fflush(w->options.terminal) != 0 ||
                             !write_all(w->terminal, w->line.text, (size_t)w->line.length))) {
        w->terminal = -1;
    }
    w->line.length = 0;
}

void heed_watch_pause(heed_watch *w)
{
    if (w != NULL && w->drawn > 0) {
        put(&w->line, "\r\033[K");
        show(w);
        w->drawn = 0;
    }
}

/* Prints the path of the file, and what `format` says of it. */
#define WARN(w, ...)                                                                               \
    (heed_watch_pause(w), put(&(w)->line, "%s: ", heed_show_path((w)->options.csv).text),          \
     put(&(w)->line, __VA_ARGS__), show(w))

void heed_watch_flush(heed_watch *w)
{
    if (w != NULL && w->fd >= 0 && !write_all(w->fd, w->rows.text, (size_t)w->rows.length)) {
        WARN(w, "cannot write it after step %lld: %s; training continues without it\n",
             (long long)w->steps, strerror(errno));
        close(w->fd);
        w->fd = -1;
    }
    if (w != NULL) {
        w->rows.length = 0;
        w->kept = w->now;
    }
}

/* ---- the CSV file ---- */

/* A row takes less than half of the buffer. Whole numbers are written exactly, others with 9
 * digits, enough for any float. */
static void put_row(heed_watch *w)
{
    HEED_DECIMAL_POINT;
    if (w->rows.length > ROWS / 2) {
        heed_watch_flush(w);
    }
    for (int i = 0; i <= w->count && !w->header; i++) {
        put(&w->rows, i == 0 ? "step" : ",%s", i == 0 ? "" : w->values[i - 1].name);
    }
    w->columns = w->header ? w->columns : w->count;
    put(&w->rows, w->header ? "%lld" : "\n%lld", (long long)w->steps);
    w->header = true;
    for (int i = 0; i < w->columns; i++) {
        const named_value *v = &w->values[i];
        const double x = v->value;
        if (v->step != w->steps || isnan(x)) {
            put(&w->rows, ",");
        } else if (x == floor(x) && fabs(x) < 1e15 && !(x == 0 && signbit(x))) {
            put(&w->rows, ",%lld", (long long)x);
        } else {
            put(&w->rows, ",%.9g", x);
        }
    }
    put(&w->rows, "\n");
    if (w->count > w->columns && !w->warned) {
        WARN(w, "no column for %s: set it before the first step, to NAN if it is not known yet\n",
             w->values[w->columns].name);
        w->warned = true;
    }
}

/* Reads the names in the header and the rows of a resumed run; returns where the next row goes. */
static off_t read_rows(heed_watch *w, FILE *file)
{
    char *line = NULL;
    size_t capacity = 0;
    off_t end = 0;
    int64_t last = 0;
    const int64_t resumed = w->options.resumed;
    while (getline(&line, &capacity, file) > 0 && (resumed > 0 || end == 0)) {
        const bool first = end == 0, whole = strchr(line, '\n') != NULL;
        if (first && strncmp(line, "step,", 5) != 0 && strcmp(line, "step\n") != 0) {
            heed_fail_at(HEED_ERR_VALUE, function, w->options.csv,
                         "not written by a watch, so it is neither continued nor replaced; choose "
                         "another file, or move this one");
            break;
        }
        const int64_t step = strtoll(line, NULL, 10);
        if (!whole || (!first && (step <= last || step > resumed))) {
            break;
        }
        for (char *name = strtok(line, ",\n"); first && resumed > 0 && name != NULL;
             name = strtok(NULL, ",\n")) {
            w->header =
                strcmp(name, "step") == 0 || heed_watch_value(w, name, (double)NAN) == HEED_OK;
        }
        w->columns = w->count;
        last = step;
        end = ftello(file);
    }
    free(line);
    if (last < resumed && !heed_error_pending()) {
        WARN(w, "no rows for steps %lld to %lld, which were taken earlier\n", (long long)last + 1,
             (long long)resumed);
    }
    return resumed > 0 ? end : 0;
}

static void open_csv(heed_watch *w)
{
    const char *path = w->options.csv;
    struct stat about;
    w->fd = heed_open(path, O_WRONLY | O_CREAT | O_APPEND);
    if (w->fd < 0 || fstat(w->fd, &about) != 0) {
        heed_fail_file(function, path, "write it", errno);
    } else if (S_ISREG(about.st_mode) && heed_claim(function, path, w->fd) == HEED_OK) {
        const int fd = heed_open(path, O_RDONLY);
        FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
        const off_t end = file != NULL ? read_rows(w, file) : 0;
        if (file == NULL || (!heed_error_pending() && ftruncate(w->fd, end) != 0)) {
            heed_fail_file(function, path, "continue it", errno);
        }
        if (file != NULL) {
            fclose(file);
        }
    }
}

/* ---- the terminal ---- */

static bool is_shown(const heed_watch *w, const char *name)
{
    const char *const *shown = w->options.shown;
    while (shown != NULL && *shown != NULL && strcmp(*shown, name) != 0) {
        shown++;
    }
    return w->options.shown == NULL || *shown != NULL;
}

/* The step, the remaining time, and the values after step `since`, as far as they fit. */
static void put_line(heed_watch *w, int width, int64_t since)
{
    HEED_DECIMAL_POINT;
    const int64_t steps = w->options.steps, done = w->steps - w->options.resumed;
    const double a_step = (w->now - w->began) / (double)(done > 0 ? done : 1);
    const char *name = w->options.step_name != NULL ? w->options.step_name : "step";
    buffer *line = &w->line;
    put(line, steps > 0 ? "%s %lld/%lld" : "%s %lld", name, (long long)w->steps, (long long)steps);
    if (w->steps < steps) {
        const long long left = (long long)fmin(a_step * (double)(steps - w->steps) + 0.5, 1e9);
        put(line, "  %lld:%02lld:%02lld left", left / 3600, left / 60 % 60, left % 60);
    }
    for (int i = 0; i < w->count; i++) {
        const named_value *v = &w->values[i];
        const double size = fabs(v->value);
        if (v->step > since && is_shown(w, v->name)) {
            const int before = line->length;
            put(line,
                size >= 1e4 && size < 1e9   ? "  %s %.0f"
                : size >= 0.1 && size < 1e4 ? "  %s %.3f"
                                            : "  %s %.3g",
                v->name, v->value);
            line->length = line->length > width ? before : line->length;
        }
    }
}

/* Of a line that stays on one line of the terminal, with space for a typed ^C. */
static int width_of(const heed_watch *w)
{
    const int width = w->bar ? heed_terminal_columns(w->options.terminal, 80) - 3 : LINE;
    return width < LINE ? width : LINE;
}

static void draw_bar(heed_watch *w)
{
    const int64_t steps = w->options.steps, done = steps > 0 ? w->steps * BAR / steps : 0;
    const int width = width_of(w);
    put(&w->line, "\r");
    for (int i = 0; i < BAR && steps > 0 && width > 3 * BAR; i++) {
        put(&w->line, "%s%c", i == 0 ? "[" : "", i < done ? '=' : i == done ? '>' : ' ');
    }
    put(&w->line, w->line.length > 1 ? "] " : "");
    put_line(w, width, 0);
    put(&w->line, "\033[K");
    show(w);
    w->drawn = w->now;
}

static bool is_line_due(const heed_watch *w)
{
    const int64_t step = w->steps, steps = w->options.steps;
    const int64_t every = w->options.every > 0 ? w->options.every : steps == 0 ? 100 : 0;
    return step == steps ||
           (every > 0 ? step % every == 0 : step * LINES / steps != (step - 1) * LINES / steps);
}

static void show_line(heed_watch *w)
{
    put_line(w, width_of(w), w->bar ? 0 : w->reported);
    put(&w->line, "\n");
    show(w);
    w->reported = w->steps;
}

/* ---- a watch ---- */

heed_watch *heed_watch_new(heed_watch_options options)
{
    heed_watch *w = heed_error_pending() ? NULL : heed_alloc_zeroed(sizeof *w);
    if (w == NULL) {
        return NULL;
    }
    w->options = options;
    w->steps = w->reported = options.resumed;
    w->began = w->now = w->kept = seconds();
    w->fd = -1;
    w->terminal = options.terminal != NULL ? fileno(options.terminal) : -1;
    w->bar = w->terminal >= 0 && heed_terminal_is_smart(options.terminal);
    if (options.csv != NULL) {
        open_csv(w);
    }
    if (heed_error_pending()) {
        heed_watch_free(w);
        return NULL;
    }
    return w;
}

static named_value *find(const heed_watch *w, const char *name)
{
    int i = 0;
    while (i < w->count && strcmp(w->values[i].name, name) != 0) {
        i++;
    }
    return (named_value *)&w->values[i]; /* count: there is none */
}

heed_status heed_watch_value(heed_watch *w, const char *name, double value)
{
    if (w == NULL || heed_error_pending()) {
        return heed_error_pending();
    }
    named_value *v = find(w, name);
    if (v == &w->values[w->count]) {
        bool good = *name != '\0' && strlen(name) < NAME && strcmp(name, "step") != 0 &&
                    heed_is_utf8(name) && w->count < NAMES;
        for (const char *c = name; *c != '\0'; c++) {
            good = good && (unsigned char)*c >= ' ' && *c != ',' && *c != '"' && *c != 0x7f;
        }
        if (!good) {
            return heed_fail(HEED_ERR_VALUE, "watch_value: '%s' cannot be a column: %s",
                             heed_show_name(name).text,
                             w->count < NAMES ? "use a short name without commas and quotes"
                                              : "there are 64 already");
        }
        strcpy(v->name, name);
        w->count++;
    }
    v->value = value;
    v->step = isnan(value) && v->step == 0 ? 0 : w->steps + 1;
    return HEED_OK;
}

heed_status heed_watch_step(heed_watch *w)
{
    if (w == NULL || heed_error_pending()) {
        return heed_error_pending();
    }
    const double before = w->now;
    w->now = seconds();
    w->steps++;
    if (w->fd >= 0) {
        put_row(w);
    }
    if (w->now - w->kept >= most_wait || w->now - before >= slow_step) {
        heed_watch_flush(w);
    }
    if (w->bar && w->now - w->drawn >= redraw) {
        draw_bar(w);
    } else if (!w->bar && w->terminal >= 0 && is_line_due(w)) {
        show_line(w);
    }
    return HEED_OK;
}

void heed_watch_free(heed_watch *w)
{
    if (w == NULL) {
        return;
    }
    heed_watch_flush(w);
    heed_watch_pause(w);
    if (w->steps > w->reported) {
        show_line(w);
    }
    if (w->fd >= 0) {
        close(w->fd);
    }
    heed_free(w);
}

int64_t heed_watch_steps(const heed_watch *w)
{
    return w != NULL ? w->steps : 0;
}

double heed_watch_last(const heed_watch *w, const char *name)
{
    const named_value *v = w != NULL ? find(w, name) : NULL;
    return v != NULL && v < &w->values[w->count] && v->step > 0 ? v->value : (double)NAN;
}
