/* Heed: a tiny autograd framework that trains self-attention. This is its one public header: read
 * it from top to bottom.
 *
 *     #include "heed.h"
 *
 *     HEED_SCOPE(scope);
 *     struct heed_self_attention *m = heed_self_attention_new(8, 0, 1);
 *     heed_optimizer *adam = heed_adam_new(heed_parameters(m), 1e-3);
 *     heed_tensor *x = heed_randn(HEED_SHAPE(5, 8), HEED_F32);
 *     for (int i = 0; i < 100; i++) {
 *         HEED_SCOPE(step);
 *         heed_tensor *y = heed_self_attention_forward(m, x, heed_causal_block_mask(5));
 *         heed_optimizer_zero_grad(adam);
 *         heed_backward(heed_mean(heed_square(heed_sub(y, x))));
 *         heed_optimizer_step(adam);
 *     }
 *     heed_optimizer_free(adam);
 *     heed_module_free(m);
 *
 * What holds for all functions:
 *
 * - Every tensor that a function returns belongs to the innermost open scope: never free it. With
 *   no scope open it is NULL, with HEED_ERR_SCOPE.
 * - The first error stays pending in its thread until it is read, and until then nothing is
 *   computed: functions return NULL for tensors, the error for statuses, NaN for numbers, 0 for
 *   integers, and false for flags. So calls nest without checks.
 * - NULL for a required argument is HEED_ERR_NULL; for an optional one, it means "none". Reading a
 *   value that has been freed is HEED_ERR_SCOPE.
 * - Names, argument order and semantics are PyTorch's (docs/pytorch.md). The suffixes `_scalar` and
 *   `_dim` mark forms that take a number or a dim.
 * - Functions with options take keyword arguments after the others, as in Python:
 *   heed_linear_new(64, 12, .no_bias = true). What is left out is 0, which means torch's default.
 * - Negative dims count from the end; a dim outside [-ndim, ndim) is HEED_ERR_DIM. A tensor has at
 *   most 8 dims, else HEED_ERR_SHAPE.
 * - Shapes broadcast as in torch: aligned at the last dim, with sizes equal or 1. HEED_ERR_SHAPE:
 *   they do not.
 * - A float with i64 or bool gives that float dtype. f32 with f64 is HEED_ERR_DTYPE: use heed_to.
 * - Sizes that do not fit into memory are HEED_ERR_OVERFLOW, running out of it HEED_ERR_MEMORY.
 * - Operations never change their inputs. Only these functions change elements: those that end in
 *   `_into`, heed_data_*, the optimisers, and those that load or cast a whole module; backward and
 *   gradient clipping change .grad.
 * - A tensor, a module and what is made from them belong to one thread. Threads may train models of
 *   their own at the same time; a finished model may pass to another thread after pthread_join.
 *
 * These errors are not repeated below, nor those of a line that states shapes and dtypes, such as
 *
 *     x (..., in) number, weight (out, in), bias? (out) -> (..., out)
 *
 * where "float" is f32 or f64, "number" is any dtype but bool, and `bias?` may be NULL: other
 * shapes are HEED_ERR_SHAPE, other dtypes HEED_ERR_DTYPE. Operations check their inputs against
 * this line (heed_op.signature has the notation). g is dL/dy, and dx is dL/dx.
 */
#ifndef HEED_H
#define HEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#ifdef __cplusplus
#include <initializer_list>
#endif

/* Declarations have C linkage in C++, and are what the shared library exports. */
#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Keyword arguments: the macro heed_linear_new(...) collects its arguments in a struct,
 * heed_linear_new_args, for the function of the same name. (heed_linear_new)(args) calls the
 * function with a struct of your own. C++ takes the arguments in order. */
#ifdef __cplusplus
#define HEED_CALL(function, ...) function(function##_args{__VA_ARGS__})
#else
#define HEED_CALL(function, ...) function((function##_args){__VA_ARGS__, .end = 0})
#endif

/* ======== Tensors ======== */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Heed does not byte-swap its little-endian files: big-endian machines are not supported"
#endif

/* The types of elements. */
typedef enum heed_dtype {
    HEED_F32,   /* float, the default: torch.float32 */
    HEED_F64,   /* double, for gradient checks: torch.float64 */
    HEED_I64,   /* int64_t, token ids and targets: torch.int64 */
    HEED_BOOL,  /* bool, masks: torch.bool */
    HEED_DTYPES /* their number */
} heed_dtype;

/* heed_dtype_name: "f32"; "no dtype" for any other value. */
const char *heed_dtype_name(heed_dtype dtype);

enum { HEED_MAX_DIMS = 8 }; /* the most dims */

/* A shape, or the index of an element. */
typedef struct heed_shape {
    int ndim;
    int64_t size[HEED_MAX_DIMS];
} heed_shape;

/* A list of dims. */
typedef struct heed_dims {
    int count;
    int dim[HEED_MAX_DIMS];
} heed_dims;

/* HEED_SHAPE(2, 3): a heed_shape with these sizes; it counts its arguments. HEED_INDEX(2, 3): the
 * same for the index of an element. HEED_SCALAR: the shape of a tensor without dims.
 * HEED_DIMS(0, -1): a heed_dims. */
#ifdef __cplusplus
#define HEED_COUNT(type, ...) (int)std::initializer_list<type>{__VA_ARGS__}.size()
#define HEED_SHAPE(...)       (heed_shape{HEED_COUNT(int64_t, __VA_ARGS__), {__VA_ARGS__}})
#define HEED_DIMS(...)        (heed_dims{HEED_COUNT(int, __VA_ARGS__), {__VA_ARGS__}})
#define HEED_SCALAR           (heed_shape{0, {0}})
#else
#define HEED_COUNT(type, ...) (int)(sizeof((type[]){__VA_ARGS__}) / sizeof(type))
#define HEED_SHAPE(...)       ((heed_shape){HEED_COUNT(int64_t, __VA_ARGS__), {__VA_ARGS__}})
#define HEED_DIMS(...)        ((heed_dims){HEED_COUNT(int, __VA_ARGS__), {__VA_ARGS__}})
#define HEED_SCALAR           ((heed_shape){0, {0}})
#endif
#define HEED_INDEX HEED_SHAPE

/* A tensor: a handle to a storage, which views share, and a node of the graph. Programs read its
 * dtype, ndim, shape, strides, numel, requires_grad, grad, op and inputs; the other fields are the
 * engine's. Only functions change them. HEED_NEW *: a result that callers must not drop. */
typedef struct heed_tensor heed_tensor;
#define HEED_NEW __attribute__((warn_unused_result)) heed_tensor
typedef struct heed_storage heed_storage;
struct heed_tensor {
    /* The graph: the operation that made this tensor, and its inputs. */
    const struct heed_op *op; /* NULL for a leaf */
    heed_tensor **inputs;     /* input_count of them; points to `two` if they fit */
    int consumers;            /* of edges, then a mark: while a pass runs or a list is made */
    uint16_t input_count, args_size;
    uint8_t saved; /* read by backward: bit i for input i, HEED_SAVES_OUTPUT for the result */
    bool requires_grad;
    bool used_up;     /* a backward pass has freed its saved values */
    bool retain_grad; /* keep .grad even if this is not a leaf */
    bool has_origin;  /* the path of its module follows the arguments (apply.c) */
    uint8_t ndim;
    uint16_t block; /* bytes allocated for this struct and what follows it (handle.c) */

    heed_tensor *two[2];
    heed_tensor *gradient_in_flight; /* engine: sum of the gradients received so far */

    int references; /* holders of the handle: the scope, retains, graph edges */
    int uses;       /* readers of the value: the scope, retains, derivatives */

    /* The value: element (i, j, ...) is data[i * strides[0] + j * strides[1] + ...]. */
    heed_storage *storage; /* NULL once the value has been freed */
    void *data;
    int64_t numel;
    int64_t *shape, *strides; /* ndim of each, strides in elements */

    int retains;
    int scope_depth;        /* depth of the scope that lists it; 0 once that scope has ended */
    heed_tensor *next;      /* next on that list, or on the engine's */
    uint32_t saved_version; /* sum of the versions of the values that backward will read */
    heed_dtype dtype;

    heed_tensor *grad; /* for leaves, dL/d(this) after backward; contiguous, without a graph */
    const void *args;  /* arguments that are not tensors; points to `small_args` if they fit */
    uint64_t small_args[2];
};

/* ======== Errors ======== */

/* One check after a nested expression is enough:
 *
 *     heed_tensor *y = heed_softmax(heed_matmul(a, b), -1);
 *     if (heed_error_pending()) { fputs(heed_error_message(), stderr); heed_error(); }
 *
 * While an error is pending, only these work: reading the error, ending scopes, releasing, freeing.
 *
 * An error that is never read is printed to stderr, once per process: when the program or the
 * thread ends, or when another scope begins after the one in which the error occurred has ended.
 * The exit status is 1 if the thread that ends the program has not read its pending error.
 * It counts as read after heed_error or heed_error_message, or if a handler was set when it
 * occurred. Programs that end through _exit, abort or a signal print nothing.
 *
 * In a debugger, `break heed_fail` and `break heed_raise` stop where an error occurs. */

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
    HEED_ERR_CHECK,     /* attention_check: this is not attention */
} heed_status;

/* heed_error_pending: the pending error, or HEED_OK, which is 0. It stays pending and unread.
 * heed_error: reads and clears it. */
heed_status heed_error_pending(void);
heed_status heed_error(void);

/* heed_error_message: the message of this thread's last error, or "" before the first. It names the
 * operation, the shapes and a remedy, and remains available until the next error. */
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

/* HEED_PRINTF(text, first): argument number `text` is a printf format, and the values it prints
 * begin with number `first`. */
#define HEED_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* heed_fail: makes an error pending, for your own operations and modules. An error that is already
 * pending is kept. Returns the pending status. */
heed_status heed_fail(heed_status status, const char *format, ...) HEED_PRINTF(2, 3);

/* heed_shape_text: a shape as text, for messages: heed_shape_text(x->ndim, x->shape).text */
typedef struct heed_text {
    char text[160];
} heed_text;
heed_text heed_shape_text(int ndim, const int64_t *shape);

/* ======== Scopes ======== */

/* A scope owns the tensors that are made while it is the innermost, and frees them when it ends. In
 * the loop on top of this page, `step` frees graph and activations; parameters stay.
 *
 * A tensor counts references to its handle (scope, retains, graph edges) and uses of its value
 * (scope, retains, derivatives that will read it). At zero uses, the memory of the value is freed,
 * and the handle stays as a link in the graph. At zero references, the handle is freed too. */

/* A scope. It stores its own address while it is open, so do not copy or move it. */
typedef struct heed_scope {
    struct heed_scope *self; /* this struct while the scope is open */
    int depth;
    bool grad_disabled; /* to restore */
} heed_scope;

/* HEED_SCOPE(name): declares a scope and begins it, inside the innermost open one. It ends when
 * control leaves the block, including by break, continue, return or goto.
 * HEED_SCOPE_NO_GRAD(name): the same without recording a graph, like torch.no_grad().
 *
 *     heed_tensor *mean_of_squares(heed_tensor *x)
 *     {
 *         HEED_SCOPE(scope);
 *         heed_tensor *squares = heed_mul(x, x);
 *         return heed_scope_keep(&scope, heed_mean(squares)); // to the caller's scope
 *     }
 *
 * Do not jump into the block past the declaration, or out of it or a callback by longjmp. */
#define HEED_SCOPE(name)         HEED_SCOPE_FROM(heed_scope_opened(&(name), false), name)
#define HEED_SCOPE_NO_GRAD(name) HEED_SCOPE_FROM(heed_scope_opened(&(name), true), name)
#define HEED_SCOPE_FROM(opened, name)                                                              \
    heed_scope name __attribute__((cleanup(heed_scope_close))) = opened

/* For these macros: heed_scope_close does nothing if the scope has ended already. */
heed_scope heed_scope_opened(heed_scope *scope, bool no_grad);
void heed_scope_close(heed_scope *scope);

/* heed_scope_begin: the same for scopes that heed_scope_end ends.
 * heed_scope_end: releases all tensors of the scope and restores the grad mode. Scopes still open
 * inside it are ended too.
 *
 * HEED_ERR_SCOPE: there were such scopes, or this scope is not open. */
void heed_scope_begin(heed_scope *scope);
heed_status heed_scope_end(heed_scope *scope);

/* heed_scope_keep: moves `t` to the enclosing scope and returns it. A tensor that belongs to
 * another scope is returned unchanged. heed_scope_end_with: does the same, then ends the scope.
 *
 * HEED_ERR_SCOPE: there is no enclosing scope, or this one is not open. */
heed_tensor *heed_scope_keep(heed_scope *scope, heed_tensor *t);
heed_tensor *heed_scope_end_with(heed_scope *scope, heed_tensor *t);

/* heed_retain: keeps `t` alive beyond its scope, and returns it. heed_release: undoes one retain;
 * NULL is a no-op. HEED_ERR_SCOPE: released more often than retained. */
heed_tensor *heed_retain(heed_tensor *t);
heed_status heed_release(heed_tensor *t);

/* heed_set_grad_enabled: as torch.set_grad_enabled: turns recording of graphs on or off; but
 * returns the previous setting. When a scope ends, the setting from its beginning is restored. */
bool heed_set_grad_enabled(bool enabled);
bool heed_is_grad_enabled(void);

/* heed_live_tensors, heed_live_bytes: the number of existing tensors, and of bytes requested and
 * not yet freed, in this thread, including what threads left when they ended. heed_empty_cache:
 * returns the free memory of this thread to the system, like torch.cuda.empty_cache(). */
int64_t heed_live_tensors(void);
int64_t heed_live_bytes(void);
void heed_empty_cache(void);

