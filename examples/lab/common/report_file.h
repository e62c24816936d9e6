/* The data in a report: read back by the run that continues it, and by gpt compare.
 *
 * It is one block of text inside the page, one record per line, with fields separated by tabs:
 *
 *     heed run 1
 *     program    NAME
 *     state      training|finished|interrupted|failed    STEP    STEPS
 *     since      STEP                      the first step with data
 *     unit       NAME                      of the steps, if it is not "step"
 *     setting    NAME    VALUE
 *     module     DEPTH   NAME    KIND      DESCRIPTION
 *     parameter  DEPTH   NAME    SHAPE     COUNT   INDEX    a tied one has the index of the first
 *     buffer     DEPTH   NAME    SHAPE     COUNT
 *     curve      NAME    N       X Y X Y ...       X ...    each point averages N values; spikes
 *     text       STEP    NAME    TEXT
 *     output     TITLE   TEXT
 *     picture    TITLE   SVG
 *     shape      PARAMETERS      LAYERS    HEADS   TOKENS   of the snapshots
 *     tokens     TOKEN   TOKEN ...
 *     snapshot   STEP    norms of the weights by INDEX    of the gradients    ATTENTION
 *
 * In names and texts, backslashes, '<' and control characters are escaped as \\, \n, \t or \u003c,
 * so the block contains no '<' and needs no HTML escapes.
 *
 * ATTENTION: for each layer, head and query, the weights of the keys up to the query, each as two
 * base-64 digits (A-Z a-z 0-9 - _), from 0 to 4095. */
#ifndef HEED_COMMON_REPORT_FILE_H
#define HEED_COMMON_REPORT_FILE_H

#include "examples/lab/common/text.h"
#include "heed.h"

extern const char report_signature[];             /* the beginning of every report */
extern const char report_begins[], report_ends[]; /* the lines around the data */
extern const char report_digits[];

typedef struct report_setting {
    const char *name, *value;
} report_setting;

/* A record kept unchanged: `fields` are those after the step. */
typedef struct report_record {
    int64_t step;
    const char *fields;
} report_record;

/* All strings point into `bytes`. */
typedef struct report_file {
    text_buffer bytes;
    const char *program, *state;
    const char *shape, *tokens; /* the fields of these records; "" if missing */
    int64_t step, steps, since;
    report_setting *settings;
    heed_curve *curves;
    report_record *texts, *snapshots;
    int64_t setting_count, curve_count, text_count, snapshot_count;
    size_t setting_capacity, curve_capacity, text_capacity, snapshot_capacity;
} report_file;

/* file_begins: true if the file can be read and begins with this text of at most 64 bytes.
 * report_file_read: HEED_ERR_VALUE: the file cannot be read, is not a report or is damaged. */
bool file_begins(const char *path, const char *text);
heed_status report_file_read(report_file *f, const char *path);
void report_file_free(report_file *f);

/* curve_among: the curve of that name, or NULL.
 * curve_new: a curve with memory for `count` points and no spikes; count 0 on error.
 * curve_thin: averages neighbouring points until at most `most` are left. */
const heed_curve *curve_among(const heed_curve *curves, int64_t count, const char *name);
heed_curve curve_new(const char *name, int64_t count);
void curve_thin(heed_curve *c, int64_t most);
void curve_free(heed_curve *c);

#endif
