/* The parts of a watch (internal): buffered output, the values of each name, and the sinks to which
 * it sends them. */
#ifndef HEED_TOOLS_WATCH_SINK_H
#define HEED_TOOLS_WATCH_SINK_H

#include <sys/types.h>

#include "watch.h"

/* ---- output: to a file, or to the program's terminal stream (watch_output.c) ----
 *
 * The first error is kept, and everything after it is ignored. Writing raises no signal. Only the
 * process that opened an output writes to it: a forked child has a copy of the buffer, which would
 * otherwise be written twice. */

enum { HEED_OUTPUT_BUFFER = 1 << 14 };

typedef struct heed_output {
    int fd;         /* -1: none */
    FILE *stream;   /* NULL for a file */
    int error;      /* errno of the first failure; 0: none */
    pid_t process;  /* the one that opened it */
    int64_t length; /* bytes in the buffer */
    char buffer[HEED_OUTPUT_BUFFER];
} heed_output;

void heed_output_bytes(heed_output *o, const void *data, size_t size);
void heed_output_text(heed_output *o, const char *text);
void heed_output_print(heed_output *o, const char *format, ...) HEED_PRINTF(2, 3);

/* heed_output_reserve: flushes if the buffer is almost full, so that the next row is written whole:
 * other programs read the file while it grows. heed_output_flush: writes the buffer. */
void heed_output_reserve(heed_output *o);
void heed_output_flush(heed_output *o);
void heed_output_close(heed_output *o);

/* heed_number_text: a number in this printf format, with a decimal point in any locale. */
heed_text heed_number_text(const char *format, double number);

/* heed_output_number: writes whole numbers exactly, others with 9 digits, enough for any float. */
void heed_output_number(heed_output *o, double number);

/* ---- values of one name: a curve of bounded length, and its spikes (watch_values.c) ---- */

typedef struct heed_series {
    const char *name;
    double value;         /* the last one; NaN: none */
    int64_t step, before; /* of the last two values; equal: there is none */
    double z;             /* z-score of the last step's value if it is a spike, else 0 */
    bool shown;           /* on the terminal */
    double *x, *y;        /* HEED_WATCH_POINTS each */
    int64_t count;        /* of points, including the one being filled */
    int64_t per_point, filled, finite;
    struct heed_spikes *spikes; /* NULL: not detected for this name */
} heed_series;

/* heed_series_add: adds s->value to the curve, and sets s->z. */
void heed_series_add(heed_series *s);
void heed_series_free(heed_series *s);

/* ---- sinks: each kind has its own struct, which begins with a heed_sink ---- */

typedef struct heed_sink {
    const struct heed_sink_kind *kind;
    const char *path;
    off_t end; /* of the rows that a file keeps */
    bool off;  /* after a failure */
    heed_output out;
} heed_sink;

/* begin, text, say and close may be NULL. open changes no existing file; begin is called when all
 * sinks are open, close before the output is closed. */
typedef struct heed_sink_kind {
    size_t size; /* of its struct, which is zeroed */
    heed_status (*open)(heed_sink *sink, heed_watch *w);
    heed_status (*begin)(heed_sink *sink);
    void (*step)(heed_sink *sink, heed_watch *w);
    void (*text)(heed_sink *sink, const heed_watch *w, const char *name, const char *text);
    void (*say)(heed_sink *sink, const char *line); /* above the bar; NULL: only removes the bar */
    void (*close)(heed_sink *sink, heed_watch *w);
} heed_sink_kind;

extern const heed_sink_kind heed_terminal_sink, heed_csv_sink, heed_jsonl_sink,
    heed_tensorboard_sink;

enum { HEED_MOST_SINKS = 4 };

struct heed_watch {
    heed_watch_options options; /* the strings are copies */
    heed_series *series;
    int count, capacity;
    int next;            /* the series that the next value probably belongs to */
    heed_curve *curves;  /* one per series */
    int64_t steps;       /* ended */
    double began;        /* clock time in seconds, like the next three */
    double first, now;   /* ends of this run's first and last steps */
    double flushed;      /* time of the last flush */
    heed_sink *terminal; /* also in sinks */
    heed_sink *sinks[HEED_MOST_SINKS];
    int sink_count;
    char warning[400]; /* the first; "": none */
};

/* heed_series_is_fresh: true if measured in the step that has just ended. */
static inline bool heed_series_is_fresh(const heed_watch *w, const heed_series *s)
{
    return s->step == w->steps;
}

/* heed_watch_warn: shows a line on the terminal, and keeps the first one for heed_watch_warning.
 * heed_watch_name_fault: why a name is rejected; NULL if it is valid. */
void heed_watch_warn(heed_watch *w, const char *format, ...) HEED_PRINTF(2, 3);
const char *heed_watch_name_fault(const char *name);

#endif
