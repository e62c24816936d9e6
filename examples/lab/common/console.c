/* Standard streams: keeps them open, flushes them, and replaces bytes that could control a
 * terminal. Also catches the signals that ask the program to end. */
#include "examples/lab/common/console.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "examples/lab/common/text.h"
#include "heed.h"

/* ---- standard streams ---- */

static const char *called = ""; /* argv[0] */

static void reader_left(int number)
{
    (void)number;
    _exit(EXIT_SUCCESS);
}

/* The placeholders are opened in the wrong direction, so that using a closed stream still fails. */
void console_begin(const char *name)
{
    called = name != NULL ? name : "";
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); /* takes the lowest free number */
        }
    }
    signal(SIGPIPE, reader_left);
    signal(SIGXFSZ, SIG_IGN);
}

bool console_version(int argc, char **argv)
{
    const bool wanted = argc > 1 && strcmp(argv[1], "--version") == 0;
    if (wanted) {
        puts(heed_build_info().text);
    }
    return wanted;
}

static int output_error; /* errno of the first write that failed */

void console_put(FILE *stream, const char *bytes, size_t length, bool terminal)
{
    for (size_t at = 0; at < length;) {
        uint32_t code;
        const size_t step = utf8_next(bytes + at, length - at, &code); /* code 0: not UTF-8 */
        const bool control =
            (code < ' ' && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0);
        if (terminal && control) {
            fputc('?', stream);
        } else {
            fwrite(bytes + at, 1, step, stream);
        }
        at += step;
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

/* Control characters are masked, because file names may contain them. */
static void put_error(const char *program)
{
    heed_error();
    fprintf(stderr, "%s: ", program);
    for (const char *c = heed_error_message(); *c != '\0'; c++) {
        fputc((unsigned char)*c < ' ' || *c == 0x7F ? '?' : *c, stderr);
    }
}

int console_complain(const char *program, int status)
{
    put_error(program);
    fputc('\n', stderr);
    return status;
}

int console_misused(const char *program, const char *command)
{
    put_error(program);
    fprintf(stderr, "; try %s%s%s --help\n", called, command != NULL ? " " : "",
            command != NULL ? command : "");
    return 2;
}

void console_drawn(void)
{
    if (ferror(stdout) && heed_error_pending() == HEED_ERR_FILE) {
        output_error = errno;
        heed_error();
    }
}

int console_finish(const char *program)
{
    if (console_flush() || output_error == EPIPE) {
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "%s: standard output: %s\n", program, strerror(output_error));
    return EXIT_FAILURE;
}

/* ---- time ---- */

double console_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- Ctrl-C ---- */

static volatile sig_atomic_t caught;

static void note_signal(int number)
{
    caught = number;
}

void interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = note_signal,
                               .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction old;
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) { /* nohup ignores it */
        sigaction(SIGHUP, &action, NULL);
    }
}

bool interrupted(void)
{
    return caught != 0;
}
