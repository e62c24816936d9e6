/* JSON lines: an object for each step. The first text of a step begins its object. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../files/json.h"
#include "watch_sink.h"

typedef struct jsonl {
    heed_sink sink;
    bool begun; /* the current step's object */
} jsonl;

static const char beginning[] = "{\"step\": ";

static int64_t step_of(void *context, char *row)
{
    const char *number = row + strlen(beginning);
    (void)context;
    if (strncmp(row, beginning, strlen(beginning)) != 0 || row[strlen(row) - 1] != '}') {
        return -1;
    }
    const size_t digits = strspn(number, "0123456789");
    const bool good = digits > 0 && digits < 19 && (number[digits] == ',' || number[digits] == '}');
    return good ? strtoll(number, NULL, 10) : -1;
}

static heed_status jsonl_open(heed_sink *sink, heed_watch *w)
{
    sink->path = w->options.jsonl;
    return heed_watch_open_rows(sink, w, &(heed_watch_rows){beginning, step_of, NULL});
}

static void put_string(heed_output *out, const char *text)
{
    char buffer[7];
    heed_output_text(out, "\"");
    for (; *text != '\0'; text++) {
        const char *escape = heed_json_escape(*text, buffer);
        heed_output_bytes(out, escape != NULL ? escape : text, escape != NULL ? strlen(escape) : 1);
    }
    heed_output_text(out, "\"");
}

static void begin(jsonl *j, int64_t step)
{
    if (!j->begun) {
        heed_output_print(&j->sink.out, "%s%lld", beginning, (long long)step);
        j->begun = true;
    }
}

static void put_key(heed_output *out, const char *name)
{
    heed_output_text(out, ", ");
    put_string(out, name);
    heed_output_text(out, ": ");
}

static void jsonl_step(heed_sink *sink, heed_watch *w)
{
    jsonl *j = (jsonl *)sink;
    heed_output *out = &sink->out;
    begin(j, w->steps);
    for (int i = 0; i < w->count; i++) {
        const heed_series *s = &w->series[i];
        if (heed_series_is_fresh(w, s)) {
            put_key(out, s->name);
            if (isfinite(s->value)) {
                heed_output_number(out, s->value);
            } else {
                heed_output_text(out, isnan(s->value) ? "\"NaN\""
                                      : s->value > 0  ? "\"Infinity\""
                                                      : "\"-Infinity\"");
            }
        }
    }
    heed_output_text(out, "}\n");
    j->begun = false;
}

static void jsonl_text(heed_sink *sink, const heed_watch *w, const char *name, const char *text)
{
    begin((jsonl *)sink, w->steps + 1);
    put_key(&sink->out, name);
    put_string(&sink->out, text);
}

/* Ends the object of a text after the last step. */
static void jsonl_close(heed_sink *sink, heed_watch *w)
{
    (void)w;
    if (((jsonl *)sink)->begun) {
        heed_output_text(&sink->out, "}\n");
    }
}

const heed_sink_kind heed_jsonl_sink = {.size = sizeof(jsonl),
                                        .open = jsonl_open,
                                        .step = jsonl_step,
                                        .text = jsonl_text,
                                        .close = jsonl_close};
