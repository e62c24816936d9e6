/* The state of a thread, and its pending error: set by the first failure, read and cleared by the
 * caller.
 *
 * The library never ends the program (heed_die is an optional handler). It prints only one thing,
 * and only once per process: an error that was never read. The exit status is 1 if the thread that
 * ends the program has not read its own pending error, whichever thread's was printed. Even a
 * program without any checks therefore does not fail silently. */
#include "tensor.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the state of a thread ---- */

_Thread_local heed_thread heed_self;
pthread_key_t heed_thread_key;
bool heed_has_thread_key;

heed_thread_rest *heed_rest_of_thread(void)
{
    if (heed_self.rest == NULL && !heed_fails_allocation() &&
        (heed_self.rest = calloc(1, sizeof *heed_self.rest)) != NULL && heed_has_thread_key) {
        pthread_setspecific(heed_thread_key, heed_self.rest);
    }
    return heed_self.rest;
}

bool heed_fails_allocation(void)
{
    if (heed_self.fail_countdown == 0 || --heed_self.fail_countdown > 0) {
        return false;
    }
    heed_self.failures++;
    heed_self.fail_countdown = --heed_self.failures_left > 0;
    return true;
}

/* ---- the pending error ---- */

static heed_error_handler *on_error; /* for all threads; accessed atomically */

heed_status heed_error_pending(void)
{
    return heed_self.error;
}

heed_status heed_error(void)
{
    heed_status status = heed_self.error;
    heed_self.error = HEED_OK;
    heed_self.unread = false;
    return status;
}

const char *heed_error_message(void)
{
    heed_self.unread = false;
    return heed_self.message != NULL ? heed_self.message : "";
}

static void make_pending(heed_status status, const char *format, va_list arguments)
{
    if (heed_self.error != HEED_OK || status == HEED_OK) {
        return; /* the first error is the cause; later ones follow from it */
    }
    heed_self.message = "out of memory";
    if (heed_rest_of_thread() != NULL) {
        char *text = heed_self.rest->message;
        size_t length = 0;
        if (heed_self.derivative != NULL) {
            length = (size_t)snprintf(text, 200, "backward of %.100s: ", heed_self.derivative);
        }
        vsnprintf(text + length, HEED_MOST_OF_A_MESSAGE - length, format, arguments);
        heed_self.message = text;
    }
    heed_self.error = status;
    heed_error_handler *handler = __atomic_load_n(&on_error, __ATOMIC_ACQUIRE);
    if (handler != NULL) {
        const heed_callback outer = heed_callback_begin();
        handler(status, heed_self.message);
        heed_callback_end(outer);
        heed_self.error = status; /* pending, even if the handler has read it */
    } else {
        heed_self.unread = true;
        heed_self.unread_depth = heed_self.depth;
    }
}

heed_status heed_fail(heed_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    make_pending(status, format, arguments);
    va_end(arguments);
    return heed_pass_on();
}

/* The landing (scope.c) releases what the code in between has made. */
void heed_jump(void)
{
    assert(heed_self.door != NULL);
    longjmp(heed_self.door->jump, 1);
}

void heed_raise(heed_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    make_pending(status, format, arguments);
    va_end(arguments);
    heed_jump();
}

/* ---- unread errors ---- */

/* Blocks both signals in this thread, and discards those that this write raised; a pipe whose
 * reader ends while it is written raises one too, although some bytes were written. */
int64_t heed_write(int fd, const void *data, size_t size)
{
    sigset_t both, before, pending;
    sigemptyset(&both);
    sigaddset(&both, SIGPIPE);
    sigaddset(&both, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &both, &before);
    const ssize_t written = write(fd, data, size);
    const int error = errno;
    while (sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGPIPE) == 1 || sigismember(&pending, SIGXFSZ) == 1)) {
        sigwait(&both, &(int){0}); /* does not wait, as a signal is pending */
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

void heed_report_unread(const char *beginning)
{
    static bool reported; /* atomic */
    if (heed_self.unread && !__atomic_exchange_n(&reported, true, __ATOMIC_RELAXED)) {
        char line[HEED_MOST_OF_A_MESSAGE + 100];
        snprintf(line, sizeof line, "heed: %s an error that it never read: %s\n", beginning,
                 heed_self.message);
        heed_write(STDERR_FILENO, line, strlen(line)); /* one write: one line */
    }
}

__attribute__((destructor)) static void report_at_exit(void)
{
    heed_report_unread("this program ended with");
    if (heed_self.unread) {
        fflush(NULL); /* exit would do it later */
        _exit(EXIT_FAILURE);
    }
}

/* ---- handlers ---- */

void heed_on_error(heed_error_handler *handler)
{
    __atomic_store_n(&on_error, handler, __ATOMIC_RELEASE);
}

void heed_die(heed_status status, const char *message)
{
    fprintf(stderr, "%s: %s\n", heed_status_name(status), message);
    exit(EXIT_FAILURE);
}

#define NAME(status) [status] = #status

const char *heed_status_name(heed_status status)
{
    static const char *const names[] = {
        NAME(HEED_OK),
        NAME(HEED_ERR_NULL),
        NAME(HEED_ERR_SHAPE),
        NAME(HEED_ERR_DTYPE),
        NAME(HEED_ERR_DIM),
        NAME(HEED_ERR_INDEX),
        NAME(HEED_ERR_VALUE),
        NAME(HEED_ERR_OVERFLOW),
        NAME(HEED_ERR_MEMORY),
        NAME(HEED_ERR_SCOPE),
        NAME(HEED_ERR_GRAPH),
        NAME(HEED_ERR_VERSION),
        NAME(HEED_ERR_GRADCHECK),
        NAME(HEED_ERR_FILE),
        NAME(HEED_ERR_FORMAT),
        NAME(HEED_ERR_CHECK),
    };
    return (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown status";
}
