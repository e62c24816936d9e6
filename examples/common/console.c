/* Standard streams: held open, flushed, and kept free of what could command a terminal. */
#include "examples/common/console.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "examples/common/text.h"
#include "heed.h"

/* They are opened the wrong way round, so that using them still fails. */
void console_hold(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); /* gets the lowest that is free */
        }
    }
}

/* ---- standard output ---- */

static int output_error; /* errno of the first write that failed */

void console_put(FILE *stream, const char *bytes, size_t length, bool terminal)
{
    for (size_t at = 0; at < length;) {
        uint32_t code = 0;
        const int step = utf8_length(bytes + at, length - at, &code);
        const bool control =
            (code < ' ' && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0);
        if (terminal && control) { /* or no UTF-8, which leaves the code 0 */
            fputc('?', stream);
        } else {
            fwrite(bytes + at, 1, step > 0 ? (size_t)step : 1, stream);
        }
        at += step > 0 ? (size_t)step : 1;
    }
}

bool console_flush(void)
{
    errno = 0;
    if (output_error == 0 && (fflush(stdout) != 0 || ferror(stdout))) {
        output_error = errno != 0 ? errno : EIO;
    }
    return output_error == 0;
}

/* ---- the ends ---- */

/* The names of files may hold anything. Which operation lacked memory, and the library's way out, are
 * nothing to those who only use the program. */
int console_complain(const char *program, const char *needs_less, int status)
{
    const bool memory = heed_error() == HEED_ERR_MEMORY;
    const char *message = heed_error_message(), *way_out = memory ? strstr(message, "; ") : NULL;
    const char *lack = memory ? strstr(message, "out of memory") : NULL;
    fprintf(stderr, "%s: ", program);
    for (const char *c = lack != NULL ? lack : message; *c != '\0' && c != way_out; c++) {
        fputc((unsigned char)*c < ' ' || *c == 0x7F ? '?' : *c, stderr);
    }
    if (memory && needs_less != NULL) {
        fprintf(stderr, "; a smaller %s needs less", needs_less);
    }
    fputs(status == 2 ? "; try --help\n" : "\n", stderr);
    return status;
}

int console_finish(const char *program)
{
    if (!console_flush() && output_error != EPIPE) {
        fprintf(stderr, "%s: standard output: %s\n", program, strerror(output_error));
    }
    return output_error == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