/* ======== Creating and reading ======== */

/* ---- new tensors: leaves that do not require gradients ---- */

/* heed_empty: uninitialised elements. heed_zeros, heed_ones, heed_full, heed_eye (n, m): as in
 * torch. heed_scalar: a tensor without dims. For bool, any value but 0 is true.
 *
 * HEED_ERR_SHAPE: a negative size. HEED_ERR_VALUE: i64 cannot represent the value. */
HEED_NEW *heed_empty(heed_shape shape, heed_dtype dtype);
HEED_NEW *heed_zeros(heed_shape shape, heed_dtype dtype);
HEED_NEW *heed_ones(heed_shape shape, heed_dtype dtype);
HEED_NEW *heed_full(heed_shape shape, double value, heed_dtype dtype);
HEED_NEW *heed_eye(int64_t n, int64_t m, heed_dtype dtype);
HEED_NEW *heed_scalar(double value, heed_dtype dtype);

/* heed_zeros_like, heed_ones_like: x's shape and dtype, as in torch, but always contiguous. */
HEED_NEW *heed_zeros_like(const heed_tensor *x);
HEED_NEW *heed_ones_like(const heed_tensor *x);

/* heed_arange: as torch.arange(start, end, step): start, start + step, ... up to, excluding, end
 *
 * HEED_ERR_VALUE: step is 0, not finite, or leads away from end; i64 cannot represent a number; the
 * start or step of an i64 arange is fractional. HEED_ERR_DTYPE: bool. */
HEED_NEW *heed_arange(double start, double end, double step, heed_dtype dtype);

/* heed_from_f32, heed_from_f64, heed_from_i64, heed_from_bool: copies the elements at `values`, in
 * row-major order.
 * An array that is too short is an error if the compiler knows its size, as it does for arrays
 * named in the call. heed_from_values is for other languages: `size` is the number of bytes at
 * `values`, SIZE_MAX if unknown.
 *
 * HEED_ERR_SHAPE: a negative size, or the array is shorter than the shape needs. */
HEED_NEW *heed_from_values(const void *values, size_t size, heed_shape shape, heed_dtype dtype);

#if defined __clang__ /* otherwise clang knows sizes only when optimising */
#define HEED_PASS_SIZE __attribute__((pass_object_size(0)))
#else
#define HEED_PASS_SIZE
#endif
#define HEED_DEFINE_FROM(name, type, dtype)                                                        \
    static inline __attribute__((always_inline)) heed_tensor *name(                                \
        const type *const values HEED_PASS_SIZE, heed_shape shape)                                 \
    {                                                                                              \
        return heed_from_values(values, __builtin_object_size(values, 0), shape, dtype);           \
    }
HEED_DEFINE_FROM(heed_from_f32, float, HEED_F32)
HEED_DEFINE_FROM(heed_from_f64, double, HEED_F64)
HEED_DEFINE_FROM(heed_from_i64, int64_t, HEED_I64)
HEED_DEFINE_FROM(heed_from_bool, bool, HEED_BOOL)
#undef HEED_DEFINE_FROM
#undef HEED_PASS_SIZE

/* heed_copy_into: overwrites `target`, which may be a view, with `source`, broadcast and cast, like
 * torch's copy_ on a leaf under no_grad: gradients do not flow through it. heed_fill_into: the same
 * with a single value. Both increment the version.
 *
 * HEED_ERR_SHAPE: source does not broadcast to target's shape, or elements of target share
 * memory. */
heed_status heed_copy_into(heed_tensor *target, const heed_tensor *source);
heed_status heed_fill_into(heed_tensor *target, double value);

/* ---- reading ---- */

/* heed_size: as torch's x.size(dim): the size of a dim. heed_shape_of_tensor: as x.shape: all of
 * them. heed_is_contiguous: true if the elements are in row-major order without gaps. */
int64_t heed_size(const heed_tensor *t, int dim);
heed_shape heed_shape_of_tensor(const heed_tensor *t);
bool heed_is_contiguous(const heed_tensor *t);

/* heed_item: as torch's item(): the element of a one-element tensor of any dtype. heed_item_i64:
 * the same, exact for i64. HEED_ERR_SHAPE: t does not have exactly one element. HEED_ERR_DTYPE:
 * heed_item_i64 of a float. */
double heed_item(const heed_tensor *t);
int64_t heed_item_i64(const heed_tensor *t);

/* heed_at(t, HEED_INDEX(i, j)): as torch's t[i, j].item(): an element; negative indices count from
 * the end.
 *
 * HEED_ERR_SHAPE: the number of indices is not t's number of dims. HEED_ERR_INDEX: an index is out
 * of range. */
double heed_at(const heed_tensor *t, heed_shape index);

/* heed_copy_out: copies all elements of t, which may be a view, in row-major order into `values`,
 * an array of `count` elements of t's dtype. HEED_ERR_SHAPE: count is not t's number of elements.
 */
heed_status heed_copy_out(const heed_tensor *t, void *values, int64_t count);

/* heed_data_*: a writable pointer to the elements. Each call increments the version of the storage,
 * so that a backward pass that needs the old value fails.
 * heed_const_data_*: a pointer for reading only.
 *
 * HEED_ERR_DTYPE: t has another dtype. HEED_ERR_SHAPE: t is not contiguous (heed_contiguous copies,
 * heed_copy_into writes through views). NULL on error only, not for a tensor without elements. */
float *heed_data_f32(heed_tensor *t);
double *heed_data_f64(heed_tensor *t);
int64_t *heed_data_i64(heed_tensor *t);
bool *heed_data_bool(heed_tensor *t);
const float *heed_const_data_f32(const heed_tensor *t);
const double *heed_const_data_f64(const heed_tensor *t);
const int64_t *heed_const_data_i64(const heed_tensor *t);
const bool *heed_const_data_bool(const heed_tensor *t);

/* ---- printing, as torch does ---- */

/* Wide ranges are shown in scientific notation. Of tensors with more than 1000 elements, three
 * items are shown at each end of a dim. */

/* heed_print: to stdout, with a newline. heed_fprint(stream, t, .precision = 8): to any stream,
 * without a newline; for its errors, check ferror(stream). heed_snprint(buffer, size, t, ...): into
 * `buffer`, like snprintf: returns the length of the full text, and writes at most size - 1 bytes
 * of it and a terminating 0. The options are those of torch.set_printoptions, for one call.
 *
 * HEED_ERR_VALUE: an option is negative, or the precision is above 17. */
heed_status heed_print(const heed_tensor *t);
typedef struct heed_fprint_args {
    FILE *stream;
    const heed_tensor *t;
    int precision; /* digits after the point: 1 ... 17; 0: 4 */
    int linewidth; /* characters per line; 0: 80 */
    bool end;
} heed_fprint_args;
heed_status heed_fprint(heed_fprint_args args);
#define heed_fprint(...) HEED_CALL(heed_fprint, __VA_ARGS__)
typedef struct heed_snprint_args {
    char *buffer;
    size_t size;
    const heed_tensor *t;
    int precision, linewidth;
    bool end;
} heed_snprint_args;
size_t heed_snprint(heed_snprint_args args);
#define heed_snprint(...) HEED_CALL(heed_snprint, __VA_ARGS__)

/* ---- random numbers, bit-identical to those of PyTorch's CPU generator ----
 *
 * Each thread has its own generator. Until it is seeded, it behaves like a new torch.Generator(),
 * with seed 67280421310721. Numbers depend on dtype and size as in torch: heed_randn uses one
 * method for 16 or more numbers and another for fewer (docs/numerics.md). */

/* The Mersenne twister MT19937, plus the state that torch keeps with it. */
typedef struct heed_generator {
    uint32_t state[624];
    int next;        /* index of the next word; 624: twist first */
    bool has_normal; /* the second number of a Box-Muller pair is cached in `normal` */
    bool seeded;
    double normal;
    uint64_t seed; /* the seed it was started with */
} heed_generator;

/* heed_manual_seed: as torch.manual_seed(seed), for this thread's generator. heed_get_generator,
 * heed_set_generator: that generator as a value, to save and restore it. They also work while an
 * error is pending. HEED_ERR_VALUE: not a value returned by heed_get_generator. */
void heed_manual_seed(uint64_t seed);
heed_generator heed_get_generator(void);
heed_status heed_set_generator(const heed_generator *generator);

/* heed_rand: uniform in [0, 1). heed_randn: normal with mean 0 and standard deviation 1. Both f32
 * or f64. heed_randint: i64 integers in [low, high). heed_randperm: 0 ... n-1 in random order,
 * i64 (n). HEED_ERR_VALUE: low is not below high, or n < 0. */
HEED_NEW *heed_rand(heed_shape shape, heed_dtype dtype);
HEED_NEW *heed_randn(heed_shape shape, heed_dtype dtype);
HEED_NEW *heed_randint(int64_t low, int64_t high, heed_shape shape);
HEED_NEW *heed_randperm(int64_t n);

/* heed_uniform_into, heed_normal_into: as torch's t.uniform_(low, high) and t.normal_(mean, std):
 * overwrite `t`, a contiguous float tensor. HEED_ERR_SHAPE: not contiguous. HEED_ERR_VALUE: low
 * above high, negative std, or any of these not finite. */
heed_status heed_uniform_into(heed_tensor *t, double low, double high);
heed_status heed_normal_into(heed_tensor *t, double mean, double std);

/* heed_multinomial: as torch.multinomial(p, num_samples): draws `num_samples` of the categories
 * 0 ... n-1 with probabilities p, each at most once
 *
 *   p (..., n) float -> (..., num_samples) i64          p has 1 or 2 dims, and any sums
 *
 * HEED_ERR_VALUE: num_samples is 0; a probability is negative or not finite; a row has fewer
 * positive probabilities than num_samples (torch then also draws categories of probability 0). */
HEED_NEW *heed_multinomial(const heed_tensor *p, int64_t num_samples);

/* ======== Operations ======== */

/* ---- element by element: one operand, x (...) -> (...), as torch's functions ----
 *
 * In these tables, "float" means that i64 and bool are cast to f32 first. */

HEED_NEW *heed_neg(heed_tensor *x);    /* y = -x             dx = -g             not bool */
HEED_NEW *heed_exp(heed_tensor *x);    /* y = e^x            dx = g y            float */
HEED_NEW *heed_log(heed_tensor *x);    /* y = ln x           dx = g / x          float */
HEED_NEW *heed_sqrt(heed_tensor *x);   /* y = x^(1/2)        dx = g / (2 y)      float */
HEED_NEW *heed_rsqrt(heed_tensor *x);  /* y = x^(-1/2)       dx = -g y^3 / 2     float */
HEED_NEW *heed_square(heed_tensor *x); /* y = x^2            dx = 2 g x          not bool */
HEED_NEW *heed_sin(heed_tensor *x);    /* y = sin x          dx = g cos x        float */
HEED_NEW *heed_cos(heed_tensor *x);    /* y = cos x          dx = -g sin x       float */
HEED_NEW *heed_tanh(heed_tensor *x);   /* y = tanh x         dx = g (1 - y^2)    float */
HEED_NEW *heed_erf(heed_tensor *x);    /* y = erf x   dx = 2 g e^(-x^2) / pi^(1/2)   float */
HEED_NEW *heed_abs(heed_tensor *x);    /* y = |x|            dx = g sign(x)      not bool */
HEED_NEW *heed_sign(heed_tensor *x);   /* y = 1, 0, -1; 0 for NaN     dx = 0 */
HEED_NEW *heed_floor(heed_tensor *x);  /* y = x rounded down          dx = 0      not bool */

/* Activations. */
HEED_NEW *heed_relu(heed_tensor *x);    /* y = max(x, 0)      dx = g where y > 0  not bool */
HEED_NEW *heed_sigmoid(heed_tensor *x); /* y = 1 / (1 + e^-x)   dx = g y (1 - y)  float */
/* heed_gelu: as torch.nn.functional.gelu(x) (Hendrycks and Gimpel, 2016). heed_gelu_tanh: torch's
 * approximate="tanh". Both float.
 *
 *   y = x P(x), with P and p the normal CDF and its density     dx = g (P(x) + x p(x))
 *   heed_gelu_tanh: P(x) = (1 + tanh((2 / pi)^(1/2) (x + 0.044715 x^3))) / 2 */
HEED_NEW *heed_gelu(heed_tensor *x);
HEED_NEW *heed_gelu_tanh(heed_tensor *x);

/* ---- two operands: a (...), b (...) -> (...) ----
 *
 * Sums of bools are "or", products are "and". An i64 to a negative power is 1 / a^-b, truncated. */

HEED_NEW *heed_add(heed_tensor *a, heed_tensor *b); /* y = a + b   da = g         db = g */
HEED_NEW *heed_sub(heed_tensor *a, heed_tensor *b); /* y = a - b   da = g         db = -g */
HEED_NEW *heed_mul(heed_tensor *a, heed_tensor *b); /* y = a b     da = g b       db = g a */
HEED_NEW *heed_div(heed_tensor *a, heed_tensor *b); /* y = a / b   da = g / b     db = -g y / b
                                                          float, as torch.true_divide */
HEED_NEW *heed_pow(heed_tensor *a, heed_tensor *b); /* y = a^b     da = g b a^(b-1)
                                                          db = g y ln a; 0 where a = 0 <= b */
/* heed_maximum, heed_minimum: the larger and the smaller operand
 *
 *   y = the operand that is chosen, NaN if either is NaN
 *   da = g where a is chosen, g / 2 where a = b          db: likewise */
HEED_NEW *heed_maximum(heed_tensor *a, heed_tensor *b);
HEED_NEW *heed_minimum(heed_tensor *a, heed_tensor *b);
/* The same with a number b, as a + 2 in torch. With an i64 or bool tensor it must be an integer,
 * and for heed_pow_scalar not negative, else HEED_ERR_VALUE: use heed_to first. */
