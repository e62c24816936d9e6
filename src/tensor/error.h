/* Errors: one pending error per thread, which the caller may read at any later point.
 *
 * The first call that fails leaves an error code and a message pending in its thread. Until that
 * error is read, nothing is computed: functions return NULL for tensors, the error for statuses,
 * NaN for numbers (0 for sizes) and false for flags. So calls can be nested without checks, and one
 * check at the end is enough:
 *
 *     heed_tensor *y = heed_softmax(heed_matmul(a, b), -1);
 *     if (heed_error_pending()) { fputs(heed_error_message(), stderr); heed_error(); }
 *
 * While an error is pending, only these work: reading the error, ending scopes, releasing, freeing.
 *
 * An error that is never read is printed to stderr, on one line and only once per process:
 *
 *     heed: this program ended with an error that it never read: randn: no scope is open ...
 *
 * The line is printed when the program or the thread with the error ends, or earlier, when another
 * scope begins after the scope in which the error occurred has ended. An error is unread if it is
 * still pending, no handler was set when it occurred, and neither heed_error nor heed_error_message
 * has been called since; calling heed_error_pending does not count as reading. The exit status does
 * not change. Programs that end through _exit, abort or a signal print nothing.
 *
 * In a debugger, `break heed_fail` stops where an error occurs.
 */
#ifndef HEED_TENSOR_ERROR_H
#define HEED_TENSOR_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Public headers declare their functions between HEED_BEGIN_DECLS and HEED_END_DECLS: with C
 * linkage in C++, and exported by the shared library, in which everything else is hidden. */
#define HEED_EXPORT_BEGIN _Pragma("GCC visibility push(default)")
#define HEED_EXPORT_END   _Pragma("GCC visibility pop")
#ifdef __cplusplus
#define HEED_BEGIN_DECLS                                                                           \
    HEED_EXPORT_BEGIN extern "C"                                                                   \
    {
#define HEED_END_DECLS                                                                             \
    }                                                                                              \
    HEED_EXPORT_END
#else
#define HEED_BEGIN_DECLS HEED_EXPORT_BEGIN
#define HEED_END_DECLS   HEED_EXPORT_END
#endif

/* HEED_PRINTF(text, first): declares that argument number `text` is a printf format and that the
 * values it prints begin with argument number `first`, so that compilers check them. */
#define HEED_PRINTF(text, first) __attribute__((format(printf, text, first)))

HEED_BEGIN_DECLS

/* The kinds of errors. Each function lists the ones that it can cause. HEED_OK means no error. */
typedef enum heed_status {
    HEED_OK = 0,
    HEED_ERR_NULL,      /* NULL for a required argument */
    HEED_ERR_SHAPE,     /* incompatible shapes, or too many dims */
    HEED_ERR_DTYPE,     /* the operation does not support these dtypes */
    HEED_ERR_DIM,       /* a dim outside [-ndim, ndim), or given twice */
    HEED_ERR_INDEX,     /* an index, token id or class outside its range */
    HEED_ERR_VALUE,     /* another argument outside its range */
    HEED_ERR_OVERFLOW,  /* the product of the sizes overflows */
    HEED_ERR_MEMORY,    /* out of memory */
    HEED_ERR_SCOPE,     /* no open scope, a scope ended out of order, a release without a retain */
    HEED_ERR_GRAPH,     /* backward without a graph, or through a graph already used */
    HEED_ERR_VERSION,   /* a value that backward needs was changed in place */
    HEED_ERR_GRADCHECK, /* an analytic gradient differs from the numeric one */
    HEED_ERR_FILE,      /* the system failed to read or write a file */
    HEED_ERR_FORMAT,    /* a malformed file */
    HEED_ERR_ANOMALY,   /* anomaly mode: a NaN or infinity */
    HEED_ERR_CHECK,     /* attention_check: this is not attention */
} heed_status;

/* heed_error_pending: the error pending in this thread, or HEED_OK, which is 0. It stays pending
 * and unread. */
heed_status heed_error_pending(void);

/* heed_error: reads and clears the pending error; HEED_OK if none is pending. */
heed_status heed_error(void);

/* heed_error_message: the message of this thread's last error, or "" before the first. It names the
 * operation, the shapes and a remedy. It remains available after heed_error(), until the next
 * error, and is truncated to 8,191 characters. */
const char *heed_error_message(void);

/* heed_status_name: "HEED_ERR_SHAPE" for HEED_ERR_SHAPE. */
const char *heed_status_name(heed_status status);

/* heed_on_error: sets the function that is called when an error becomes pending, in any thread;
 * NULL removes it. If the handler returns, the error is pending as usual. */
typedef void heed_error_handler(heed_status status, const char *message);
void heed_on_error(heed_error_handler *handler);

/* heed_die: a handler that ends the program at the first error, with the message on stderr and exit
 * status 1:    heed_on_error(heed_die); */
void heed_die(heed_status status, const char *message);

/* heed_fail: makes an error pending; your own operations and modules can use it too. An error that
 * is already pending is kept. Returns the pending status. */
heed_status heed_fail(heed_status status, const char *format, ...) HEED_PRINTF(2, 3);

/* heed_shape_text: a shape as text, for messages: heed_shape_text(x->ndim, x->shape).text */
typedef struct heed_text {
    char text[160];
} heed_text;
heed_text heed_shape_text(int ndim, const int64_t *shape);

/* heed_write: like POSIX's write, but failures raise no signal: a pipe without a reader gives
 * EPIPE, and a file that would exceed its size limit (ulimit -f) gives EFBIG. */
int64_t heed_write(int fd, const void *data, size_t size);

HEED_END_DECLS
#endif
