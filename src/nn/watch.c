/* A watch: named values of a training loop, a CSV file, and a terminal. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "nn.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES = 64, TEXT = 1 << 14 /* more than 64 names and numbers */, BAR = 20 };

typedef struct named_value {
    char name[64];
    double value; /* the last one */
    int64_t step; /* of the value; 0: none */
} named_value;

struct heed_watch {
    heed_watch_new_args args; /* terminal: NULL after an error */
    FILE *csv;                /* or NULL */
    char path[5000];          /* of a regular file: absolute, without symbolic links */
    named_value values[NAMES];
    int count, columns;       /* columns: the first values; -1: the file has no header */
    bool is_regular;          /* the file */
    int64_t steps, reported;  /* ended; the last one with a line */
    double began, now, drawn; /* seconds; of the last bar, 0: none */
    bool bar;
    int length;      /* of the text */
    char text[TEXT]; /* a row or a line */
};

HEED_PRINTF(2, 3)
static void put(heed_watch *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    w->length += vsnprintf(w->text + w->length, (size_t)(TEXT - w->length), format, arguments);
    va_end(arguments);
}

/* False: an error of errno. A non-blocking terminal that is full loses the text. */
static bool write_text(FILE *to, const char *text, int64_t length)
{
    for (int64_t at = 0, written; at < length; at += written < 0 ? 0 : written) {
        written = heed_write(fileno(to), text + at, (size_t)(length - at));
        if (written < 0 && errno != EINTR) {
            return errno == EAGAIN;
        }
    }
    return true;
}

/* Writes the text to the terminal, after what the program has printed there. */
static void show(heed_watch *w)
{
    FILE *terminal = w->args.terminal;
    if (terminal != NULL && (fflush(terminal) != 0 || !write_text(terminal, w->text, w->length))) {
        w->args.terminal = NULL;
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

/* Writes a file with the columns of new names, too, and renames it. False: an error of errno. */
static bool add_columns(heed_watch *w)
{
    char *line = NULL, path[sizeof w->path + 50];
    size_t capacity = 0;
    struct stat old;
    FILE *to = NULL;
    for (int i = 0; to == NULL && (i == 0 || errno == EEXIST); i++) {
        snprintf(path, sizeof path, "%s.tmp.%ld.%d", w->path, (long)getpid(), i);
        to = fopen(path, "w+xe");
    }
    bool good = to != NULL && fstat(fileno(w->csv), &old) == 0 &&
                fchmod(fileno(to), old.st_mode & 0777) == 0;
    rewind(w->csv);
    for (bool is_header = true; good && getline(&line, &capacity, w->csv) > 0; w->length = 0) {
        for (int i = w->columns; i < w->count; i++) {
            put(w, ",%s", is_header ? w->values[i].name : "");
        }
        put(w, "\n");
        good = write_text(to, line, (int64_t)strcspn(line, "\n")) &&
               write_text(to, w->text, w->length);
        is_header = false;
    }
    free(line);
    good = good && !ferror(w->csv) && fsync(fileno(to)) == 0 && rename(path, w->path) == 0;
    if (good) {
        fclose(w->csv);
        w->csv = to;
    } else if (to != NULL) {
        const int error = errno;
        fclose(to);
        unlink(path);
        errno = error;
    }
    w->columns = w->count;
    return good;
}

static void write_row(heed_watch *w)
{
    bool good = w->columns < 0 || !w->is_regular || w->columns == w->count || add_columns(w);
    if (w->columns < 0) {
        put(w, "step");
        for (w->columns = 0; w->columns < w->count; w->columns++) {
            put(w, ",%s", w->values[w->columns].name);
        }
        put(w, "\n");
    }
    put(w, "%lld", (long long)w->steps);
    for (int i = 0; i < w->columns; i++) {
        const named_value *v = &w->values[i];
        char *point = w->text + w->length + 1;
        put(w, v->step == w->steps && !isnan(v->value) ? ",%.9g" : ",", v->value);
        if ((point = strchr(point, ',')) != NULL) { /* of the program's locale */
            *point = '.';
        }
    }
    put(w, "\n");
    good = good && write_text(w->csv, w->text, w->length);
    w->length = 0;
    if (!good) {
        const int error = errno;
        fclose(w->csv);
        w->csv = NULL;
        heed_watch_pause(w);
        put(w, "%s: cannot write step %lld: %s; training continues without it\n",
            heed_show_path(w->args.csv).text, (long long)w->steps, strerror(error));
        show(w);
    }
}

/* Keeps the header and the rows of the steps that were taken before. */
static void open_csv(heed_watch *w, const char *path)
{
    struct stat about;
    char *line = NULL;
    size_t capacity = 0;
    off_t end = 0;
    bool ours = true;
    /* A pipe that this process could read would never tell that its readers have left. */
    w->csv = fopen(path, stat(path, &about) == 0 && !S_ISREG(about.st_mode) ? "a" : "a+");
    w->is_regular = w->csv != NULL && fstat(fileno(w->csv), &about) == 0 && S_ISREG(about.st_mode);
    while (w->is_regular && getline(&line, &capacity, w->csv) > 0) {
        ours = end > 0 || strncmp(line, "step,", 5) == 0 || strcmp(line, "step\n") == 0;
        if (!ours || w->args.resumed == 0 || strchr(line, '\n') == NULL ||
            strtoll(line, NULL, 10) > w->args.resumed /* 0: the header */) {
            break;
        }
        for (char *name = strtok(line, ",\n"); end == 0 && (name = strtok(NULL, ",\n")) != NULL;) {
            heed_watch_value(w, name, (double)NAN);
        }
        w->columns = w->count;
        end = ftello(w->csv);
    }
    free(line);
    if (!ours) {
        heed_fail(HEED_ERR_VALUE, "watch_new: %s: not written by a watch; move it away",
                  heed_show_path(path).text);
    } else if (w->is_regular && about.st_size > 0 && w->args.resumed == 0 && !w->args.replace) {
        heed_fail(HEED_ERR_VALUE,
                  "watch_new: %s: an earlier run wrote it; .replace it, or continue it (.resumed)",
                  heed_show_path(path).text);
    } else if (w->csv == NULL || (w->is_regular && (ftruncate(fileno(w->csv), end) != 0 ||
                                                    realpath(path, w->path) == NULL))) {
        heed_fail(HEED_ERR_FILE, "watch_new: %s: cannot write it: %s", heed_show_path(path).text,
                  strerror(errno));
    }
}

/* ---- the terminal ---- */

bool heed_is_terminal(FILE *stream)
{
    const char *term = getenv("TERM");
    return term != NULL && *term != '\0' && strcmp(term, "dumb") != 0 && isatty(fileno(stream));
}

int heed_terminal_columns(FILE *stream, int otherwise)
{
    const char *set = getenv("COLUMNS");
    long columns = set != NULL ? strtol(set, NULL, 10) : 0;
    struct winsize window;
    if (columns <= 0 && ioctl(fileno(stream), TIOCGWINSZ, &window) == 0) {
        columns = window.ws_col;
    }
    return columns > 10000 ? 10000 : columns > 0 ? (int)columns : otherwise;
}

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
    const heed_watch_new_args *o = &w->args;
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
        if (v->step > (w->bar ? 0 : w->reported) && is_shown(o->shown, v->name)) {
            put(w,
                x >= 1e4 && x < 1e9   ? "  %s %.0f"
                : x >= 0.1 && x < 1e4 ? "  %s %.3f"
                                      : "  %s %.3g",
                v->name, x);
            w->length = w->length > width ? before : w->length;
        }
    }
    put(w, bar ? "\033[K" : "\n");
    show(w);
    w->drawn = bar ? w->now : 0;
    w->reported = bar ? w->reported : w->steps;
}