HEED_NEW *heed_add_scalar(heed_tensor *a, double b);
HEED_NEW *heed_sub_scalar(heed_tensor *a, double b);
HEED_NEW *heed_mul_scalar(heed_tensor *a, double b);
HEED_NEW *heed_div_scalar(heed_tensor *a, double b);
HEED_NEW *heed_pow_scalar(heed_tensor *a, double b);
HEED_NEW *heed_maximum_scalar(heed_tensor *a, double b);
HEED_NEW *heed_minimum_scalar(heed_tensor *a, double b);

/* ---- comparisons and logic: a (...), b (...) -> (...) bool, no gradient ---- */

/* As torch.eq(a, b) and the like: equal, not equal, less, less or equal, greater, greater or equal.
 * NaN gives false, but true in heed_ne. */
HEED_NEW *heed_eq(heed_tensor *a, heed_tensor *b);
HEED_NEW *heed_ne(heed_tensor *a, heed_tensor *b);
HEED_NEW *heed_lt(heed_tensor *a, heed_tensor *b);
HEED_NEW *heed_le(heed_tensor *a, heed_tensor *b);
HEED_NEW *heed_gt(heed_tensor *a, heed_tensor *b);
HEED_NEW *heed_ge(heed_tensor *a, heed_tensor *b);

/* The same with a number, as a == 2 in torch. It need not be an integer, whatever the tensor's
 * dtype: i64 elements are then compared as f64. */
HEED_NEW *heed_eq_scalar(heed_tensor *a, double b);
HEED_NEW *heed_ne_scalar(heed_tensor *a, double b);
HEED_NEW *heed_lt_scalar(heed_tensor *a, double b);
HEED_NEW *heed_le_scalar(heed_tensor *a, double b);
HEED_NEW *heed_gt_scalar(heed_tensor *a, double b);
HEED_NEW *heed_ge_scalar(heed_tensor *a, double b);

/* As torch.logical_and(a, b) and the like; nonzero, including NaN, is true. */
HEED_NEW *heed_logical_and(heed_tensor *a, heed_tensor *b);
HEED_NEW *heed_logical_or(heed_tensor *a, heed_tensor *b);
HEED_NEW *heed_logical_not(heed_tensor *x);

/* heed_allclose: as torch.allclose: true if |a - b| <= atol + rtol * |b| for all elements. An
 * infinity is close only to itself. NaN is close to nothing, or with equal_nan only to NaN. torch's
 * defaults are rtol 1e-5 and atol 1e-8.
 * heed_equal: as torch.equal: true if shape, dtype and elements are equal. */
bool heed_allclose(heed_tensor *a, heed_tensor *b, double rtol, double atol, bool equal_nan);
bool heed_equal(heed_tensor *a, heed_tensor *b);

/* heed_where: as torch.where(condition, a, b); with a number, use heed_masked_fill.
 *
 *   condition (...) bool, a (...) any, b (...) any -> (...)
 *   y = a where condition, else b
 *   da = g where condition, else 0          db = 0 where condition, else g */
HEED_NEW *heed_where(heed_tensor *condition, heed_tensor *a, heed_tensor *b);

/* ---- shapes and parts: views, which share storage with x ---- */

/* heed_transpose: as torch.transpose(x, dim0, dim1): swaps two dims.
 *
 *   x (..., m, ..., n, ...) -> (..., n, ..., m, ...)                      dx = transpose(g) */
HEED_NEW *heed_transpose(heed_tensor *x, int dim0, int dim1);

/* heed_permute: as torch.permute(x, dims): reorders all dims.
 *
 *   x (B, T, C), HEED_DIMS(0, 2, 1) -> (B, C, T)                          dx = g permuted back
 *
 * HEED_ERR_DIM: dims does not list each dim exactly once. */
HEED_NEW *heed_permute(heed_tensor *x, heed_dims dims);

/* heed_reshape: as torch.reshape(x, shape): the same elements in row-major order; one size may be
 * -1 and is inferred. A view if the strides allow it, else a copy.        dx = reshape(g)
 *
 * HEED_ERR_SHAPE: a different number of elements, or more than one -1. */
HEED_NEW *heed_reshape(heed_tensor *x, heed_shape shape);

/* heed_flatten: as torch.flatten(x, start_dim, end_dim): merges these dims and those between, as
 * heed_reshape; a 0-dim tensor becomes (1). heed_unflatten: as torch.unflatten(x, dim, sizes):
 * splits one dim; one size may be -1.
 *
 *   flatten: x (B, m, n), 1, -1 -> (B, m n)                               dx = reshape(g)
 *   unflatten: x (B, m n), 1, HEED_SHAPE(m, -1) -> (B, m, n)
 *
 * HEED_ERR_DIM: start_dim is after end_dim. HEED_ERR_SHAPE: the sizes do not give the dim's. */
HEED_NEW *heed_flatten(heed_tensor *x, int start_dim, int end_dim);
HEED_NEW *heed_unflatten(heed_tensor *x, int dim, heed_shape sizes);

/* heed_expand: as torch's x.expand(shape): repeats dims of size 1 and adds leading dims, without a
 * copy; -1 keeps a size.                                dx = the sum of g over the repeats
 *
 * HEED_ERR_SHAPE: a size other than 1 would change. */
HEED_NEW *heed_expand(heed_tensor *x, heed_shape shape);

/* heed_squeeze: as torch.squeeze(x, dim): removes a dim of size 1; a dim of any other size is kept.
 * heed_unsqueeze: as torch.unsqueeze(x, dim): inserts a dim of size 1 at `dim`, in
 * [-ndim - 1, ndim + 1).                                                dx = reshape(g) */
HEED_NEW *heed_squeeze(heed_tensor *x, int dim);
HEED_NEW *heed_unsqueeze(heed_tensor *x, int dim);

/* heed_slice: as torch's x[..., start:end:step, ...] in dim `dim`: negative indices count from the
 * end, and out-of-range indices are clipped. For x[start:], pass INT64_MAX as `end`.
 *
 *   x (..., n, ...) -> (..., the indices, ...)             dx = g in the slice, else 0
 *
 * HEED_ERR_VALUE: step below 1. */
HEED_NEW *heed_slice(heed_tensor *x, int dim, int64_t start, int64_t end, int64_t step);

/* heed_select: as torch.select(x, dim, index): one index of a dim, which is removed.
 * heed_narrow: as torch.narrow(x, dim, start, length): like heed_slice, but does not clip. A
 * negative index or start counts from the end.
 *
 *   select: x (..., n, ...) -> (..., ...)                  dx = g at these indices, else 0
 *   narrow: x (..., n, ...) -> (..., length, ...)
 *
 * HEED_ERR_INDEX: not inside the dim. */
HEED_NEW *heed_select(heed_tensor *x, int dim, int64_t index);
HEED_NEW *heed_narrow(heed_tensor *x, int dim, int64_t start, int64_t length);

/* heed_chunk: as torch.chunk(x, chunks, dim): parts of equal size; the last may be smaller, and
 * there may be fewer than `chunks`.
 * Returns the number of parts and sets the rest of `parts`, an array of `chunks` elements, to NULL;
 * on error, all.
 *
 * HEED_ERR_VALUE: chunks below 1. */
int heed_chunk(heed_tensor *x, int chunks, int dim, heed_tensor **parts);

/* ---- copies, casts, joining, repeating ---- */

/* As in torch: heed_detach: a view without the graph. heed_clone: a contiguous copy.
 * heed_contiguous: x itself if it is contiguous, else a copy. heed_to: x itself if it has that
 * dtype, else a cast copy: floats are truncated to i64, and nonzero becomes true.
 *
 *   clone, contiguous: dx = g          to: dx = g cast back, only between floats */
HEED_NEW *heed_detach(heed_tensor *x);
HEED_NEW *heed_clone(heed_tensor *x);
HEED_NEW *heed_contiguous(heed_tensor *x);
HEED_NEW *heed_to(heed_tensor *x, heed_dtype dtype);

/* heed_cat: as torch.cat(tensors, dim): joins along a dim. heed_stack: as torch.stack(tensors,
 * dim): joins along a new dim, in [-ndim - 1, ndim + 1).
 *
 *   cat: `count` tensors (..., n_i, ...) -> (..., sum of n_i, ...)        gradients: parts of g
 *   stack: `count` tensors (...) -> (..., count, ...)
 *
 * HEED_ERR_SHAPE: other sizes differ, or a tensor of heed_cat has no dims. */
HEED_NEW *heed_cat(heed_tensor *const *tensors, int count, int dim);
HEED_NEW *heed_stack(heed_tensor *const *tensors, int count, int dim);

/* heed_flip: as torch.flip(x, dims): reverses the order of elements along these dims.
 *
 *   x (..., n, ...) -> (..., n, ...)     y[..., i, ...] = x[..., n - 1 - i, ...]     dx = flip(g)
 *
 * HEED_ERR_DIM: a dim is given twice. */
HEED_NEW *heed_flip(heed_tensor *x, heed_dims dims);

/* ---- reductions ----
 *
 * The plain form reduces all dims, `_dim` reduces one; heed_flatten several first: x (..., n, ...)
 * gives (..., ...), or (..., 1, ...) with keepdim. In formulas, n is the number of elements that
 * are reduced to one. Floats are summed in double and rounded once. */

/* heed_sum: as torch.sum(x, dim, keepdim). heed_mean: as torch.mean
 *
 *   sum: x any -> number           dx = g, broadcast along the dims
 *   mean: x float                  dx = g / n, broadcast; y is NaN if n is 0 */
HEED_NEW *heed_sum(heed_tensor *x);
HEED_NEW *heed_sum_dim(heed_tensor *x, int dim, bool keepdim);
HEED_NEW *heed_mean(heed_tensor *x);
HEED_NEW *heed_mean_dim(heed_tensor *x, int dim, bool keepdim);

/* heed_sum_to_size: as torch's x.sum_to_size(shape): sums x to `shape`, over the dims that
 * broadcasting repeated                                               dx = expand(g)
 *
 * HEED_ERR_SHAPE: `shape` does not broadcast to x's. */
HEED_NEW *heed_sum_to_size(heed_tensor *x, heed_shape shape);

/* heed_amax, heed_amin: as torch.amax(x, dim, keepdim): the largest and the smallest element
 *
 *   x any          y is NaN if any is NaN
 *   dx = g / k at the k elements equal to y, else 0; all NaN if y is NaN, as in torch
 * HEED_ERR_SHAPE, also of heed_argmax: a dim without elements. */
HEED_NEW *heed_amax(heed_tensor *x);
HEED_NEW *heed_amax_dim(heed_tensor *x, int dim, bool keepdim);
HEED_NEW *heed_amin(heed_tensor *x);

/* heed_argmax: as torch.argmax(x): index of the largest element of the flattened x, or along a dim.
 * Of equal elements, the first; the first NaN if there is one.
 *
 *   x number -> i64          no gradient */
HEED_NEW *heed_argmax(heed_tensor *x);
HEED_NEW *heed_argmax_dim(heed_tensor *x, int dim, bool keepdim);

/* ---- elements and rows by index ----
 *
 * HEED_ERR_INDEX: an index outside its dim; negative ones too, as in torch. Gradients of equal
 * indices are added in row-major order, so results are reproducible bit for bit. */

/* heed_embedding: as torch.nn.functional.embedding(ids, weight)
 *
 *   ids (...) i64, weight (V, d) float -> (..., d) float
 *   y[...] = weight[ids[...]]                    dweight[v] = the sum of g where ids = v */
HEED_NEW *heed_embedding(heed_tensor *ids, heed_tensor *weight);

/* heed_index_select: as torch.index_select(x, dim, index)
 *
 *   x any, index i64        x (..., m, ...), index (n), or () for n = 1 -> (..., n, ...)
 *   y[..., i, ...] = x[..., index[i], ...]       dx = g added at the index */
HEED_NEW *heed_index_select(heed_tensor *x, int dim, heed_tensor *index);

/* heed_gather: as torch.gather(x, dim, index). heed_scatter_add: as torch.scatter_add(x, dim,
 * index, src), but with a src of the index's shape. For dim = 1 of three:
 *
 *   gather: x any, index i64      x (..., m, ...), index (..., n, ...) -> (..., n, ...)
 *   y[i, j, k] = x[i, index[i, j, k], k]         dx = scatter_add(0, dim, index, g)
 *
 *   scatter_add: x any, index i64, src      src (..., n, ...) -> (..., m, ...)
 *   y = x with src[i, j, k] added to y[i, index[i, j, k], k]
 *   dx = g          dsrc = gather(g, dim, index)
 *
 * The index's sizes in dims other than dim may be smaller than x's. */
HEED_NEW *heed_gather(heed_tensor *x, int dim, heed_tensor *index);
HEED_NEW *heed_scatter_add(heed_tensor *x, int dim, heed_tensor *index, heed_tensor *src);

/* ---- masks: given, triangular or random ---- */

/* heed_masked_fill: as torch.masked_fill(x, mask, value): replaces elements where the mask is true,
 * which is also the convention of attention block masks (docs/attention.md).
 *
 *   x (...) any, replace_mask (...) bool -> (...)
 *   y = value where replace_mask, else x        dx = 0 where replace_mask, else g
 *
 * HEED_ERR_VALUE: x's dtype cannot represent value. */
HEED_NEW *heed_masked_fill(heed_tensor *x, heed_tensor *replace_mask, double value);

/* heed_tril, heed_triu: as torch.tril(x, diagonal) and torch.triu: the lower and the upper triangle
 *
 *   x (..., m, n) -> (..., m, n)
 *   tril: y[i, j] = x[i, j] where j <= i + diagonal, else 0      dx = tril(g, diagonal)
 *   triu: y[i, j] = x[i, j] where j >= i + diagonal, else 0      dx = triu(g, diagonal) */
