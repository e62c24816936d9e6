/* Sinks, to which a watch sends its values (internal). Each kind has its own source file. */
#ifndef HEED_NN_WATCH_SINK_H
#define HEED_NN_WATCH_SINK_H

#include "watch_output.h"
#include "watch_series.h"

/* The first member of each kind's own struct. */
typedef struct heed_sink {
    const struct heed_sink_kind *kind;
    const char *path;
    bool off; /* after a failure */
    heed_output out;
} heed_sink;

/* text and close may be NULL; close is called before the output is closed. */
typedef struct heed_sink_kind {
    size_t size; /* of its struct, which is zeroed */
    heed_status (*open)(heed_sink *sink, heed_watch *w);
    void (*step)(heed_sink *sink, heed_watch *w);
    void (*text)(heed_sink *sink, const heed_watch *w, const char *name, const char *text);
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

/* heed_watch_open_rows: opens the sink's row file, and warns if rows are missing. */
heed_status heed_watch_open_rows(heed_sink *sink, heed_watch *w, const heed_watch_rows *rows);

/* heed_terminal_clear: removes the bar. heed_terminal_say: prints a line above it. */
void heed_terminal_clear(heed_sink *terminal);
void heed_terminal_say(heed_sink *terminal, const char *line);

#endif