/* ---- a watch ---- */

heed_watch *(heed_watch_new)(heed_watch_new_args args)
{
    heed_watch *w = heed_error_pending() ? NULL : heed_alloc_zeroed(sizeof *w);
    if (w == NULL) {
        return NULL;
    }
    w->args = args;
    if (args.every <= 0) {
        w->args.every = args.steps > 0 ? (args.steps - 1) / 10 + 1 : 100;
    }
    w->steps = w->reported = args.resumed;
    w->began = 1e-9 * (double)heed_nanoseconds();
    w->columns = -1;
    w->bar = args.terminal != NULL && heed_is_terminal(args.terminal);
    if (args.csv != NULL) {
        open_csv(w, args.csv);
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
    name = name != NULL ? name : "";
    named_value *v = w->values, *end = v + w->count;
    while (v < end && strcmp(v->name, name) != 0) {
        v++;
    }
    if (v == end) {
        const size_t length = strcspn(name, ",\"\r\n\033");
        if (w->count == NAMES || length == 0 || length >= sizeof v->name || name[length] != '\0') {
            return heed_fail(HEED_ERR_VALUE, "watch_value: '%s' is no column's name, or the 65th",
                             heed_show_name(name).text);
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
    w->now = 1e-9 * (double)heed_nanoseconds();
    w->steps++;
    if (w->csv != NULL) {
        write_row(w);
    }
    if (w->bar ? w->now - w->drawn >= 0.1
               : w->steps % w->args.every == 0 || w->steps == w->args.steps) {
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
    if (w->csv != NULL) {
        fclose(w->csv);
    }
    heed_free(w);
}