HEED_NEW *heed_tril(heed_tensor *x, int64_t diagonal);
HEED_NEW *heed_triu(heed_tensor *x, int64_t diagonal);

/* heed_dropout: as torch.nn.functional.dropout(x, p, training), with the same random numbers as
 * torch for the same seed
 *
 *   x (...) float -> (...)
 *   y = x noise, dx = g noise; noise is 0 with probability p, else 1 / (1 - p)
 *
 * Returns x itself, of any dtype, if not training or if p is 0.
 *
 * HEED_ERR_VALUE: p is outside [0, 1]. */
HEED_NEW *heed_dropout(heed_tensor *x, double p, bool training);

/* ---- matrix products: of one dtype, not bool ---- */

/* heed_matmul: as torch.matmul(a, b): matrix product
 *
 *   a (..., m, k) number, b (..., k, n) -> (..., m, n)      batch dims broadcast
 *   a (k), b (..., k, n) -> (..., n)                        a vector is a row on the left
 *   a (..., m, k), b (k) -> (..., m)                        and a column on the right
 *   y = a b         da = g b^T           db = a^T g */
HEED_NEW *heed_matmul(heed_tensor *a, heed_tensor *b);

/* heed_linear: as torch.nn.functional.linear(x, weight, bias)
 *
 *   x (..., in) number, weight (out, in), bias? (out) -> (..., out)
 *   y = x weight^T + bias
 *   dx = g weight      dweight = g^T x      dbias = sum(g), both sums over all rows of x */
HEED_NEW *heed_linear(heed_tensor *x, heed_tensor *weight, heed_tensor *bias);

/* ---- softmax along a dim, and layer_norm ---- */

/* heed_softmax: as torch.softmax(x, dim)
 *
 *   x (...) float -> (...)
 *   y_i = e^x_i / sum over j of e^x_j along dim       dx = y (g - sum(g y, dim))
 *
 * The maximum is subtracted first, so large x do not overflow. -inf gives 0 with gradient 0. If all
 * x along dim are -inf, the result is NaN, as in torch.
 * heed_safe_softmax: as torch._safe_softmax(x, dim): the same, but zeros with gradient 0 if all x
 * along dim are -inf, as for a query whose keys are all masked. */
HEED_NEW *heed_softmax(heed_tensor *x, int dim);
HEED_NEW *heed_safe_softmax(heed_tensor *x, int dim);

/* heed_log_softmax: as torch.log_softmax(x, dim): ln softmax, without underflow
 *
 *   x (...) float -> (...)
 *   y_i = x_i - ln sum over j of e^x_j along dim      dx = g - e^y sum(g, dim) */
HEED_NEW *heed_log_softmax(heed_tensor *x, int dim);

/* heed_layer_norm: as torch.nn.functional.layer_norm(x, normalized_shape, weight, bias, eps); eps 0
 * means torch's default, 1e-5. normalized_shape is HEED_SHAPE(n): over the last dim alone.
 *
 *   x (..., n) float, weight? (n), bias? (n) -> (..., n)
 *   z = (x - mean) / sqrt(var + eps), y = weight z + bias; mean and var (biased) over n
 *   dx = (h - mean(h) - z mean(h z)) / sqrt(var + eps), with h = g weight
 *   dweight = sum of g z, dbias = sum of g, over the rows
 *
 * HEED_ERR_SHAPE: normalized_shape has other dims. */
HEED_NEW *heed_layer_norm(heed_tensor *x, heed_shape normalized_shape, heed_tensor *weight,
                          heed_tensor *bias, double eps);

/* ======== Gradients ======== */

/* If an input of an operation requires a gradient, the result records the operation and its inputs.
 * backward walks that graph from a loss to the leaves, visiting each node after all of its
 * consumers, without recursion. It uses up the graph: it releases saved values as it goes, and a
 * second backward fails with HEED_ERR_GRAPH unless the first was heed_backward_retain. */

/* heed_set_requires_grad: as torch's x.requires_grad_(): sets whether backward collects a gradient
 * for the leaf x, a float; returns x.
 * HEED_ERR_GRAPH: x is the result of an operation; heed_detach it first. */
heed_tensor *heed_set_requires_grad(heed_tensor *x, bool requires_grad);

/* heed_retain_grad: as torch's x.retain_grad(): makes backward store the gradient of a non-leaf x
 * in x->grad too; returns x. HEED_ERR_GRAPH: x does not require a gradient. */
heed_tensor *heed_retain_grad(heed_tensor *x);

/* heed_backward: as torch's y.backward(): adds dy/dx to x->grad for every leaf x that requires a
 * gradient. heed_backward_retain: the same, but the graph can be used again.
 *
 * HEED_ERR_GRAPH: y does not require a gradient, or its graph is used up. HEED_ERR_SHAPE: y does
 * not have exactly one element; heed_sum or heed_mean it. HEED_ERR_VERSION: a value that a
 * derivative reads has been changed in place since the forward pass. Leaves reached before the
 * error keep the gradients they received. */
heed_status heed_backward(heed_tensor *y);
heed_status heed_backward_retain(heed_tensor *y);

/* heed_grad: as torch.autograd.grad: grads[i] = dy/dxs[i] for `count` tensors, leaves or not;
 * .grad is left unchanged. An x that y does not depend on gets zeros. With create_graph the
 * gradients can themselves be differentiated, constant ones to zeros, and y's graph can be used
 * again. Results may share memory: heed_clone one before changing it in place.
 *
 * Errors as in heed_backward, and HEED_ERR_GRAPH if an x does not require a gradient. On error all
 * grads are NULL. */
heed_status heed_grad(heed_tensor *y, heed_tensor *const *xs, int count, heed_tensor **grads,
                      bool create_graph);

/* heed_clear_grad: as torch's x.grad = None. heed_set_grad: sets x->grad to a copy of `grad`, which
 * has x's shape and dtype. */
heed_status heed_clear_grad(heed_tensor *x);
heed_status heed_set_grad(heed_tensor *x, heed_tensor *grad);

/* ---- gradcheck: compares the derivatives of a function with finite differences ----
 *
 *     heed_tensor *inputs[] = {a, b};              // f64, requiring gradients
 *     heed_gradcheck(f, NULL, inputs, 2);
 *
 * Like torch.autograd.gradcheck, but stricter. It compares every element of the Jacobian, including
 * its sign, and then the gradient for a random upstream gradient, once as in backward and once with
 * create_graph. (An upstream gradient of ones would hide a wrong softmax.) NaN never passes. An
 * input that has no effect fails the check unless the options list it. A derivative can read only
 * the values that it declares as saved. Where a derivative differs, the check looks again, at
 * points beside x and with other steps, and says why; this changes no result. */

/* A function of `inputs`, which it must not keep. They are other handles than the caller's: read
 * them, not the fields of a module that holds the tensors. The generator is reset before each call,
 * so that random functions draw the same numbers, and restored at the end. */
typedef heed_tensor *heed_function(heed_tensor *const *inputs, void *context);

/* Sets of inputs: HEED_INPUT(0) | HEED_INPUT(2). */
#define HEED_INPUT(i)   (1u << (i))
#define HEED_ALL_INPUTS (~0u)

/* Why a check failed, from the mildest to the worst: of the derivatives that differ, the report has
 * those with the worst verdict, and of them the one that differs most. */
typedef enum heed_gradcheck_verdict {
    HEED_GRADCHECK_OK = 0,    /* no derivative differs; the function may have failed */
    HEED_GRADCHECK_KINK,      /* f is not differentiable there; beside it, the gradient is right */
    HEED_GRADCHECK_NOISE,     /* difference quotients do not settle, so the gradient may be right */
    HEED_GRADCHECK_WRONG,     /* the difference quotient settles, but not at the gradient */
    HEED_GRADCHECK_NO_EFFECT, /* all derivatives by the input are 0: the check proves nothing */
} heed_gradcheck_verdict;

typedef struct heed_gradcheck_report {
    heed_gradcheck_verdict verdict;
    int input;                /* gradgradcheck: the number of inputs means the upstream gradient */
    int64_t element, output;  /* in row-major order; output is 0 for a random upstream gradient */
    double analytic, numeric; /* the two values that differ */
    double left, right;       /* the least and the greatest slope of the output beside x */
    double limit;             /* at which the difference quotient settles best */
} heed_gradcheck_report;

/* heed_gradcheck(f, context, inputs, count, ...): first derivatives, with respect to every input
 * that requires a gradient; the others, of any dtype, are constants. heed_gradgradcheck: second
 * derivatives: those of the function's gradient with respect to its inputs and to a random upstream
 * gradient. At most 16 inputs.
 *
 * HEED_ERR_GRADCHECK: a derivative differs: the message names the element, both values, and why; or
 * an input has no effect. HEED_ERR_DTYPE: an input that requires a gradient is not f64.
 * HEED_ERR_GRAPH: no input requires a gradient. HEED_ERR_SHAPE: an input is expanded. Errors of the
 * function itself are returned as well. */
typedef struct heed_gradcheck_args {
    heed_function *f;
    void *context;
    heed_tensor *const *inputs;
    int count;
    double eps;  /* step of the central differences, in each direction; 0: 1e-6 */
    double atol; /* |analytic - numeric| <= atol + rtol |numeric|; 0: 1e-7, less if y is small */
    double rtol; /* 0: 1e-5 */
    unsigned unused; /* inputs that may have no effect on the function */
    unsigned linear; /* gradgradcheck: inputs that may have no effect on the gradient */
    heed_gradcheck_report *report; /* set to the reason of a failure; NULL: not wanted */
    bool end;
} heed_gradcheck_args;
heed_status heed_gradcheck(heed_gradcheck_args args);
typedef heed_gradcheck_args heed_gradgradcheck_args;
heed_status heed_gradgradcheck(heed_gradgradcheck_args args);
#define heed_gradcheck(...)     HEED_CALL(heed_gradcheck, __VA_ARGS__)
#define heed_gradgradcheck(...) HEED_CALL(heed_gradgradcheck, __VA_ARGS__)

/* ======== Defining operations ======== */

/* An operation is a rule (the dtypes and shapes of the inputs and the result), a forward and a
 * backward. heed_apply does the rest. Your own are defined in the same way as the library's:
 * examples/custom_op.c is a complete example. */

typedef struct heed_op heed_op;

/* For heed_op.inputs: any number of inputs; and the number of elements of heed_op.saves. */
enum { HEED_ANY_COUNT = -1, HEED_SAVES = 4 };

/* Bits of heed_op.saves and heed_tensor.saved: one for each of the first inputs, one for y. */
enum { HEED_SAVED_INPUTS = 7, HEED_SAVES_OUTPUT = 1 << HEED_SAVED_INPUTS };
#define HEED_SAVES_INPUT(j) (1 << (j))

/* One application of an operation. */
typedef struct heed_call {
    const heed_op *op;
    heed_tensor *const *inputs;
    int count;
    const void *args; /* the non-tensor arguments, in a struct that the operation defines */
    size_t args_size;
} heed_call;

/* Describes the result, which either has its own memory (contiguous or, with is_strided, dense with
 * its dims in any order) or is a view of the first input. */
typedef struct heed_result {
    heed_dtype dtype;
    heed_shape shape;
    bool is_view, is_strided;
    int64_t strides[HEED_MAX_DIMS]; /* for a view or with is_strided, in elements */
    int64_t offset;                 /* for a view, in elements */
} heed_result;

/* One step of the backward pass: computes dL/dinput from dL/dy. */
typedef struct heed_vjp {
    heed_tensor *y, *g; /* the result and its gradient g = dL/dy */
    heed_tensor *const *inputs;
    const void *args;
    const bool *wanted;  /* one per input; read it with heed_wants_grad */
    heed_tensor **grads; /* set by backward: the gradient of each input, in y's broadcast shape or
                          * the input's own; NULL for none */
} heed_vjp;

/* The definition of an operation; NULL and 0 select the defaults. */
struct heed_op {
    const char *name;
    const char *torch; /* its name in grad_fn, if different: "mul" for mul_scalar */

    /* The inputs and the result, as the comment of the function states them:
     *
     *     "x (..., in) float, weight (out, in), bias? (out) -> (..., out)"
     *
     * A name in parentheses is a size, the same wherever it occurs. "..." is any number of dims,
     * which broadcast over the inputs that have it. An input without parentheses has any shape. A
     * dtype follows: float, number (not bool), i64, bool or any; if none does, that of the first
     * input. The last inputs may be optional ("?"). The result has the shape and dtype of the first
     * input, unless a shape or a dtype follows "->", where number makes i64 of bool, and float is
     * the dtype of the first float input, else f32. NULL: the rule checks all. */
    const char *signature;
    int inputs; /* without a signature: the number of inputs, or HEED_ANY_COUNT */

    /* The fields of the argument struct, in order, for display (heed_args_text): "int dim, bool
     * keepdim". Types: int, int64, double, bool, dtype, shape, dims; at any other the text ends. A
     * field whose name begins with _ is hidden. NULL: all are hidden. */
    const char *args;

    /* Checks what the signature cannot say, and completes the result, which is as the signature
     * says, or has the dtype and shape of the first input. NULL: nothing else to check. */
    heed_status (*rule)(const heed_call *call, heed_result *result);

    /* Computes y, which is contiguous unless the rule says otherwise, in a scope without grad mode.
     * Not called for views. NULL: the result is always a view. */
    heed_status (*forward)(const heed_call *call, heed_tensor *y);

    /* Sets the gradients, computed with Heed operations so that they can be differentiated again.
     * If heed_is_grad_enabled() is false, kernels may compute them instead. NULL: no gradient. */
    void (*backward)(const heed_vjp *vjp);

