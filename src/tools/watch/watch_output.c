/* Buffered output of a watch. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "../../tensor/text.h"
#include "../files/file_io.h"
#include "watch_sink.h"

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
    if (o->stream == NULL && o->fd >= 0 && o->process == getpid()) {
        heed_unclaim(o->fd); /* forked children may live on */
    }
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
    HEED_DECIMAL_POINT;
    heed_text text;
    snprintf(text.text, sizeof text.text, format, number);
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
