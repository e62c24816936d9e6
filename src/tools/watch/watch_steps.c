/* A watch: its sinks and steps. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../tensor/alloc.h"
#include "../../tensor/text.h"
#include "../files/file_io.h"
#include "watch_sink.h"

/* Rows are buffered for up to most_wait seconds; rows of slow steps are written at once. */
static const double most_wait = 1, slow_step = 0.01;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- sinks ---- */

static heed_sink *open_sink(heed_watch *w, const heed_sink_kind *kind)
{
    heed_sink *sink = heed_alloc_zeroed(kind->size);
    if (sink == NULL) {
        return NULL;
    }
    w->sinks[w->sink_count++] = sink;
    sink->kind = kind;
    sink->out.fd = -1;
    sink->out.process = getpid();
    return kind->open(sink, w) == HEED_OK ? sink : NULL;
}

/* Switches the sink off if it has failed. */
static void check(heed_watch *w, heed_sink *sink)
{
    char reason[100] = "";
    if (sink->off || sink->out.error == 0) {
        return;
    }
    sink->off = true;
    if (strerror_r(sink->out.error, reason, sizeof reason) != 0) {
        snprintf(reason, sizeof reason, "error %d", sink->out.error);
    }
    heed_watch_warn(w, "%s: cannot write it after step %lld: %s; training continues without it",
                    sink == w->terminal ? "the terminal" : heed_show_path(sink->path).text,
                    (long long)w->steps, reason);
}

static void flush(heed_watch *w)
{
    for (int i = 0; i < w->sink_count; i++) {
        heed_output_flush(&w->sinks[i]->out);
        check(w, w->sinks[i]);
    }
    w->flushed = w->now;
}

/* ---- a watch ---- */

