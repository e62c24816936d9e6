/* Buffered output of a watch. */
#include "watch_output.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tensor/print.h"
#include "../files/file_error.h"

static const char function[] = "watch_new"; /* the only function that opens files */

static heed_status fail(const char *path, const char *what)
{
    return heed_fail_file(function, path, what, errno);
}

/* ---- the rows of a resumed run ---- */

/* False if this first line belongs to a different kind of file. */
static bool begins_as(const char *line, size_t length, const char *begins)
{
    const size_t common = strlen(begins) < length ? strlen(begins) : length;
    return memcmp(line, begins, common) == 0;
}

static void fail_foreign(const char *path, int64_t line)
{
    heed_fail_at(HEED_ERR_VALUE, function, path,
                 "line %lld was not written by a watch, so the file cannot be continued or "
                 "replaced; choose another file, or move this one",
                 (long long)line);
}

/* The offset after the last row to keep. */
static off_t end_of_rows(FILE *file, const char *path, int64_t resumed, const heed_watch_rows *rows,
                         int64_t *last)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    off_t end = 0;
    int64_t number = 0, before = 0;
    bool whole = true;
    while (whole && (length = getline(&line, &capacity, file)) > 0) {
        whole = line[length - 1] == '\n';
        bool good = number++ > 0 || begins_as(line, (size_t)length, rows->begins);
        if (whole && good) {
            line[length - 1] = '\0';
            const int64_t step =
                strlen(line) == (size_t)length - 1 ? rows->step_of(rows->context, line) : -1;
            good = number == 1 ? step >= 0 : step > before;
            before = step;
        }
        if (!good) {
            fail_foreign(path, number);
            break;
        }
        if (whole && before <= resumed) {
            end = ftello(file);
            *last = before;
        }
    }
    if (ferror(file)) {
        fail(path, "read it");
    }
    free(line);
    return end;
}

/* A new run replaces the files of earlier ones only. */
static void check_begin(const char *path, const char *begins)
{
    char line[64];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file >= 0 ? read(file, line, strlen(begins)) : 0;
    if (length > 0 && !begins_as(line, (size_t)length, begins)) {
        fail_foreign(path, 1);
    }
    if (file >= 0) {
        close(file);
    }
}

heed_status heed_output_file(heed_output *o, const char *path, int64_t resumed,
                             const heed_watch_rows *rows, int64_t *last)
{
    struct stat about;
    off_t end = 0;
    *last = 0;
    const bool exists = stat(path, &about) == 0, device = exists && !S_ISREG(about.st_mode);
    if (device) {
        *last = resumed;
    } else if (exists && resumed == 0) {
        check_begin(path, rows->begins);
    } else if (exists) {
        FILE *file = fopen(path, "re");
        if (file == NULL) {
            return fail(path, "read it");
        }
        end = end_of_rows(file, path, resumed, rows, last);
        fclose(file);
    }
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    o->process = getpid();
    o->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (o->fd < 0) {
        return fail(path, "write it");
    }
    if (!device && (ftruncate(o->fd, end) != 0 || lseek(o->fd, end, SEEK_SET) != end)) {
        return fail(path, "write it");
    }
    return HEED_OK;
}

heed_status heed_output_create(heed_output *o, const char *path, bool *exists)
{
    o->process = getpid();
    o->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    *exists = o->fd < 0 && errno == EEXIST;
    return o->fd >= 0 ? HEED_OK : *exists ? HEED_ERR_FILE : fail(path, "create it");
}

void heed_output_stream(heed_output *o, FILE *stream)
{
    o->process = getpid();
    o->stream = stream;
    o->fd = fileno(stream);
}

/* ---- writing ---- */

/* A stream without a descriptor is in memory. */
static int64_t write_some(heed_output *o, const char *data, size_t size)
{
    if (o->fd >= 0) {
        return heed_write(o->fd, data, size);
    }
    return fwrite(data, 1, size, o->stream) == size && fflush(o->stream) == 0 ? (int64_t)size : -1;
}

/* If a non-blocking terminal accepts no more at the moment, part of a bar may be dropped. */
static bool may_drop(const heed_output *o)
{
    return o->stream != NULL && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void heed_output_flush(heed_output *o)
{
    if (o->length > 0 && o->error == 0 && o->process == getpid()) {
        if (o->stream != NULL) {
            fflush(o->stream); /* the program's own output comes first */
        }
        for (int64_t at = 0; at < o->length && o->error == 0;) {
            const int64_t written = write_some(o, o->buffer + at, (size_t)(o->length - at));
            if (written >= 0) {
                at += written;
            } else if (may_drop(o)) {
                break;
            } else if (errno != EINTR) {
                o->error = errno != 0 ? errno : EIO;
            }
        }
    }
    o->length = 0;
}

void heed_output_reserve(heed_output *o)
{
    if (o->length > (int64_t)sizeof o->buffer / 4 * 3) {
        heed_output_flush(o);
    }
}

void heed_output_close(heed_output *o)
{
    heed_output_flush(o);
    if (o->stream == NULL && o->fd >= 0 && close(o->fd) != 0 && errno != EINTR && o->error == 0) {
        o->error = errno;
    }
    o->fd = -1;
}

void heed_output_bytes(heed_output *o, const void *data, size_t size)
{
    const char *from = data;
    while (size > 0 && o->error == 0) {
        const size_t space = sizeof o->buffer - (size_t)o->length;
        const size_t part = size < space ? size : space;
        memcpy(o->buffer + o->length, from, part);
        o->length += (int64_t)part;
        from += part;
        size -= part;
        if (o->length == (int64_t)sizeof o->buffer) {
            heed_output_flush(o);
        }
    }
}

void heed_output_text(heed_output *o, const char *text)
{
    heed_output_bytes(o, text, strlen(text));
}

void heed_output_print(heed_output *o, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    heed_output_text(o, text);
}

/* ---- numbers ---- */

heed_text heed_number_text(const char *format, double number)
{
    heed_text text;
    snprintf(text.text, sizeof text.text, format, number);
    if (isfinite(number)) {
        heed_use_point(text.text);
    }
    return text;
}

void heed_output_number(heed_output *o, double number)
{
    const double exact = 1e15;
    if (number == floor(number) && fabs(number) < exact && !(number == 0 && signbit(number))) {
        heed_output_print(o, "%lld", (long long)number);
    } else {
        heed_output_text(o, heed_number_text("%.9g", number).text);
    }
}
