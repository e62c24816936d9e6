/* The CSV of a run, and how one is gone on with. */
#include "examples/gpt/log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char header[] = "step,loss,val_loss,lr,grad_norm,tokens_per_second\n";

static heed_status fail(heed_status status, const char *path)
{
    return heed_fail(status, "--log: cannot write %s: %s", path, strerror(errno));
}

/* Where the rows up to a step end; 0: this is no such file. What a killed program has written of a row
 * has no end, and does not count. */
static long end_of_rows(FILE *stream, int64_t resumed, int64_t *last)
{
    char *line = NULL, *end = NULL;
    size_t capacity = 0;
    long place = 0;
    if (getline(&line, &capacity, stream) > 0 && strcmp(line, header) == 0) {
        place = ftell(stream);
    }
    while (place > 0 && getline(&line, &capacity, stream) > 0 && strchr(line, '\n') != NULL) {
        const int64_t step = strtoll(line, &end, 10);
        if (end == line || *end != ',' || step > resumed || step <= *last) {
            break;
        }
        *last = step;
        place = ftell(stream);
    }
    free(line);
    return place;
}

static void go_on(gpt_log *log, int64_t resumed, int64_t *last)
{
    const long end = end_of_rows(log->stream, resumed, last);
    if (end == 0) {
        heed_fail(HEED_ERR_VALUE,
                  "--log: %s has not been written by gpt train, which cannot go on with it; take "
                  "another name",
                  log->path);
    } else if (ftruncate(fileno(log->stream), end) != 0 || fseek(log->stream, end, SEEK_SET) != 0) {
        fail(HEED_ERR_VALUE, log->path);
    }
}

heed_status gpt_log_open(gpt_log *log, const char *path, int64_t resumed, int64_t *last)
{
    struct stat at;
    *last = 0;
    *log = (gpt_log){.path = path};
    const bool old = stat(path, &at) == 0 && S_ISREG(at.st_mode) && at.st_size > 0 && resumed > 0;
    log->stream = fopen(path, old ? "r+" : "w");
    if (log->stream == NULL) {
        return fail(HEED_ERR_VALUE, path);
    }
    if (old) {
        go_on(log, resumed, last);
    } else if (fputs(header, log->stream) < 0 || fflush(log->stream) != 0) {
        fail(HEED_ERR_VALUE, path);
    }
    return heed_error_pending();
}

heed_status gpt_log_row(gpt_log *log, int64_t step, const gpt_step *now, double val_loss,
                        double tokens_per_second)
{
    char measured[32] = "";
    if (log->stream == NULL || heed_error_pending()) {
        return heed_error_pending();
    }
    if (!isnan(val_loss)) {
        snprintf(measured, sizeof measured, "%.9g", val_loss);
    }
    if (fprintf(log->stream, "%lld,%.9g,%s,%.9g,%.9g,%.0f\n", (long long)step, now->loss, measured,
                now->lr, now->grad_norm, tokens_per_second) < 0 ||
        fflush(log->stream) != 0) {
        fail(HEED_ERR_FILE, log->path);
    }
    return heed_error_pending();
}

void gpt_log_close(gpt_log *log)
{
    if (log->stream != NULL) {
        fclose(log->stream);
    }
    *log = (gpt_log){.path = NULL};
}