    /* saves[i]: the values that the gradient of input i reads: HEED_SAVES_INPUT(j) for input j,
     * HEED_SAVES_OUTPUT for y. All other values may have been freed; their shapes remain. Only the
     * gradients of the first HEED_SAVES inputs can read values: y and the first HEED_SAVED_INPUTS
     * inputs. Gradients of later inputs, as in cat, read none. */
    uint8_t saves[HEED_SAVES];

    heed_op *next;                /* in the registry */
    struct heed_pattern *pattern; /* in the registry: the parsed signature */
    bool is_inner;                /* one of Heed's own, whose errors unwind (autograd/autograd.h) */
};

/* heed_wants_grad: true if the gradient of input i is needed. Backward may skip the others. */
bool heed_wants_grad(const heed_vjp *vjp, int i);

/* heed_input_name: the name of input i: "weight"; without a signature, "input 1". heed_args_text:
 * "dim=-1", or "dims=(0, 1), keepdim=True", of an operation's arguments; of a node,
 * heed_args_text(t->op, t->args). Flags that are false and empty lists are omitted. */
heed_text heed_input_name(const heed_op *op, int i);
heed_text heed_args_text(const heed_op *op, const void *args);

/* heed_apply: the result of an operation: every operation goes through this function. It matches
 * the signature, runs the rule, allocates the result, runs forward, records the node if grad mode
 * is on and an input requires a gradient, and adds the result to the scope. Copies args_size bytes
 * from `args`. */
HEED_NEW *heed_apply(const heed_op *op, heed_tensor *const *inputs, int count, const void *args,
                     size_t args_size);

/* HEED_OPERATION(cube) = {...}; defines an operation op_cube, and registers it before main.
 * heed_register: registers one by hand, before other threads run. */