/* NULL stays NULL. */
static const char *copy_text(const char *text)
{
    const size_t size = text != NULL ? strlen(text) + 1 : 0;
    char *copy = text != NULL ? heed_alloc(size) : NULL;
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

static const char *const *copy_list(const char *const *list)
{
    size_t count = 0;
    while (list != NULL && list[count] != NULL) {
        count++;
    }
    const char **copy = list != NULL ? heed_alloc_zeroed((count + 1) * sizeof *copy) : NULL;
    for (size_t i = 0; copy != NULL && i < count; i++) {
        copy[i] = copy_text(list[i]);
    }
    return copy;
}

static void copy_options(heed_watch_options *to, const heed_watch_options *from)
{
    *to = *from;
    to->csv = copy_text(from->csv);
    to->jsonl = copy_text(from->jsonl);
    to->tensorboard = copy_text(from->tensorboard);
    to->shown = copy_list(from->shown);
    to->unit = copy_text(from->unit);
    to->step_name = copy_text(from->step_name != NULL ? from->step_name : "step");
}

static void free_options(heed_watch_options *o)
{
    for (const char *const *name = o->shown; name != NULL && *name != NULL; name++) {
        heed_free((void *)*name);
    }
    heed_free((void *)o->shown);
    heed_free((void *)o->csv);
    heed_free((void *)o->jsonl);
    heed_free((void *)o->tensorboard);
    heed_free((void *)o->unit);
    heed_free((void *)o->step_name);
}

/* The terminal comes first, so that the others can warn on it; CSV next, since the header of a
 * continued file names the values. */
static void open_sinks(heed_watch *w)
{
    const heed_watch_options *o = &w->options;
    const struct {
        const heed_sink_kind *kind;
        const void *wanted;
    } all[] = {{&heed_terminal_sink, o->terminal},
               {&heed_csv_sink, o->csv},
               {&heed_jsonl_sink, o->jsonl},
               {&heed_tensorboard_sink, o->tensorboard}};
    for (int i = 0; i < HEED_MOST_SINKS && !heed_error_pending(); i++) {
        if (all[i].wanted != NULL) {
            heed_sink *sink = open_sink(w, all[i].kind);
            w->terminal = i == 0 ? sink : w->terminal;
        }
    }
    for (int i = 0; i < w->sink_count && !heed_error_pending(); i++) {
        if (w->sinks[i]->kind->begin != NULL) {
            w->sinks[i]->kind->begin(w->sinks[i]);
        }
    }
}

static heed_status check_options(const heed_watch_options *o)
{
    if (o->steps < 0 || o->resumed < 0 || o->every < 0 || !(o->per_step >= 0)) {
        heed_fail(HEED_ERR_VALUE,
                  "watch_new: steps %lld, resumed %lld, every %lld and per_step %g must not be "
                  "negative",
                  (long long)o->steps, (long long)o->resumed, (long long)o->every, o->per_step);
    }
    return heed_error_pending();
}

heed_watch *heed_watch_new(heed_watch_options options)
{
    heed_watch *w = check_options(&options) == HEED_OK ? heed_alloc_zeroed(sizeof *w) : NULL;
    if (w == NULL) {
        return NULL;
    }
    copy_options(&w->options, &options);
    w->steps = options.resumed;
    w->began = w->now = w->flushed = seconds();
    open_sinks(w);
    if (heed_error_pending()) {
        heed_watch_free(w);
        return NULL;
    }
    return w;
}

heed_status heed_watch_step(heed_watch *w)
{
    if (w == NULL || heed_error_pending()) {
        return heed_error_pending();
    }
    const double before = w->now;
    w->now = seconds();
    w->first = w->steps == w->options.resumed ? w->now : w->first;
    w->steps++;
    w->next = 0;
    for (int i = 0; i < w->count; i++) {
        if (heed_series_is_fresh(w, &w->series[i])) {
            heed_series_add(&w->series[i]);
        }
    }
    for (int i = 0; i < w->sink_count; i++) {
        heed_sink *sink = w->sinks[i];
        if (!sink->off) {
            heed_output_reserve(&sink->out);
            sink->kind->step(sink, w);
            check(w, sink);
        }
    }
    if (w->now - w->flushed >= most_wait || w->now - before >= slow_step) {
        flush(w);
    }
    return HEED_OK;
}

/* A copy with invalid UTF-8 replaced by U+FFFD, because readers of the files reject it. */
static char *copy_as_utf8(const char *text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    char *copy = heed_alloc(3 * strlen(text) + 1), *to = copy;
    uint32_t code;
    while (to != NULL && *text != '\0') {
        const int size = heed_utf8_read(text, &code), length = size > 0 ? size : 3;
        memcpy(to, size > 0 ? text : replacement, (size_t)length);
        to += length;
        text += size > 0 ? size : 1;
    }
    if (to != NULL) {
        *to = '\0';
    }
    return copy;
}

heed_status heed_watch_text(heed_watch *w, const char *name, const char *text)
{
    if (w == NULL || heed_error_pending()) {
        return heed_error_pending();
    }
    if (name == NULL || text == NULL) {
        return heed_fail(HEED_ERR_NULL, "watch_text: the name or the text is NULL");
    }
    const char *fault = heed_watch_name_fault(name);
    if (fault != NULL) {
        return heed_fail(HEED_ERR_VALUE, "watch_text: %s", fault);
    }
    char *copy = heed_is_utf8(text) ? NULL : copy_as_utf8(text);
    for (int i = 0; i < w->sink_count && !heed_error_pending(); i++) {
        heed_sink *sink = w->sinks[i];
        if (!sink->off && sink->kind->text != NULL) {
            sink->kind->text(sink, w, name, copy != NULL ? copy : text);
            check(w, sink);
        }
    }
    heed_free(copy);
    return heed_error_pending();
}

void heed_watch_pause(heed_watch *w)
{
    if (w != NULL && w->terminal != NULL && !w->terminal->off) {
        w->terminal->kind->say(w->terminal, NULL);
        check(w, w->terminal);
    }
}

void heed_watch_flush(heed_watch *w)
{
    if (w != NULL) {
        flush(w);
    }
}

/* Warns about values that no step has recorded. */
static void warn_of_unused(heed_watch *w)
{
    for (int i = 0; i < w->count; i++) {
        if (w->series[i].step > w->steps) {
            heed_watch_warn(w,
                            "%s: set after the last step, so it is not recorded; call "
                            "heed_watch_value before heed_watch_step",
                            w->series[i].name);
            return;
        }
    }
}

/* The terminal is closed last: it shows the warnings of the others. */
void heed_watch_free(heed_watch *w)
{
    if (w == NULL) {
        return;
    }
    warn_of_unused(w);
    for (int i = w->sink_count - 1; i >= 0; i--) {
        heed_sink *sink = w->sinks[i];
        if (!sink->off && sink->kind->close != NULL) {
            sink->kind->close(sink, w);
        }
        heed_output_close(&sink->out);
        check(w, sink);
        heed_free(sink);
    }
    for (int i = 0; i < w->count; i++) {
        heed_series_free(&w->series[i]);
    }
    heed_free(w->series);
    heed_free(w->curves);
    free_options(&w->options);
    heed_free(w);
}
