/* A watch: named values of a training loop, a CSV file, and a terminal. */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../tensor/alloc.h"
#include "../tensor/text.h"
#include "terminal.h"

enum { NAMES = 64, TEXT = 1 << 14 /* more than 64 names and numbers */, BAR = 20 };
static const char function[] = "watch_new";

typedef struct named_value {
    heed_text name;
    double value; /* the last one */
    int64_t step; /* of the value; 0: none */
} named_value;

struct heed_watch {
    heed_watch_options options;
    named_value values[NAMES];
    int count, columns;       /* columns: the first values; -1: the file has no header */
    int64_t steps, reported;  /* ended; the last one with a line */
    double began, now, drawn; /* seconds; of the last bar, 0: none */
    bool bar;
    int fd, terminal, length; /* descriptors, -1: none, or switched off; of the text */
    char text[TEXT];          /* a row or a line */
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void put(heed_watch *w, const char *format, ...) HEED_PRINTF(2, 3);
static void put(heed_watch *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    w->length += vsnprintf(w->text + w->length, (size_t)(TEXT - w->length), format, arguments);
    va_end(arguments);
}

/* Writes the text. False: it cannot be written. A non-blocking terminal that is full loses it. */
static bool write_text(heed_watch *w, int fd)
{
    const int length = w->length;
    w->length = 0;
    for (int64_t at = 0, written; at<length; at += written> 0 ? written : 0) {
        written = heed_write(fd, w->text + at, (size_t)(length - at));
        if (written < 0 && errno != EINTR) {
            return errno == EAGAIN;
        }
    }
    return true;
}

/* Writes the text to the terminal, after what the program has printed there. */
static void show(heed_watch *w)
{
    if (w->terminal >= 0 && (fflush(w->options.terminal) != 0 || !write_text(w, w->terminal))) {
        w->terminal = -1;
    }
    w->length = 0;
}

void heed_watch_pause(heed_watch *w)
{
    if (w != NULL && w->drawn > 0) {
        put(w, "\r\033[K");
        show(w);
        w->drawn = 0;
    }
}

/* ---- the CSV file ---- */

static void write_row(heed_watch *w)
{
    HEED_DECIMAL_POINT;
    if (w->columns < 0) {
        put(w, "step");
        for (w->columns = 0; w->columns < w->count; w->columns++) {
            put(w, ",%s", w->values[w->columns].name.text);
        }
        put(w, "\n");
    }
    put(w, "%lld", (long long)w->steps);
    for (int i = 0; i < w->columns; i++) {
        const named_value *v = &w->values[i];
        put(w, v->step == w->steps && !isnan(v->value) ? ",%.9g" : ",", v->value);
    }
    put(w, "\n");
    if (!write_text(w, w->fd)) {
        const int error = errno;
        close(w->fd);
        w->fd = -1;
        heed_watch_pause(w);
        put(w, "%s: cannot write step %lld: %s; training continues without it\n",
            heed_show_path(w->options.csv).text, (long long)w->steps, strerror(error));
        show(w);
    }
}

static void fail_csv(heed_status status, const char *path, const char *what, const char *why)
{
    heed_fail(status, "%s: %s: %s%s", function, heed_show_path(path).text, what, why);
}

/* Keeps the header and the rows of the steps that were taken before. */
static void open_csv(heed_watch *w, const char *path)
{
    struct stat about;
    char *line = NULL;
    size_t capacity = 0;
    off_t end = 0;
    w->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (w->fd < 0 || fstat(w->fd, &about) != 0) {
        fail_csv(HEED_ERR_FILE, path, "cannot write it: ", strerror(errno));
        return;
    }
    if (!S_ISREG(about.st_mode)) {
        return;
    }
    /* flock excludes other threads, too. A file system without locks has other errors. */
    if (flock(w->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        fail_csv(HEED_ERR_FILE, path,
                 "another watch is writing it; choose another file, or end that run", "");
        return;
    }
    FILE *file = fdopen(dup(w->fd), "r");
    while (file != NULL && getline(&line, &capacity, file) > 0) {
        if (end == 0 && strncmp(line, "step,", 5) != 0 && strcmp(line, "step\n") != 0) {
            fail_csv(HEED_ERR_VALUE, path, "not written by a watch; move it away", "");
        }
        if (w->options.resumed == 0 || strchr(line, '\n') == NULL || heed_error_pending() ||
            strtoll(line, NULL, 10) > w->options.resumed /* 0: the header */) {
            break;
        }
        for (char *name = strtok(line, ",\n"); end == 0 && (name = strtok(NULL, ",\n")) != NULL;) {
            heed_watch_value(w, name, (double)NAN);
        }
        w->columns = w->count;
        end = ftello(file);
    }
    if (file == NULL || (!heed_error_pending() && ftruncate(w->fd, end) != 0)) {
        fail_csv(HEED_ERR_FILE, path, "cannot continue it: ", strerror(errno));
    }
    if (file != NULL) {
        fclose(file);
    }
    free(line);
}

/* ---- the terminal ---- */

static bool is_shown(const char *const *shown, const char *name)
{
    while (shown != NULL && *shown != NULL && strcmp(*shown, name) != 0) {
        shown++;
    }
    return shown == NULL || *shown != NULL;
}

/* Draws the bar, or prints a line: the step, the remaining time, and the values that fit. */
static void show_line(heed_watch *w, bool bar)
{
    HEED_DECIMAL_POINT;
    const heed_watch_options *o = &w->options;
    const int64_t steps = o->steps, taken = w->steps - o->resumed;
    /* of one line of the terminal, with space for a typed ^C */
    const int width = w->bar ? heed_terminal_columns(o->terminal, 80) - 3 : TEXT;
    put(w, bar ? "\r" : "");
    if (bar && w->steps <= steps && width > 3 * BAR) {
        put(w, "[%-20.20s] ", &"====================>"[BAR - w->steps * BAR / steps]);
    }
    put(w, steps > 0 ? "%s %lld/%lld" : "%s %lld", o->step_name != NULL ? o->step_name : "step",
        (long long)w->steps, (long long)steps);
    if (w->steps < steps && taken > 0) {
        const double left = (w->now - w->began) / (double)taken * (double)(steps - w->steps);
        const long long rounded = (long long)fmin(left + 0.5, 1e9);
        put(w, "  %lld:%02lld:%02lld left", rounded / 3600, rounded / 60 % 60, rounded % 60);
    }
    for (const named_value *v = w->values; v < w->values + w->count; v++) {
        const double x = v->value;
        const int before = w->length;
        if (v->step > (w->bar ? 0 : w->reported) && is_shown(o->shown, v->name.text)) {
            put(w,
                x >= 1e4 && x < 1e9   ? "  %s %.0f"
                : x >= 0.1 && x < 1e4 ? "  %s %.3f"
                                      : "  %s %.3g",
                v->name.text, x);
            w->length = w->length > width ? before : w->length;
        }
    }
    put(w, bar ? "\033[K" : "\n");
    show(w);
    w->drawn = bar ? w->now : 0;
    w->reported = bar ? w->reported : w->steps;
}

/* ---- a watch ---- */

heed_watch *heed_watch_new(heed_watch_options options)
{
    heed_watch *w = heed_error_pending() ? NULL : heed_alloc_zeroed(sizeof *w);
    if (w == NULL) {
        return NULL;
    }
    w->options = options;
    if (options.every <= 0) {
        w->options.every = options.steps > 0 ? (options.steps + 9) / 10 : 100;
    }
    w->steps = w->reported = options.resumed;
    w->began = seconds();
    w->fd = w->columns = -1;
    w->terminal = options.terminal != NULL ? fileno(options.terminal) : -1;
    w->bar = w->terminal >= 0 && heed_terminal_is_smart(options.terminal);
    if (options.csv != NULL) {
        open_csv(w, options.csv);
    }
    if (heed_error_pending()) {
        heed_watch_free(w);
        return NULL;
    }
    return w;
}

heed_status heed_watch_value(heed_watch *w, const char *name, double value)
{
    if (w == NULL || heed_error_pending()) {
        return heed_error_pending();
    }
    named_value *v = w->values, *end = v + w->count;
    while (v < end && strcmp(v->name.text, name) != 0) {
        v++;
    }
    if (v == end) {
        const heed_text shown = heed_show_name(name);
        if (w->count == NAMES || *name == '\0' || strpbrk(name, ",\"") != NULL ||
            strcmp(shown.text, name) != 0) {
            return heed_fail(HEED_ERR_VALUE, "watch_value: '%s' is no column's name, or the 65th",
                             shown.text);
        }
        v->name = shown;
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
    w->now = seconds();
    w->steps++;
    if (w->fd >= 0) {
        write_row(w);
    }
    if (w->bar ? w->now - w->drawn >= 0.1
               : w->steps % w->options.every == 0 || w->steps == w->options.steps) {
        show_line(w, w->bar);
    }
    return HEED_OK;
}

int64_t heed_watch_steps(const heed_watch *w)
{
    return w != NULL ? w->steps : 0;
}

void heed_watch_free(heed_watch *w)
{
    if (w == NULL) {
        return;
    }
    heed_watch_pause(w);
    if (w->steps > w->reported) {
        show_line(w, false);
    }
    if (w->fd >= 0) {
        close(w->fd);
    }
    heed_free(w);
}