#define HEED_OPERATION(id)                                                                         \
    static heed_op op_##id;                                                                        \
    __attribute__((constructor)) static void register_##id(void)                                   \
    {                                                                                              \
        heed_register(&op_##id);                                                                   \
    }                                                                                              \
    static heed_op op_##id
void heed_register(heed_op *op);

/* heed_parallel_for: calls work(context, first, end) on ranges that together cover [0, count), on
 * the calling thread and the pool's; returns when all calls have finished. Like at::parallel_for.
 *
 *   grain   the minimum count per thread: a few microseconds of work
 *
 * Ranges differ from run to run, and results must not depend on them: split only independent work.
 * For a sum, split into chunks whose number depends on the shape alone, and add their totals in
 * order afterwards. `work` must not call the library and cannot fail; allocate what it needs
 * beforehand. */
typedef void heed_parallel_work(void *context, int64_t first, int64_t end);
void heed_parallel_for(int64_t count, int64_t grain, heed_parallel_work *work, void *context);

/* heed_alloc: `size` bytes, uninitialised, aligned to 16 bytes, from the allocator that tensors
 * use; NULL on failure. heed_alloc_zeroed: filled with zeros. heed_realloc: a block of `size` bytes
 * with the content of `block` (NULL: none), which is freed; if it fails, the old block is
 * unchanged. heed_free: frees a block that these functions returned; NULL is a no-op. */
void *heed_alloc(size_t size);
void *heed_alloc_zeroed(size_t size);
void *heed_realloc(void *block, size_t size);
void heed_free(void *block);

/* ======== Modules ======== */

/* A module is a struct whose first member is a heed_module, with named parameters, buffers and
 * children, as in torch.nn.Module. Its constructor allocates the struct, registers its members and
 * returns it, and need not check for errors:
 *
 *     struct gate {
 *         heed_module module;
 *         heed_tensor *scale;
 *         struct heed_linear *project;
 *     };
 *     HEED_MODULE_KIND(gate_kind, struct gate, "Gate", NULL, gate_forward);
 *
 *     struct gate *gate_new(int64_t d)
 *     {
 *         struct gate *m = heed_module_new(&gate_kind);
 *         HEED_PARAMETER(m, scale, heed_ones(HEED_SHAPE(d), HEED_F32));
 *         HEED_CHILD(m, project, heed_linear_new(d, d));
 *         return m;
 *     }
 *
 *     static heed_tensor *gate_forward(struct gate *m, heed_tensor *x)
 *     {
 *         HEED_FORWARD(m);
 *         return heed_mul(heed_linear_forward(m->project, x), m->scale);
 *     }
 *
 * Parameters have torch's names ("project.weight"). Constructors need no open scope. Module structs
 * have no typedef, because operations use the plain names: heed_linear is the function that a
 * `struct heed_linear` applies in its forward.
 *
 * If a registration fails, the module is incomplete: it can be freed, or added to a module, which
 * frees it and is then incomplete itself; all other functions refuse it with HEED_ERR_VALUE, as
 * they do a module that has been freed, where this can be detected. Constructors of the library
 * return NULL instead. */

/* A list of named tensors: parameters, state dicts. Owns neither tensors nor names. names may be
 * NULL where they are not used. */
typedef struct heed_tensor_list {
    int count;
    heed_tensor *const *tensors;
    const char *const *names;
} heed_tensor_list;

/* What a class is in Python. */
typedef struct heed_module_kind {
    const char *name; /* "Linear" */
    size_t size;      /* of the whole struct */
    /* Writes what a printed module shows in its parentheses; NULL: nothing. */
    void (*describe)(const void *module, char *text, size_t size);
    /* Frees everything except parameters, buffers and children; NULL: nothing to free. */
    void (*destroy)(void *module);
    /* The forward, for heed_forward, if it takes one tensor; else NULL. Never called while an error
     * is pending. */
    heed_tensor *(*forward)(void *module, heed_tensor *x);
} heed_module_kind;

/* A module's name and its owner's place. HEED_FORWARD enters and leaves it. */
typedef struct heed_place {
    const struct heed_place *outer; /* NULL: `name` is the kind of an outermost module */
    const char *name;
} heed_place;

/* HEED_MODULE_KIND: defines `kind` for a struct `type` whose forward, a function (type *,
 * heed_tensor *), takes one tensor; `describe` is as above. Others are defined directly, as
 * {.name = "Gate", .size = sizeof(struct gate)}. */
#define HEED_MODULE_KIND(kind, type, name, describe, forward)                                      \
    static heed_tensor *kind##_forward(void *module, heed_tensor *x)                               \
    {                                                                                              \
        return forward((type *)module, x);                                                         \
    }                                                                                              \
    static const heed_module_kind kind = {name, sizeof(type), describe, NULL, kind##_forward}

typedef struct heed_module_entry heed_module_entry;

/* The first member of every module. Change it only through the functions below. */
typedef struct heed_module {
    const heed_module_kind *kind;
    int alive;                  /* a mark until the module is freed */
    bool training;              /* initially true, as in torch */
    bool is_incomplete;         /* a registration failed, here or in a child */
    struct heed_module *owner;  /* of a child: the parent, which frees it */
    int index;                  /* of a child: of its entry in the parent */
    heed_place place;           /* its name in the parent */
    heed_module_entry *entries; /* in order of registration */
    int count;
    bool is_numbered; /* the names of its entries are 0, 1, 2, ... */
    int64_t capacity;
    struct heed_named_tensors *lists[2]; /* heed_parameters, heed_state_dict; or NULL */
} heed_module;

/* ---- for constructors; `module` is a pointer to any module ---- */

/* heed_module_new: allocates a struct of the kind's size, zeroed except for its heed_module. While
 * an error is pending, nothing can be added to it. */
void *heed_module_new(const heed_module_kind *kind);

/* heed_add_tensor: registers and retains a parameter, which then requires a gradient, or a buffer,
 * which is saved but not trained, and sets *field. heed_add_child: takes ownership of a module and
 * sets *field, a pointer to a module of any type; on error it frees the child, unless the child has
 * an owner or contains this module. field may be NULL. On error, *field becomes NULL.
 *
 * HEED_ERR_VALUE: the name is taken or contains a '.', the child has an owner or contains this
 * module. */
heed_status heed_add_tensor(void *module, const char *name, heed_tensor **field, heed_tensor *value,
                            bool is_buffer);
heed_status heed_add_child(void *module, const char *name, void *field, void *child);

/* HEED_PARAMETER, HEED_BUFFER, HEED_CHILD: the same, as statements with the field's name:
 * HEED_CHILD(m, project, child) is heed_add_child(m, "project", &m->project, child). m may be NULL
 * and is evaluated more than once. `value` is computed in a scope of its own, without a graph. */
#define HEED_PARAMETER(m, field, value)                                                            \
    HEED_IN_VALUE_SCOPE heed_add_tensor(m, #field, (m) != NULL ? &(m)->field : NULL, value, false)
#define HEED_BUFFER(m, field, value)                                                               \
    HEED_IN_VALUE_SCOPE heed_add_tensor(m, #field, (m) != NULL ? &(m)->field : NULL, value, true)
#define HEED_CHILD(m, field, child)                                                                \
    heed_add_child(m, #field, (m) != NULL ? &(m)->field : NULL, child)

/* For these macros: runs the next statement once, in a scope; in none while an error is pending. */
#define HEED_IN_VALUE_SCOPE                                                                        \
    for (HEED_SCOPE_FROM(heed_value_scope(&heed_scope_of_value), heed_scope_of_value),             \
         *heed_value_left = &heed_scope_of_value;                                                  \
         heed_value_left != NULL; heed_value_left = NULL)
heed_scope heed_value_scope(heed_scope *scope);

/* heed_module_free: frees a module and everything it owns; NULL is a no-op. HEED_ERR_VALUE: the
 * module is a child, which its owner frees. */
heed_status heed_module_free(void *module);

/* HEED_FORWARD(module): the first statement of a forward. Until its block ends, operations belong
 * to this module, so traces and errors name it. heed_forward does the same. */
#define HEED_FORWARD(module)                                                                       \
    const heed_place *heed_place_before __attribute__((cleanup(heed_leave_place), unused)) =       \
        heed_begin_forward(module)

/* For this macro; `module` may be NULL. */
const heed_place *heed_enter_place(const heed_place *place);
void heed_leave_place(const heed_place **before);
static inline const heed_place *heed_begin_forward(const void *module)
{
    return heed_enter_place(module != NULL ? &((const heed_module *)module)->place : NULL);
}

/* ---- for users ---- */

/* heed_forward: runs a module of any kind whose forward takes one tensor, like torch's m(x): for a
 * Linear, heed_linear_forward(m, x); the tutorial's attention gets no mask.
 * HEED_ERR_VALUE: the module's kind has no such forward. */
heed_tensor *heed_forward(void *module, heed_tensor *x);

/* heed_parameters: all parameters, each once, the module's own before its children's, like torch's
 * named_parameters(). heed_state_dict: parameters and buffers under all their names, like
 * state_dict(). The lists belong to the module and are valid until it changes or is freed; empty on
 * error. heed_state: the parameter or buffer of that name. HEED_ERR_VALUE: no such name. */
heed_tensor_list heed_parameters(void *module);
heed_tensor_list heed_state_dict(void *module);
heed_tensor *heed_state(void *module, const char *name);

/* heed_set_parameter: replaces a registered parameter with another tensor, like m.weight = value in
 * torch: retains the new tensor, releases the old one, and sets *field, which may be NULL. Given
 * the weight of another module, it ties the two: training, casts and files treat them as one
 * parameter with two names. Call this before creating an optimiser, which would keep updating the
 * old tensor. On error nothing changes.
 *
 * HEED_ERR_VALUE: this module has no parameter of that name; children are not searched.
 * HEED_ERR_GRAPH: value is not a leaf. */
heed_status heed_set_parameter(void *module, const char *name, heed_tensor **field,
                               heed_tensor *value);

/* Like torch's: heed_zero_grad: clears all gradients. heed_train, heed_eval: set or clear the
 * training flag of the module and all its descendants. heed_module_to(m, dtype): casts all
 * floating-point parameters and buffers, in place, so tied parameters stay tied, and optimisers
 * that have not stepped yet stay valid; gradients are cleared. heed_module_print: prints the tree;
 * for stream errors, check ferror(stream). */
heed_status heed_zero_grad(void *module);
heed_status heed_train(void *module);
heed_status heed_eval(void *module);
heed_status heed_module_to(void *module, heed_dtype dtype);
heed_status heed_module_print(FILE *stream, void *module);

/* ---- layers: f32 at first; activations are functions: heed_relu, heed_gelu, ... ----
 *
 * HEED_ERR_VALUE, here and in attention modules: a size is below 1; of an embedding, below 0. */

struct heed_linear {
    heed_module module;
    heed_tensor *weight; /* (out_features, in_features), as in torch */
    heed_tensor *bias;   /* (out_features), or NULL */
    int64_t in_features, out_features;
};

/* heed_linear_new(in_features, out_features, .no_bias = true): as torch.nn.Linear
 *
 * weight and then bias are drawn uniformly from +-1 / sqrt(in_features), as in torch. They are f32;
 * cast with heed_module_to. heed_linear_forward: heed_linear, y = x weight^T + bias. */
typedef struct heed_linear_new_args {
    int64_t in_features, out_features;
    bool no_bias; /* torch's bias=False */
    bool end;
} heed_linear_new_args;
struct heed_linear *heed_linear_new(heed_linear_new_args args);
#define heed_linear_new(...) HEED_CALL(heed_linear_new, __VA_ARGS__)
HEED_NEW *heed_linear_forward(struct heed_linear *m, heed_tensor *x);

struct heed_embedding {
    heed_module module;
    heed_tensor *weight; /* (num_embeddings, embedding_dim) */
    int64_t num_embeddings, embedding_dim;
};

/* heed_embedding_new: as torch.nn.Embedding(num_embeddings, embedding_dim): weight is drawn from a
 * normal distribution with mean 0 and standard deviation 1.
 * heed_embedding_forward: ids (...) i64 -> (..., embedding_dim)        y[...] = weight[ids[...]] */
struct heed_embedding *heed_embedding_new(int64_t num_embeddings, int64_t embedding_dim);
HEED_NEW *heed_embedding_forward(struct heed_embedding *m, heed_tensor *ids);

struct heed_position_encoding {
    heed_module module;
    heed_tensor *pe; /* (max_len, d_model), a buffer */
};

/* heed_position_encoding_new: sinusoidal positions (Vaswani et al., 2017, section 3.5)
 *
 *   pe[t, 2i] = sin(t / 10000^(2i / d_model))    pe[t, 2i + 1] = cos(t / 10000^(2i / d_model))
 *   forward: x (..., T, d_model) -> (..., T, d_model)            y = x + pe[:T]
 *
 * If d_model is odd, the last column is a sine. */
struct heed_position_encoding *heed_position_encoding_new(int64_t d_model, int64_t max_len);
HEED_NEW *heed_position_encoding_forward(struct heed_position_encoding *m, heed_tensor *x);

struct heed_layer_norm {
    heed_module module;
    heed_tensor *weight, *bias; /* (normalized_shape) */
    heed_shape normalized_shape;
    double eps; /* 1e-5; may be changed at any time */
};

/* heed_layer_norm_new: as torch.nn.LayerNorm(normalized_shape) (Ba et al., 2016); HEED_SHAPE(n)
 * normalises the last dim. weight is all ones and bias all zeros. heed_layer_norm_forward:
 * heed_layer_norm. HEED_ERR_SHAPE: not one dim, or a negative size. */
struct heed_layer_norm *heed_layer_norm_new(heed_shape normalized_shape);
HEED_NEW *heed_layer_norm_forward(struct heed_layer_norm *m, heed_tensor *x);

struct heed_dropout {
    heed_module module;
    double p; /* may be changed at any time */
};

/* heed_dropout_new: as torch.nn.Dropout(p) (Srivastava et al., 2014); torch's default is 0.5.
 * heed_dropout_forward: heed_dropout(x, p, training): after heed_eval it returns x itself.
 * HEED_ERR_VALUE: p is outside [0, 1]. */
struct heed_dropout *heed_dropout_new(double p);
HEED_NEW *heed_dropout_forward(struct heed_dropout *m, heed_tensor *x);

struct heed_feed_forward {
    heed_module module;
    struct heed_linear *linear1, *linear2; /* d_model to d_ff, and back */
};

/* heed_feed_forward_new: the network of a transformer (Vaswani et al., 2017, section 3.3),
 * initialised and named as in torch.nn.TransformerEncoderLayer. The paper uses d_ff = 4 * d_model.
 *
 *   x (..., d_model) -> (..., d_model)           y = relu(x W_1^T + b_1) W_2^T + b_2 */
struct heed_feed_forward *heed_feed_forward_new(int64_t d_model, int64_t d_ff);
HEED_NEW *heed_feed_forward_forward(struct heed_feed_forward *m, heed_tensor *x);

/* heed_module_list_new: as torch.nn.ModuleList(), empty: modules whose names are 0, 1, 2, ...
 * heed_module_list_append: takes ownership of a module, as heed_add_child.
 * heed_module_list_count: the number of modules. heed_module_list_at: child i. HEED_ERR_INDEX: i is
 * outside [0, count). */
struct heed_module_list {
    heed_module module;
};
struct heed_module_list *heed_module_list_new(void);
heed_status heed_module_list_append(struct heed_module_list *list, void *child);
int heed_module_list_count(const struct heed_module_list *list);
void *heed_module_list_at(const struct heed_module_list *list, int i);

/* ======== Attention ======== */

/* ---- as operations ---- */

/* heed_scaled_dot_product_attention(q, k, v, ...): as torch.nn.functional's in PyTorch 2.5 and
 * later (Vaswani et al., 2017, section 3.2.1)
 *
 *   q (..., L, E) float, k (..., S, E), v (..., S, Ev), mask? any -> (..., L, Ev)
 *
 * The batch dims are the same. The mask is bool or of q's dtype, and broadcasts to the scores,
 * (..., L, S).
 *
 *   y = dropout(p) v        p = softmax(scale q k^T, masked)
 *   dv = p^T g      ds = p (g v^T - sum(g v^T p, dim -1))
 *   dq = scale ds k      dk = scale ds^T q
 *
 * In a bool mask, true means KEEP: it is heed_logical_not of the block masks that modules take
 * (docs/attention.md). A float mask is added to the scores, and its gradient is ds. With is_causal,
 * query i sees only keys 0 ... i, whatever L and S are. A query whose keys are all masked gives
 * zeros with zero gradients, never NaN.
 *
 * Without dropout and .weights, the scores are never stored (Rabe and Staats,
 * 2021): memory grows with L + S, not with L * S; second derivatives and the gradient of a float
 * mask do store them. y has the memory layout of q: if the H heads of q are a view of
 * (..., L, H E), heed_transpose and heed_flatten turn y into (..., L, H Ev) without a copy.
 *
 * Instead of torch's enable_gqa, repeat the heads of k and v (docs/pytorch.md).
 *
 * HEED_ERR_VALUE: is_causal with a mask, dropout_p outside [0, 1], a scale that is not finite. */
typedef struct heed_scaled_dot_product_attention_args {
    heed_tensor *q, *k, *v, *mask;
    double dropout_p; /* applied whenever it is above 0: pass 0 outside of training */
    bool is_causal;
    double scale;          /* 0: 1 / sqrt(E) */
    heed_tensor **weights; /* set to dropout(p), (..., L, S), or to NULL on error */
    bool end;
} heed_scaled_dot_product_attention_args;
heed_tensor *heed_scaled_dot_product_attention(heed_scaled_dot_product_attention_args args);
#define heed_scaled_dot_product_attention(...)                                                     \
    HEED_CALL(heed_scaled_dot_product_attention, __VA_ARGS__)

/* heed_rope(x, positions, ...): rotates pairs of features by angles that grow with the position (Su
 * et al., RoFormer, 2021, section 3.4.2). Applied to queries and keys before their product, it
 * makes a score depend on how far apart they are, not on where they are.
 *
 *   x (..., T, d) float, positions? (T) i64 -> (..., T, d)
 *   y[t] has the pairs  (a cos w - b sin w, a sin w + b cos w),  w = positions[t] base^(-2i / d)
 *   dx: g rotated by -w
 *
 * The pairs (a, b) are (x[t, i], x[t, i + d / 2]), the halves of GPT-NeoX and of Llama in
 * transformers, or .interleaved (x[t, 2i], x[t, 2i + 1]), the neighbours of the paper and of GPT-J.
 * Weights trained with one do not fit the other.
 *
 * positions may have any shape that broadcasts with x's without its last dim, as (N, 1, T) for
 * x (N, heads, T, d), and be negative; NULL: 0, 1, ... T - 1. Angles are computed in f64.
 *
 * HEED_ERR_SHAPE: d is odd. HEED_ERR_VALUE: base is not a positive number. */
typedef struct heed_rope_args {
    heed_tensor *x, *positions;
    double base;      /* 0: 10000 */
    bool interleaved; /* neighbours instead of halves */
    bool end;
} heed_rope_args;
HEED_NEW *heed_rope(heed_rope_args args);
#define heed_rope(...) HEED_CALL(heed_rope, __VA_ARGS__)

/* ---- as modules: the tutorial's, and torch's ----
 *
 * The first two are those of Josh Starmer's lesson "Coding Self-Attention in PyTorch". Tokens are
 * blocked where a block_mask is true; docs/attention.md has the other kinds of masks. */

struct heed_self_attention {
    heed_module module;
    struct heed_linear *W_q, *W_k, *W_v; /* each (head_dim, d_model), without bias */
    int row_dim, col_dim;                /* the dims of tokens and of features */
    bool keep_weights;                   /* store attention_percent below on each forward */
    heed_tensor *attention_percent;      /* a detached copy, until the next one; or NULL */
};

/* heed_self_attention_new(d_model, row_dim, col_dim): like the tutorial's SelfAttention
 *
 * row_dim and col_dim are the dims of tokens and features, which must be the last two: 0 and 1 for
 * (T, d_model), the tutorial's default; 1 and 2 for (B, T, d_model); -2 and -1 for either. The
 * forward checks them. W_q, W_k and W_v are drawn in that order. */
typedef struct heed_self_attention_new_args {
    int64_t d_model;
    int row_dim, col_dim; /* both 0: 0 and 1 */
    int64_t head_dim;     /* of queries, keys and values; 0: d_model */
    int64_t kv_dim;       /* features of what heed_cross_attention_forward attends to; 0: d_model */
    bool end;
} heed_self_attention_new_args;
struct heed_self_attention *heed_self_attention_new(heed_self_attention_new_args args);
#define heed_self_attention_new(...) HEED_CALL(heed_self_attention_new, __VA_ARGS__)

/* heed_self_attention_forward
 *
 *   token_encodings (..., T, d_model), block_mask? (..., T, T) bool -> (..., T, head_dim)
 *
 *   q = x W_q^T   k = x W_k^T   v = x W_v^T
 *   attention = softmax(q k^T / sqrt(head_dim), -inf where block_mask) v
 *
 * A fully masked row gives zeros and zero gradients. (The tutorial's class, which fills with -1e9,
 * gives all tokens in such a row equal weights; PyTorch's softmax with -inf gives NaN.)
 * heed_self_attention_forward_weights: also sets *weights to softmax(...), of shape (..., T, T), in
 * the caller's scope and with gradients, or to NULL on error; weights may be NULL.
 * heed_cross_attention_forward: the same with keys and values of another sequence, such as an
 * encoder's: encodings_for_kv (..., S, kv_dim), block_mask (..., T, S).
 *
 * HEED_ERR_DIM: row_dim and col_dim are not the last two dims of token_encodings. HEED_ERR_SHAPE:
 * also if the batch dims differ. */
heed_tensor *heed_self_attention_forward(struct heed_self_attention *m,
                                         heed_tensor *token_encodings, heed_tensor *block_mask);
heed_tensor *heed_self_attention_forward_weights(struct heed_self_attention *m,
                                                 heed_tensor *token_encodings,
                                                 heed_tensor *block_mask, heed_tensor **weights);
heed_tensor *heed_cross_attention_forward(struct heed_self_attention *m,
                                          heed_tensor *encodings_for_q,
                                          heed_tensor *encodings_for_kv, heed_tensor *block_mask);

struct heed_multi_head {
    heed_module module;
    struct heed_module_list *heads; /* of struct heed_self_attention */
    struct heed_linear *W_o;        /* (d_model, heads * head_dim), without bias */
    int row_dim, col_dim;
};

/* heed_multi_head_new(d_model, heads, row_dim, col_dim): draws `heads` heads in order, then W_o.
 * Parameters are named heads.0.W_q.weight ... W_o.weight. */
typedef struct heed_multi_head_new_args {
    int64_t d_model;
    int heads;
    int row_dim, col_dim; /* as for SelfAttention */
    int64_t head_dim;     /* 0: d_model, as in the tutorial; the paper uses d_model / heads */
    bool end;
} heed_multi_head_new_args;
struct heed_multi_head *heed_multi_head_new(heed_multi_head_new_args args);
#define heed_multi_head_new(...) HEED_CALL(heed_multi_head_new, __VA_ARGS__)

/* heed_multi_head_forward
 *
 *   token_encodings (..., T, d_model), block_mask? (..., T, T) bool -> (..., T, d_model)
 *   y = cat(head_0(x), head_1(x), ...) W_o^T
 *
 * heed_multi_head_head: one head; with heed_multi_head_head(m, 0)->keep_weights = true, the next
 * forward keeps its attention. HEED_ERR_INDEX: head is outside [0, heads). */
heed_tensor *heed_multi_head_forward(struct heed_multi_head *m, heed_tensor *token_encodings,
                                     heed_tensor *block_mask);
struct heed_self_attention *heed_multi_head_head(struct heed_multi_head *m, int head);

/* torch.nn.MultiheadAttention, to load models trained in PyTorch. Unlike heed_multi_head, it splits
 * embed_dim among the heads, has biases and dropout, and may attend to another sequence. */

struct heed_multihead_attention {
    heed_module module;
    heed_tensor *in_proj_weight; /* (3 * embed_dim, embed_dim): rows for q, then k, then v */
    heed_tensor *in_proj_bias;   /* (3 * embed_dim), or NULL */
    struct heed_linear *out_proj;
    int num_heads;
    double dropout; /* of attention weights, in training mode */
    bool batch_first;
};

/* heed_multihead_attention_new(embed_dim, num_heads, ...): as torch.nn.MultiheadAttention, with its
 * initialisation and names: in_proj_weight, in_proj_bias, out_proj.weight, out_proj.bias.
 *
 * HEED_ERR_VALUE: num_heads does not divide embed_dim, or dropout is outside [0, 1]. */
typedef struct heed_multihead_attention_new_args {
    int64_t embed_dim;
    int num_heads;
    double dropout;
    bool no_bias;     /* torch's bias=False */
    bool batch_first; /* (N, L, E), as most other modules; not (L, N, E) */
    bool end;
} heed_multihead_attention_new_args;
struct heed_multihead_attention *
heed_multihead_attention_new(heed_multihead_attention_new_args args);
#define heed_multihead_attention_new(...) HEED_CALL(heed_multihead_attention_new, __VA_ARGS__)

/* heed_multihead_attention_forward(m, query, key, value, ...): as torch's forward
 *
 *   query (L, N, embed_dim), key (S, N, embed_dim), value (S, N, embed_dim) -> (L, N, embed_dim)
 *
 * With batch_first, the shapes are (N, L, ...) and (N, S, ...). For one sequence, N is 1.
 *
 *   q = query W_q^T + b_q, likewise k and v
 *   q_h = features h * head_dim ... (h + 1) * head_dim - 1 of q, likewise k_h and v_h
 *   y = out_proj(cat over h of softmax(q_h k_h^T / sqrt(head_dim), masked) v_h)
 *
 * All given masks apply; is_causal needs no attn_mask, whereas torch takes it as a hint that
 * attn_mask is causal. A query that may not attend to any key gets zero weights, and y is
 * out_proj's bias (torch may give NaN). weights are softmax(...) after dropout, as torch's with
 * average_attn_weights=False; NULL on error. */
typedef struct heed_multihead_attention_forward_args {
    struct heed_multihead_attention *m;
    heed_tensor *query, *key, *value;
    heed_tensor *key_padding_mask; /* (N, S); true BLOCKS */
    heed_tensor *attn_mask;        /* (L, S); true BLOCKS */
    bool is_causal;                /* query i attends to keys 0 ... i only */
    heed_tensor **weights;         /* set to those of each head, (N, num_heads, L, S) */
    bool end;
} heed_multihead_attention_forward_args;
heed_tensor *heed_multihead_attention_forward(heed_multihead_attention_forward_args args);
#define heed_multihead_attention_forward(...)                                                      \
    HEED_CALL(heed_multihead_attention_forward, __VA_ARGS__)

/* ---- masks ---- */

/* heed_causal_block_mask: (length, length), true above the diagonal: blocks attention to later
 * tokens, like torch.tril(torch.ones(n, n)) == 0. heed_padding_block_mask: blocks the padding of
 * sequences of different lengths, for all queries:
 *
 *   lengths (...) i64 -> (..., 1, max_length) bool, true where column >= length
 *
 * lengths (B) give (B, 1, T), which broadcasts to a batch's scores (B, T, T); heed_logical_or
 * combines it with other block masks. For a key_padding_mask (B, T), use heed_squeeze(mask, -2).
 * Padding tokens still attend like the others; ignore their outputs.
 *
 * HEED_ERR_SHAPE: a size is negative. HEED_ERR_VALUE: a length is outside [0, max_length]. */
HEED_NEW *heed_causal_block_mask(int64_t length);
HEED_NEW *heed_padding_block_mask(heed_tensor *lengths, int64_t max_length);

/* ======== Losses and optimisers ======== */

/* ---- losses ---- */

/* heed_mse_loss: as torch.nn.functional.mse_loss(input, target). For another reduction, write the
 * formula: heed_sum(heed_square(...)). Of the two tensors, at least one is a float.
 *
 *   input (...), target (...) -> ()              the same shape
 *   y = mean of (input - target)^2
 *   dinput = 2 g (input - target) / count          dtarget = -dinput */
HEED_NEW *heed_mse_loss(heed_tensor *input, heed_tensor *target);

/* What becomes of the losses of all targets. */
typedef enum heed_reduction {
    HEED_MEAN, /* the default: mean over the targets that are not ignored; NaN if there are none */
    HEED_SUM,  /* sum */
    HEED_NONE, /* no reduction: losses with the shape of the targets */
} heed_reduction;

/* heed_cross_entropy(logits, targets, ...): as torch.nn.functional.cross_entropy
 *
 *   logits float, targets i64      (N, C), (N) -> ()
 *   y = mean over the targets t of -log_softmax(logits)[t]
 *   dlogits = g (softmax(logits) - one_hot(t)) / count
 *
 * Flatten (B, T, C) logits first: heed_flatten(logits, 0, 1).
 *
 * HEED_ERR_INDEX: a target outside [0, C). HEED_ERR_VALUE: an invalid option. */
typedef struct heed_cross_entropy_args {
    heed_tensor *logits, *targets;
    int64_t ignore_index;   /* targets equal to it are ignored; 0: torch's -100 */
    bool ignore_class_0;    /* torch's ignore_index=0 */
    double label_smoothing; /* in [0, 1]: this share of each target is spread over all classes */
    heed_reduction reduction;
    bool end;
} heed_cross_entropy_args;
HEED_NEW *heed_cross_entropy(heed_cross_entropy_args args);
#define heed_cross_entropy(...) HEED_CALL(heed_cross_entropy, __VA_ARGS__)

/* ---- optimisers, as in torch.optim ----
 *
 * Between backward and step, a training loop may have
 *
 *     heed_clip_grad_norm(heed_parameters(model), 1.0);
 *     adam->lr = heed_warmup_cosine_lr(adam->steps, 1e-3, 100, 1000, 1e-4);
 *
 * Gradients accumulate until zero_grad, so a batch too large for memory can be split into k equal
 * parts: heed_backward(heed_div_scalar(loss_of_part, k)) for each, in a scope of its own, then one
 * step. */

/* The state of a parameter: SGD's momentum buffer, or both moments of Adam. */
typedef struct heed_optimizer_slot {
    heed_tensor *state[2]; /* NULL before the first gradient */
    int64_t steps;         /* steps with a gradient */
} heed_optimizer_slot;

/* An optimiser. The options may be changed at any time; the rest is for reading. */
typedef struct heed_optimizer {
    double lr, weight_decay;
    double momentum;          /* of SGD */
    double betas[2], eps;     /* of Adam and AdamW */
    bool decay_matrices_only; /* parameters with fewer than 2 dims have no weight decay */
    bool is_sgd, decoupled;
    const char *name;                 /* "SGD", "Adam", "AdamW" */
    int64_t steps;                    /* taken so far */
    heed_tensor_list parameters;      /* retained, named as in their list or numbered */
    heed_optimizer_slot *slots;       /* one per parameter */
    struct heed_named_tensors *named; /* owns `parameters` */
} heed_optimizer;

/* heed_sgd_new: as torch.optim.SGD
 *
 *   d = g + weight_decay p
 *   b = momentum b + d           only with momentum; else b = d
 *   p = p - lr b
 *
 * heed_adam_new: as Adam (Kingma and Ba, 2015). heed_adamw_new: as AdamW (Loshchilov and Hutter,
 * 2019), whose weight_decay (0.01 in torch) shrinks the parameters themselves.
 *
 *   AdamW:  p = (1 - lr weight_decay) p          Adam:  g = g + weight_decay p
 *   m = beta1 m + (1 - beta1) g
 *   v = beta2 v + (1 - beta2) g^2
 *   p = p - lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
 *
 * heed_adamw_new(parameters, lr, weight_decay, .betas = {0.9, 0.95}); all options are also fields:
 * sgd->momentum = 0.9, adam->weight_decay = 0.1.
 *
 * HEED_ERR_VALUE: a rate, decay or eps is negative or not finite; a beta is outside [0, 1); no
 * tensors, or a repeated one. HEED_ERR_GRAPH: a tensor is not a leaf that requires a gradient. */
heed_optimizer *heed_sgd_new(heed_tensor_list parameters, double lr);
heed_optimizer *heed_adam_new(heed_tensor_list parameters, double lr);
typedef struct heed_adamw_new_args {
    heed_tensor_list parameters;
    double lr, weight_decay;
    double betas[2];          /* both 0: 0.9 and 0.999 */
    double eps;               /* 0: 1e-8 */
    bool decay_matrices_only; /* no weight decay for biases and the weights of norms */
    bool end;
} heed_adamw_new_args;
heed_optimizer *heed_adamw_new(heed_adamw_new_args args);
#define heed_adamw_new(...) HEED_CALL(heed_adamw_new, __VA_ARGS__)

/* heed_optimizer_step: updates every parameter that has a gradient. While an error is pending it
 * does nothing, so the gradients of a failed backward are never applied. heed_optimizer_zero_grad:
 * clears the gradients. heed_optimizer_free: also releases the parameters; NULL is a no-op.
 *
 * HEED_ERR_SHAPE: a parameter was reshaped or cast after its first step. HEED_ERR_VALUE: an option
 * is out of its range. On error no parameter changes. */
heed_status heed_optimizer_step(heed_optimizer *optimizer);
heed_status heed_optimizer_zero_grad(heed_optimizer *optimizer);
void heed_optimizer_free(heed_optimizer *optimizer);

/* heed_clip_grad_norm: as torch.nn.utils.clip_grad_norm_(parameters, max_norm): scales all
 * gradients by max_norm / (norm + 1e-6) if that is below 1, and returns their total norm before
 * scaling. To measure the norm only, pass INFINITY. As in torch, an infinite or NaN norm turns
 * gradients into 0 or NaN. HEED_ERR_VALUE: max_norm is negative or NaN. */
double heed_clip_grad_norm(heed_tensor_list parameters, double max_norm);

/* heed_warmup_cosine_lr: the learning rate of a step, 0 for the first: rises linearly over `warmup`
 * steps (0: none), starting at lr / (warmup + 1), then falls to eta_min along half a cosine wave
 * until step `total`, and stays there. In torch: SequentialLR of LinearLR and CosineAnnealingLR.
 * HEED_ERR_VALUE: step or warmup is negative, total is not greater than warmup, or a rate is not
 * finite. */
double heed_warmup_cosine_lr(int64_t step, double lr, int64_t warmup, int64_t total,
                             double eta_min);

/* ======== Files ======== */

/* Files of named tensors, as in safetensors.torch: PyTorch can read the files that Heed writes, and
 * vice versa. The whole header is validated before any data is used; malformed files are rejected
 * safely.
 *
 * HEED_ERR_FILE: the system reports an error. HEED_ERR_FORMAT: not a safetensors file, a damaged
 * one, or one with a dtype that Heed does not read. */

/* Metadata of a file: pairs of strings in UTF-8, terminated by {NULL, NULL}, such as a model's
 * options or vocabulary; transformers expects {"format", "pt"}. */
typedef struct heed_metadata {
    const char *key, *value;
} heed_metadata;

/* heed_save_file: writes tensors under their names, like safetensors.torch.save_file. `metadata`
 * may be NULL.
 *
 * The file is replaced atomically: the new one is written next to it (as path.tmp.PID.N), synced
 * and renamed. On any error, or if the program or the machine crashes, the old file is unchanged.
 * Its permissions are kept; a symbolic link is replaced.
 *
 * HEED_ERR_VALUE: a name is repeated or "__metadata__", or a text is not UTF-8.
 * HEED_ERR_FILE: names and metadata of more than 100 MB, too. */
heed_status heed_save_file(heed_tensor_list tensors, const char *path,
                           const heed_metadata *metadata);

/* heed_safetensors_open: reads and validates the header, like safe_open(path); tensors are read on
 * demand. heed_safetensors_close frees it together with the names and metadata returned from it.
 * heed_safetensors_count, heed_safetensors_name: the names in the file, sorted, like keys().
 * heed_safetensors_tensor: reads the tensor of that name, like get_tensor(name).
 * heed_safetensors_metadata: the value of `key`; NULL without an error if it is missing.
 *
 * HEED_ERR_INDEX: i is outside [0, count). HEED_ERR_VALUE: no tensor of that name. */
typedef struct heed_safetensors heed_safetensors;
heed_safetensors *heed_safetensors_open(const char *path);
void heed_safetensors_close(heed_safetensors *file);
int heed_safetensors_count(const heed_safetensors *file);
const char *heed_safetensors_name(const heed_safetensors *file, int i);
HEED_NEW *heed_safetensors_tensor(const heed_safetensors *file, const char *name);
const char *heed_safetensors_metadata(const heed_safetensors *file, const char *key);

/* heed_save_state_dict: writes all parameters and buffers of a module, under the names of
 * heed_state_dict, which are torch's. A tensor with several names is written under each of them.
 * In PyTorch: model.load_state_dict(safetensors.torch.load_file(path)).
 *
 * heed_load_state_dict(module, path): copies the tensors from a file into the parameters and
 * buffers with the same names, in place and cast to their float dtype, so optimisers and tied
 * parameters stay valid. On error nothing changes. If a tensor has several names, the file needs
 * only one of them; the last one counts.
 *
 * HEED_ERR_VALUE: a name is missing or unexpected, or a shape or dtype differs. */
typedef struct heed_load_state_dict_args {
    void *module;
    const char *path;
    bool no_strict; /* ignore names that only the file or only the module has */
    bool end;
} heed_load_state_dict_args;
heed_status heed_save_state_dict(void *module, const char *path, const heed_metadata *metadata);
heed_status heed_load_state_dict(heed_load_state_dict_args args);
#define heed_load_state_dict(...) HEED_CALL(heed_load_state_dict, __VA_ARGS__)

/* heed_save_checkpoint: writes everything needed to resume training as if it had never stopped:
 *
 *   the names of heed_state_dict               the model; PyTorch loads these with strict=False
 *   optimizer.AdamW.steps                      i64 (), with the optimiser's name, like its options
 *   optimizer.AdamW.lr .weight_decay ...       f64 ()
 *   optimizer.state.W.step                     steps of parameter W with a gradient; i64 ()
 *   optimizer.state.W.exp_avg .exp_avg_sq      Adam and AdamW: moments, in W's shape
 *   optimizer.state.W.momentum_buffer          SGD with momentum
 *   rng_state                                  i64: the generator of this thread
 *
 * and `about`, for instance the program's options. Without an optimiser (NULL), only the model and
 * rng_state are written. Call it between two steps; gradients are not saved.
 *
 * heed_load_checkpoint: restores model, optimiser and this thread's generator, all constructed like
 * the saved ones; optimizer->steps is the step to resume from. If optimizer is NULL, only the model
 * is loaded, for evaluation. On error nothing changes.
 *
 * HEED_ERR_VALUE: as heed_load_state_dict, or a number is invalid for this optimiser. */
heed_status heed_save_checkpoint(void *module, heed_optimizer *optimizer, const char *path,
                                 const heed_metadata *about);
heed_status heed_load_checkpoint(void *module, heed_optimizer *optimizer, const char *path);

/* ======== Looking ======== */

/* heed_trace: prints each operation and derivative of this thread to a stream from now on; NULL: no
 * longer. Returns the previous one.
 * A line has the module, the arguments, shapes, dtypes unless f32, and the value of a single
 * element. g is the complete dL/dy; the lines below show the gradients of the inputs. */
FILE *heed_trace(FILE *stream);

/* ---- hooks: your callbacks for the operations and derivatives of a thread, as PyTorch's ----
 * A hook sees the operations that the program and its modules apply in its thread, not those inside
 * another operation; those of derivatives only under create_graph, as kernels do the work
 * otherwise. What a callback computes is not seen, but recorded in the graph like everything else.
 * Its tensors belong to a scope that ends with the callback; retain what you keep. An error that a
 * callback leaves pending fails the operation or the pass. Hooks change no bit of any result. */

typedef struct heed_hook heed_hook;
struct heed_hook {
    void *context; /* yours */

    /* An operation has computed y. Return y or NULL to keep it, or a tensor of the same shape and
     * dtype to replace it; gradients flow through what the callback computed. NULL: no callback. */
    heed_tensor *(*result)(heed_hook *self, const heed_call *call, heed_tensor *y);

    /* The derivative of vjp->y has computed vjp->grads from g = dL/dy; they have the shapes of the
     * inputs and have not been added to others yet. Read them only. NULL: no callback. */
    void (*derivative)(heed_hook *self, const heed_vjp *vjp);

    heed_hook *next; /* in the list of its thread */
};

/* heed_hook_add: adds a hook to those of this thread, which are called in this order; the next sees
 * the replacement. The struct is not copied. heed_hook_remove: a no-op if it was not added. Both
 * also work while an error is pending, but not inside callbacks. heed_in_backward: true while a
 * backward pass runs in this thread. */
void heed_hook_add(heed_hook *hook);
void heed_hook_remove(heed_hook *hook);
bool heed_in_backward(void);

/* heed_module_path: the module whose forward is running, as "GPT.transformer.h.0.attn.c_attn": the
 * kind of the outermost one in this thread, and the names under which the others are registered; ""
 * if none is. If the path is too long, its first names are omitted. heed_origin_path: the one when
 * the node was created, if hooks were there. */
heed_text heed_module_path(void);
heed_text heed_origin_path(const heed_tensor *node);

/* ---- in the terminal ---- */

typedef enum heed_color { HEED_COLOR_AUTO, HEED_COLOR_NEVER, HEED_COLOR_ALWAYS } heed_color;

/* heed_heat_map: prints a matrix of weights in percent, with labelled rows and columns; larger
 * weights have brighter cells. HEED_COLOR_AUTO uses 256 colours if the stream is a terminal and
 * NO_COLOR is not set, and shade characters otherwise: blocks if the locale is UTF-8, else ASCII.
 *
 *   weights (rows, columns) float; labels: one for each row or column, or NULL
 *
 * Labels are UTF-8 text of any origin: controls and invalid bytes are shown as "?". If lines are
 * wider than the terminal, or COLUMNS if set, cells shrink. Stream errors are left to the caller.
 */
heed_status heed_heat_map(FILE *stream, heed_tensor *weights, const char *const *row_labels,
                          const char *const *column_labels, heed_color color);

/* A watch shows the values of a training loop on a terminal and writes them to a CSV file.
 *
 *     heed_watch *w = heed_watch_new(.steps = 1000, .terminal = stderr, .csv = "run.csv");
 *     for (int step = 1; step <= 1000; step++) {
 *         ...
 *         heed_watch_value(w, "loss", heed_item(loss));
 *         heed_watch_step(w);
 *     }
 *     heed_watch_free(w);
 *
 * The terminal gets a bar with the remaining time, or about ten lines if it is a pipe or a file.
 * The CSV file gets a row a step, and a column for each name; a pipe, only for those known at the
 * first heed_watch_step. A cell is empty if its step has no such value, or NaN. A terminal or a
 * file that cannot be written while training is one warning: no error, and no signal such as
 * SIGPIPE. All functions ignore a NULL watch. */

typedef struct heed_watch heed_watch;

/* heed_watch_new: NULL on error. What the arguments point to must outlive the watch.
 * HEED_ERR_FILE: the file cannot be written. HEED_ERR_VALUE: an existing file is that of
 * an earlier run, or was not written by a watch. */
typedef struct heed_watch_new_args {
    int64_t steps;   /* in the whole run; 0: unknown, so neither bar nor remaining time is shown */
    int64_t resumed; /* steps taken before; the file keeps their rows and loses later ones */
    const char *csv; /* a file that a new run creates, or that of the resumed run */
    bool replace;    /* an earlier run's file */
    FILE *terminal;
    int64_t every;            /* steps between lines; 0: about ten lines per run */
    const char *const *shown; /* names to show, ending with NULL; NULL: all */
    const char *step_name;    /* NULL: "step" */
    bool end;
} heed_watch_new_args;
heed_watch *heed_watch_new(heed_watch_new_args args);
#define heed_watch_new(...) HEED_CALL(heed_watch_new, __VA_ARGS__)

/* heed_watch_value: sets a value of the step that the next heed_watch_step ends, which shows and
 * writes them. heed_watch_steps: those ended so far, with those before a resumed run.
 * heed_watch_pause: removes the bar, so that the caller can print; the next step draws it again.
 * heed_watch_free: replaces the bar with the last values.
 *
 * HEED_ERR_VALUE: the name is empty, has more than 60 bytes, commas, quotes or control characters,
 * or is the 65th. */
heed_status heed_watch_value(heed_watch *w, const char *name, double value);
heed_status heed_watch_step(heed_watch *w);
int64_t heed_watch_steps(const heed_watch *w);
void heed_watch_pause(heed_watch *w);
void heed_watch_free(heed_watch *w);

/* ======== Checking attention ======== */

/* Checks attention code: is it attention, and if not, which mistake is it?
 *
 *     heed_attention_check(my_attention, model, .d_model = 64, .heads = 4, .causal = true,
 *                          .module = model, .stream = stdout);
 *
 * Most mistakes in attention leave shapes and losses plausible. The function is therefore checked
 * as a black box. Parameters, gradients, training flags and the generator are the same afterwards.
 */

/* x (B, T, d_model) -> (B, T, any width), without the B if .unbatched. */
typedef heed_tensor *heed_attention_function(heed_tensor *x, void *context);

/* Whether and how outputs depend on positions: not at all; on distances (ALiBi, rotary); on the
 * index of a token (sines, a table). */
typedef enum heed_attention_positions {
    HEED_POSITIONS_NONE,
    HEED_POSITIONS_RELATIVE,
    HEED_POSITIONS_ABSOLUTE
} heed_attention_positions;

/* What holds for every attention, whatever its weights. */
typedef enum heed_attention_checks {
    HEED_CHECK_REPEAT,  /* the same input twice gives the same output, and it is finite */
    HEED_CHECK_BATCH,   /* another sequence, or another place in the batch, changes nothing */
    HEED_CHECK_REACH,   /* dy_i/dx_j: each allowed pair has an effect, no blocked pair has */
    HEED_CHECK_VALUES,  /* nor one that gradients do not see (detach, argmax) */
    HEED_CHECK_ORDER,   /* f(Px) = P f(x) for a permutation P; without mask and positions. With
                         * positions, the order of the tokens before it changes the last output */
    HEED_CHECK_EQUAL,   /* equal tokens give what one gives, as weights sum to 1: f(x, x, x) = f(x);
                         * in a layer alone, dy_i/dx_j of equal tokens is the same for all j */
    HEED_CHECK_LENGTH,  /* T from 1 to the longest works; causal: a prefix has the same outputs */
    HEED_CHECK_PADDING, /* tokens that the mask blocks change nothing, the others do */
    HEED_CHECK_PARAMETERS, /* each receives a gradient and is registered */
    HEED_CHECK_CACHE,      /* one token at a time gives what all at once give */
    HEED_CHECK_FORMULA,   /* y is softmax(q k^T / sqrt(d_head)) v W_o^T, whatever the parameters are
                           * called; if not, the known mistakes, and pairs of them, that reproduce y
                           * are named */
    HEED_ATTENTION_CHECKS /* their number */
} heed_attention_checks;

typedef enum heed_verdict {
    HEED_VERDICT_SKIPPED, /* does not apply; the text says why */
    HEED_VERDICT_PASSED,
    HEED_VERDICT_FAILED,
    HEED_VERDICT_UNKNOWN /* cannot tell; the text says why */
} heed_verdict;

enum { HEED_CHECK_TOKENS = 8 }; /* tokens of the inputs, if .longest is not less */

/* What heed_attention_check found. */
typedef struct heed_attention_report {
    bool passed; /* no check failed */
    struct {
        heed_verdict verdict;
        double worst; /* the largest relative deviation from what should hold; 0 if skipped */
        char text[240];
    } checks[HEED_ATTENTION_CHECKS];
    int tokens; /* T */
    /* |dy_i/dx_j| for query i and key j, relative to the largest; and what should be: '#' an
     * effect, '.' none, '?' either (a query that may not see itself still affects its row). */
    double reach[HEED_CHECK_TOKENS][HEED_CHECK_TOKENS];
    char expected[HEED_CHECK_TOKENS][HEED_CHECK_TOKENS];
    char assumed[300]; /* options that are not given and guessed, and why; "" if none */
    char mistake[600]; /* the likely mistake and the remedy, one sentence each; "" if unknown */
} heed_attention_report;

/* heed_attention_check(f, context, .d_model = 64, ...): HEED_OK if no check failed. Takes less
 * than 0.1 s with 64 features, about 0.5 s with 768. Options that are not given are guessed if the
 * outputs show them: .causal, .heads, .positions, .unbatched, .f32; the report says so.
 * HEED_ERR_CHECK: a check failed; the message is the likely mistake. HEED_ERR_NULL: no function, or
 * it returned NULL. HEED_ERR_SHAPE: the mask is not (T, T), or f returns other dims than
 * (B, T, ...). HEED_ERR_VALUE: d_model is missing, an option does not fit the others, or f gives
 * random outputs though the generator is reset before each call. Errors of f are returned, too. */
typedef struct heed_attention_part {
    heed_attention_function *f; /* gets the module as its context */
    void *module;
} heed_attention_part;

typedef struct heed_attention_check_args {
    heed_attention_function *f;
    void *context;
    int64_t d_model;         /* features of x; required */
    int heads;               /* 0: 1, or what makes y the formula */
    bool causal;             /* token i sees tokens 0 to i */
    heed_tensor *block_mask; /* or: bool (T, T), T <= 8, true blocks; f applies the same one */
    heed_attention_positions positions;
    int64_t longest; /* the most tokens that f accepts; 0: 8 */
    bool unbatched;  /* x is (T, d_model): the tutorial's row_dim 0, col_dim 1 */
    int layers;      /* layers of attention; 0: 1 */
    bool block;      /* f is more than attention: a residual, norms, a feed-forward network */
    bool extra_keys; /* bias_k, zero_attn, sinks: weights of the tokens sum to less than 1 */
    void *module;    /* cast to f64 and set to eval during the check; NULL: f32 */
    double scale;    /* that scores are multiplied by; 0: 1 / sqrt(d_head) */
    int64_t ids;     /* f takes token ids, i64 (B, T), below this; 0: x has d_model features */
    /* Attention inside f, as of the layers of a model: the formula is checked of each. Ends with
     * {0}; NULL: f itself is one. */
    const heed_attention_part *parts;
    bool f32; /* do not cast: f creates f32 tensors of its own; may cast x to f32 and back */
    /* f with a key_padding_mask, bool (B, T), true blocks; NULL: not checked */
    heed_tensor *(*padded)(heed_tensor *x, heed_tensor *key_padding_mask, void *context);
    /* f of one token, x (B, 1, d_model), with a cache that is emptied at position 0; NULL: not
     * checked */
    heed_tensor *(*step)(heed_tensor *x, int64_t position, void *context);
    uint64_t seed;                 /* of the inputs; 0: 1 */
    FILE *stream;                  /* the report is printed here; NULL: not printed */
    heed_attention_report *report; /* and stored here; NULL: not stored */
    bool end;
} heed_attention_check_args;
heed_status heed_attention_check(heed_attention_check_args args);
#define heed_attention_check(...) HEED_CALL(heed_attention_check, __VA_ARGS__)

/* ======== Machine ======== */

/* heed_set_num_threads: sets the number of threads, 1 ... 256, that compute an operation together,
 * including the calling one, like torch.set_num_threads. The default is the environment variable
 * HEED_NUM_THREADS, else the number of processors available to the process. Results do not depend
 * on it. heed_get_num_threads: the current number. */
heed_status heed_set_num_threads(int count);
int heed_get_num_threads(void);

/* heed_set_flush_denormal: makes the calling thread's arithmetic, not only Heed's, treat subnormal
 * numbers as 0, as torch.set_flush_denormal(enabled); off by default. Arithmetic on them takes up
 * to a hundred times as long on many processors. Returns false if the machine does not support it:
 * x86-64 and aarch64 do. */
bool heed_set_flush_denormal(bool enabled);

/* heed_isa: the instruction set in use: "baseline", "v3" (AVX2) or "v4" (AVX-512) on x86-64,
 * "baseline" elsewhere. To choose another one, set the environment variable HEED_ISA before the
 * first tensor is made. If it, or HEED_NUM_THREADS, is invalid, creating a tensor fails with
 * HEED_ERR_VALUE. */
const char *heed_isa(void);

/* HEED_VERSION: the version of this header. heed_build_info: that of the library in use, compiler,
 * machine and threads, in a line for bug reports, even while an error is pending. */
#define HEED_VERSION "0.2.0"
heed_text heed_build_info(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
