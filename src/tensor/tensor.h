/* What the files of this room share, and rooms above may use (internal). */
#ifndef HEED_TENSOR_TENSOR_H
#define HEED_TENSOR_TENSOR_H

#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../heed.h"
#include "kernels/kernels.h"

#if defined __i386__ && !defined __SSE2_MATH__
#error "x87 rounds to extended precision: build with -msse2 -mfpmath=sse"
#endif

/* Multiplications and additions fuse in kernels alone (kernels/instance.h). Elsewhere they round
 * one by one, as in PyTorch, also where the processor could fuse them. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined __FP_FAST_FMA
#pragma GCC optimize("fp-contract=off")
#endif

/* After a jump a door returns at once and reads no variable, so none can be clobbered. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC diagnostic ignored "-Wclobbered"
#endif

/* The state of a thread, its free blocks, and how much work is worth another thread. A field is
 * written only by the file named in its comment. The fields are in one struct because one operation
 * touches most of them. */

#ifdef HEED_DEBUG /* a debug build: make DEBUG=1 */
enum { HEED_IS_DEBUG = 1 };
#else
enum { HEED_IS_DEBUG = 0 };
#endif

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define HEED_SYSTEM_ALLOCATOR 1
#endif
#elif defined __SANITIZE_ADDRESS__
#define HEED_SYSTEM_ALLOCATOR 1
#endif
#ifndef HEED_SYSTEM_ALLOCATOR
#define HEED_SYSTEM_ALLOCATOR 0
#endif

enum {
    HEED_SMALL_CLASSES = 17, /* blocks of up to 512 bytes: most tensors */
    HEED_SIZE_CLASSES = HEED_SMALL_CLASSES + 4 * 40,
    HEED_MOST_OF_A_MESSAGE = 8192
};

/* A free block, in a list of its size class. */
typedef struct heed_block {
    struct heed_block *next;
} heed_block;

/* The large part of a thread's state, allocated with its first block or error, until it ends. */
typedef struct heed_thread_rest {
    heed_block *free[HEED_SIZE_CLASSES - HEED_SMALL_CLASSES]; /* alloc.c */
    char message[HEED_MOST_OF_A_MESSAGE];                     /* error.c */
    heed_generator generator;                                 /* random/random.c */
} heed_thread_rest;

/* The shared library keeps this struct in static TLS, of which glibc leaves about 1.6 KB to
 * libraries loaded by dlopen: what is large belongs in the rest. */
typedef struct heed_thread {
    unsigned error;                   /* the pending heed_status (error.c) */
    const char *message;              /* of the last error; NULL: none yet */
    int depth;                        /* of the innermost open scope; 0: none is open (scope.c) */
    struct heed_tensor *tensors;      /* of all open scopes, innermost first (scope.c) */
    const char *operation;            /* in progress; named in out-of-memory errors */
    const char *derivative;           /* of this operation; named in errors (backward.c) */
    const struct heed_place *place;   /* of the module that is running (autograd/hook.c) */
    int64_t fail_countdown;           /* allocations until one fails; 0: off (alloc.c) */
    int64_t live_tensors, live_bytes; /* made by this thread minus freed by it */
    struct heed_hook *hooks;          /* autograd/hook.c */
    struct heed_door *door;           /* the innermost open door; NULL in callers' code (error.c) */
    int outermost;                    /* depth at which the running callback began (error.c) */
    bool grad_disabled;
    bool unread;      /* no one has read the pending error (error.c) */
    int unread_depth; /* of the scope in which it occurred */

    heed_block *free[HEED_SMALL_CLASSES]; /* alloc.c */
    heed_thread_rest *rest;               /* NULL: not needed yet, or memory ran out (error.c) */
    int64_t system_requests;              /* blocks requested from the system (alloc.c) */
    int64_t failures_left, failures;      /* injected: still to come, so far (error.c) */
} heed_thread;

/* Use heed_self directly: TLS relaxation breaks UBSan's null check on a pointer to it. */
extern _Thread_local heed_thread heed_self;

/* heed_rest_of_thread: the rest of this thread's state; NULL, without an error, without memory.
 * From then on, the end of the thread is seen through heed_thread_key (scope.c). */
heed_thread_rest *heed_rest_of_thread(void);
extern pthread_key_t heed_thread_key;
extern bool heed_has_thread_key;

/* heed_fails_allocation: called before each allocation; true if a test makes it fail. */
bool heed_fails_allocation(void);

/* heed_blocked: true if an error is pending; nothing is then computed. */
static inline bool heed_blocked(void)
{
    return heed_self.error != 0; /* HEED_OK */
}

/* heed_report_unread: prints the pending error if it is unread (error.c): "heed: `beginning` an
 * error that it never read: ..." */
void heed_report_unread(const char *beginning);

/* ---- errors unwind: the door (error.c jumps, scope.c lands) ----
 *
 * The public function that a program calls opens a door. While one is open, heed_fail and
 * heed_raise do not return: they jump to it, and the public function returns NULL or the error. So
 * the code behind a door checks nothing, and its functions return what they make.
 *
 * A jump loses nothing: where it lands, all tensors are released that have joined the thread's list
 * since the door was opened, and every tensor and scratch block joins that list when it is made.
 * The depth of scopes, the grad mode, the module path and the names for messages are restored.
 * Anything else (heed_alloc, files, marks in a graph) needs heed_try. Cleanup attributes do not
 * run. No lock may be held where anything can fail; work of heed_parallel_for cannot fail.
 *
 * A door is closed while a program's own code runs (callbacks: hooks, functions of gradcheck, a
 * program's operations, the error handler), so that no jump crosses it: heed_callback_begin. */
typedef struct heed_door {
    jmp_buf jump;
    struct heed_door *outer; /* NULL: none */
    struct heed_tensor *tensors;
    const char *operation, *derivative;
    const struct heed_place *place;
    int depth;
    bool grad_disabled;
} heed_door;

/* HEED_DOOR(failed): the first statement of a public function whose code may fail: returns `failed`
 * after an error. Inside another door it does nothing. What follows should be short, or a call, as
 * compilers optimise functions that call setjmp less. */
#define HEED_DOOR(failed)                                                                          \
    if (heed_blocked()) {                                                                          \
        return failed;                                                                             \
    }                                                                                              \
    heed_door door __attribute__((cleanup(heed_close_door)));                                      \
    door.outer = heed_self.door;                                                                   \
    if (door.outer == NULL) {                                                                      \
        heed_open_door(&door);                                                                     \
        if (setjmp(door.jump) != 0) {                                                              \
            heed_land(&door);                                                                      \
            return failed;                                                                         \
        }                                                                                          \
    }

static inline void heed_open_door(heed_door *door)
{
    door->outer = heed_self.door;
    door->tensors = heed_self.tensors;
    door->operation = heed_self.operation;
    door->derivative = heed_self.derivative;
    door->place = heed_self.place;
    door->depth = heed_self.depth;
    door->grad_disabled = heed_self.grad_disabled;
    heed_self.door = door;
}

static inline void heed_close_door(const heed_door *door)
{
    heed_self.door = door->outer;
}

/* heed_raise: heed_fail behind a door; never returns. heed_jump: jumps to the door, with an error
 * pending. heed_land: makes the thread as it was when the door was opened.
 * heed_try: calls work(context) in a scope and behind a door of its own, for code that must clean
 * up after an error. Afterwards the thread is as before, but for the pending error. */
/* cppcheck does not know _Noreturn. */
__attribute__((noreturn)) void heed_raise(heed_status status, const char *format, ...)
    HEED_PRINTF(2, 3);
__attribute__((noreturn)) void heed_jump(void);
void heed_land(const heed_door *door);
heed_status heed_try(void (*work)(void *context), void *context);

/* heed_pass_on: after an error, jumps to the door if one is open. Returns the status. */
static inline heed_status heed_pass_on(void)
{
    if (heed_self.error != 0 && heed_self.door != NULL) {
        heed_jump();
    }
    return heed_self.error;
}

/* heed_callback_begin, heed_callback_end: close all doors around a program's own code, and open
 * them again, from where an error that it left pending is raised. */
typedef struct heed_callback {
    heed_door *door;
    int outermost;
} heed_callback;

static inline heed_callback heed_callback_begin(void)
{
    const heed_callback outer = {heed_self.door, heed_self.outermost};
    heed_self.door = NULL;
    heed_self.outermost = heed_self.depth;
    return outer;
}

static inline void heed_callback_end(heed_callback outer)
{
    heed_self.door = outer.door;
    heed_self.outermost = outer.outermost;
}

/* ---- blocks without a header ----
 *
 * The caller passes the size again when freeing a block; a wrong size corrupts the free lists. The
 * functions in heed.h store the size instead. For sizes that are compile-time constants, such as
 * those of handles, the path to and from the free lists is inlined: about ten instructions. */

/* heed_alloc_sized: `size` bytes, uninitialised, aligned to 64 bytes if `size` is 256 or more, else
 * to 16. Raises HEED_ERR_MEMORY. heed_free_sized: frees a block from heed_alloc_sized(size); NULL
 * is a no-op. */
void *heed_alloc_sized(size_t size);
void heed_free_sized(void *block, size_t size);

/* Size classes: multiples of 32 up to 512, then 640 768 896 1024, 1280 ... */
static inline int heed_class_of(size_t size)
{
    if (size <= 512) {
        return (int)((size + 31) / 32);
    }
    int octave = 63 - __builtin_clzll((unsigned long long)(size - 1)); /* 2^octave < size */
    int quarter = (int)((size - 1) >> (octave - 2)) & 3;
    return 4 * (octave - 9) + quarter + HEED_SMALL_CLASSES;
}

/* heed_blocks_of: this thread's free list of a class; NULL if it has none. */
static inline heed_block **heed_blocks_of(int class)
{
    if (class < HEED_SMALL_CLASSES) {
        return &heed_self.free[class];
    }
    return heed_self.rest != NULL ? &heed_self.rest->free[class - HEED_SMALL_CLASSES] : NULL;
}

/* heed_allocator_keeps_blocks: false if freed blocks are not reused at once, as in sanitizer
 * builds, which return them to the system, and in debug builds, which fill them. */
static inline bool heed_allocator_keeps_blocks(void)
{
    return !HEED_SYSTEM_ALLOCATOR && !HEED_IS_DEBUG;
}

/* heed_pop_block: heed_alloc_sized from the free list only. NULL: call heed_alloc_sized.
 * heed_push_block: heed_free_sized to the free list only. False: call heed_free_sized. */
static inline void *heed_pop_block(size_t size)
{
    heed_block **list = heed_blocks_of(heed_class_of(size));
    heed_block *block = list != NULL ? *list : NULL;
    if (block == NULL || heed_self.fail_countdown != 0) {
        return NULL;
    }
    *list = block->next;
    heed_self.live_bytes += (int64_t)size;
    return block;
}

static inline bool heed_push_block(void *block, size_t size)
{
    if (!heed_allocator_keeps_blocks() || heed_self.rest == NULL) {
        return false;
    }
    heed_block **list = heed_blocks_of(heed_class_of(size)), *freed = block;
    freed->next = *list;
    *list = freed;
    heed_self.live_bytes -= (int64_t)size;
    return true;
}

/* ---- how much work is worth another thread ----
 *
 * A grain is the minimum work per thread, a few microseconds; less would not pay for waking the
 * thread and sharing cache lines. Grains are given in elements, one for each kind of work. Times,
 * per element and per grain, are estimates for one AVX-512 core with data in cache, unless noted.
 */
enum {
    HEED_GRAIN_OF_ELEMENTS = 8192, /* element-wise work, copies: 0.15 to 0.3 ns each, 2 us */
    HEED_GRAIN_OF_ROWS = 16384,    /* row kernels such as softmax: 0.5 ns each, 8 us */
    HEED_GRAIN_OF_UPDATES = 16384, /* optimiser steps: 0.1 to 0.35 ns each, 4 us */
    HEED_GRAIN_OF_SUMS = 32768,    /* sums: 0.1 to 0.25 ns each, 5 us */
};

/* Matrix products, in multiply-adds; a core does about 50 per nanosecond in f32. */
enum {
    HEED_GRAIN_OF_PRODUCTS = 1 << 20, /* 20 us */
    HEED_LITTLE_PRODUCT = 1 << 18,    /* below: no workspace; one product stays on its thread */
    HEED_LARGE_PRODUCT = 1 << 24,     /* above: the kernel splits each product */
};

/* ---- elements, arguments, files and arrays ---- */

/* heed_is_float: true for f32 and f64. heed_dtype_size: bytes per element; 0 for an invalid
 * dtype. */
static inline bool heed_is_float(heed_dtype dtype)
{
    return dtype == HEED_F32 || dtype == HEED_F64;
}

static inline size_t heed_dtype_size(heed_dtype dtype)
{
    static const uint8_t sizes[] = {
        [HEED_F32] = 4, [HEED_F64] = 8, [HEED_I64] = 8, [HEED_BOOL] = sizeof(bool)};
    return (unsigned)dtype < HEED_DTYPES ? sizes[dtype] : 0;
}

/* Checks of arguments, whose errors name function and argument.
 *
 * heed_check_tensor: HEED_ERR_NULL: t is NULL. HEED_ERR_SCOPE: its value has been freed. Returns
 * the error.
 * heed_check_scope: HEED_ERR_SCOPE: no scope is open to own a result. heed_check_operand: both.
 * heed_check_value: HEED_ERR_VALUE: i64 cannot represent this number. Floats round.
 * heed_check_probability: HEED_ERR_VALUE: p is outside [0, 1]. */
heed_status heed_fail_tensor(const char *function, const char *argument, const heed_tensor *t);
static inline heed_status heed_check_tensor(const char *function, const char *argument,
                                            const heed_tensor *t)
{
    return t != NULL && t->storage != NULL ? heed_self.error
                                           : heed_fail_tensor(function, argument, t);
}
void heed_check_scope(const char *function);
void heed_check_operand(const char *function, const char *argument, const heed_tensor *x);
void heed_check_value(const char *function, double value, heed_dtype dtype);
void heed_check_probability(const char *function, const char *argument, double p);

/* heed_write: like POSIX's write, but failures raise no signal: a pipe without a reader gives
 * EPIPE, and a file that would exceed its size limit (ulimit -f) gives EFBIG. */
int64_t heed_write(int fd, const void *data, size_t size);

/* heed_nanoseconds: of the monotonic clock (parallel.c). */
int64_t heed_nanoseconds(void);

/* heed_grow: an array with space for one more element of `size` bytes after the first `count`:
 * `array`, or its content in a block of twice the *capacity. NULL on failure, as heed_realloc. */
void *heed_grow(void *array, int64_t count, int64_t *capacity, size_t size);

/* The memory behind one or more tensors. It lies in the block of the tensor that was made with it
 * (handle.c). */
struct heed_storage {
    void *data;
    size_t bytes;
    int references;   /* number of tensors that use it */
    uint32_t version; /* increased by every in-place change */
};

/* heed_tensor_new: a contiguous tensor with its own storage and uninitialised elements.
 * heed_tensor_like: the same with t's shape and dtype, which are not checked again.
 * heed_tensor_view: a tensor on t's storage. `offset` counts elements from t->data.
 * heed_scratch: uninitialised memory, like that of a tensor. Never free it.
 *
 * `function` names the caller in errors, which are raised. All belong to the innermost scope. */
heed_tensor *heed_tensor_new(const char *function, const heed_shape *shape, heed_dtype dtype);
void *heed_scratch(size_t size);
heed_tensor *heed_tensor_like(const heed_tensor *t);
heed_tensor *heed_tensor_view(const char *function, const heed_tensor *t, int ndim,
                              const int64_t *shape, const int64_t *strides, int64_t offset);

/* ---- counts ---- */

/* For the functions below. heed_release_value: releases t's storage, which is freed with its last
 * tensor. heed_release_handle: frees the handle, and the part of the graph that only it kept
 * alive. */
void heed_release_value(heed_tensor *t);
void heed_release_handle(heed_tensor *t);

/* A reference keeps the handle alive, a use keeps its value; heed_ref and heed_unref change both
 * counts. */
static inline void heed_drop_reference(heed_tensor *t)
{
    if (--t->references == 0) {
        heed_release_handle(t);
    }
}

static inline void heed_drop_use(heed_tensor *t)
{
    if (--t->uses == 0) {
        heed_release_value(t);
    }
}

static inline void heed_ref(heed_tensor *t)
{
    t->references++;
    t->uses++;
}

static inline void heed_unref(heed_tensor *t)
{
    if (--t->references == 0) {
        heed_release_handle(t); /* and the value */
    } else {
        heed_drop_use(t);
    }
}

/* heed_raise_version: call it after changing t's elements. */
static inline void heed_raise_version(heed_tensor *t)
{
    t->storage->version++;
}

/* heed_number_at: the element data[offset] of any dtype, as a double.
 * heed_set_number_at: sets it, cast as in C. */
static inline double heed_number_at(const heed_tensor *t, int64_t offset)
{
    return t->dtype == HEED_F32   ? (double)((const float *)t->data)[offset]
           : t->dtype == HEED_F64 ? ((const double *)t->data)[offset]
           : t->dtype == HEED_I64 ? (double)((const int64_t *)t->data)[offset]
                                  : ((const bool *)t->data)[offset];
}

static inline void heed_set_number_at(heed_tensor *t, int64_t offset, double value)
{
    if (t->dtype == HEED_F32) {
        ((float *)t->data)[offset] = (float)value;
    } else if (t->dtype == HEED_F64) {
        ((double *)t->data)[offset] = value;
    } else if (t->dtype == HEED_I64) {
        ((int64_t *)t->data)[offset] = (int64_t)value;
    } else {
        ((bool *)t->data)[offset] = value != 0;
    }
}

/* heed_replace_grad: replaces t->grad with `grad` (NULL: none), taking over its counts. */
void heed_replace_grad(heed_tensor *t, heed_tensor *grad);

/* heed_share_storage: makes the leaf t use the storage of `value`, which has t's shape, and clears
 * t->grad, like torch's t.data = value. */
void heed_share_storage(heed_tensor *t, const heed_tensor *value);

/* ---- the thread's list of tensors owned by its scopes, and scopes for Heed's own functions ----
 *
 * Defined in scope.c. The innermost scope's tensors come first. Each tensor
 * stores the depth of its scope; depths never increase along the list, so ending a scope removes a
 * prefix of it. */

/* heed_join_scope: passes the caller's reference and use to the innermost scope, which is open. */
static inline void heed_join_scope(heed_tensor *t)
{
    t->scope_depth = heed_self.depth;
    t->next = heed_self.tensors;
    heed_self.tensors = t;
}

/* heed_end_depth: ends the scopes at this depth and deeper. HEED_ERR_SCOPE: more than one was open.
 * heed_release_scopes: the same without an error. */
heed_status heed_end_depth(int depth);
void heed_release_scopes(int depth);

/* heed_frame_begin, heed_frame_end: a scope around a forward function or a derivative. It begins
 * and ends in one function, so it needs none of the checks of a caller's scope. If no tensor joined
 * it, as in most forward functions, it costs a few instructions. An error ends it too. */
typedef struct heed_frame {
    int depth;
    bool grad_disabled; /* to restore */
} heed_frame;

static inline heed_frame heed_frame_begin(bool grad_disabled)
{
    const heed_frame frame = {++heed_self.depth, heed_self.grad_disabled};
    heed_self.grad_disabled = heed_self.grad_disabled || grad_disabled;
    return frame;
}

static inline void heed_frame_end(heed_frame frame)
{
    const heed_tensor *last = heed_self.tensors;
    heed_self.grad_disabled = frame.grad_disabled;
    if (heed_self.depth == frame.depth && (last == NULL || last->scope_depth < frame.depth)) {
        heed_self.depth--;
    } else {
        heed_end_depth(frame.depth);
    }
}

/* heed_take_from_scope: gives the caller a reference and a use of t: those of the innermost scope
 * if t was the last tensor to join it, new ones otherwise. */
static inline void heed_take_from_scope(heed_tensor *t)
{
    if (heed_self.tensors == t && t->scope_depth == heed_self.depth) {
        heed_self.tensors = t->next;
        t->next = NULL;
        t->scope_depth = 0;
    } else {
        heed_ref(t);
    }
}

/* The shape of a tensor as text, for messages. */
#define HEED_TEXT(t) (heed_shape_text((t)->ndim, (t)->shape).text)

/* heed_count_elements: the product of the sizes. Fails for negative sizes, too many dims, or more
 * bytes than can be addressed. */
int64_t heed_count_elements(const char *function, int ndim, const int64_t *shape, heed_dtype dtype);

/* heed_wrap_dim: maps a dim in [-ndim, ndim) to [0, ndim); as in torch, a scalar accepts 0 and -1.
 * heed_wrap_dims: the same for a list, returned as a bit set; fails if a dim is given twice. */
int heed_wrap_dim(const char *function, int dim, int ndim);
unsigned heed_wrap_dims(const char *function, heed_dims dims, int ndim);

/* heed_wrapped: heed_wrap_dim for a dim that has been checked. */
static inline int heed_wrapped(int dim, int ndim)
{
    return dim >= 0 ? dim : dim + (ndim > 0 ? ndim : 1);
}

/* heed_row_major: the strides of a contiguous tensor. heed_is_row_major: true if t has them. */
static inline void heed_row_major(int ndim, const int64_t *shape, int64_t *strides)
{
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= shape[i] > 1 ? shape[i] : 1;
    }
}

static inline bool heed_is_row_major(const heed_tensor *t)
{
    int64_t stride = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->strides[i] != stride && t->shape[i] != 1 && t->numel > 0) {
            return false;
        }
        stride *= t->shape[i];
    }
    return true;
}

static inline void heed_get_shape(const heed_tensor *t, heed_shape *shape)
{
    shape->ndim = t->ndim;
    for (int i = 0; i < t->ndim; i++) {
        shape->size[i] = t->shape[i];
    }
}

/* heed_has_sizes, heed_has_shape: true if t has this shape. heed_same_shape: true if a and b have
 * the same shape. */
static inline bool heed_has_sizes(const heed_tensor *t, int ndim, const int64_t *shape)
{
    bool same = t->ndim == ndim;
    for (int i = 0; same && i < ndim; i++) {
        same = t->shape[i] == shape[i];
    }
    return same;
}

static inline bool heed_has_shape(const heed_tensor *t, const heed_shape *shape)
{
    return heed_has_sizes(t, shape->ndim, shape->size);
}

static inline bool heed_same_shape(const heed_tensor *a, const heed_tensor *b)
{
    return heed_has_sizes(a, b->ndim, b->shape);
}

/* heed_is_expanded: true if several indices share an element, so that t cannot be overwritten.
 * heed_broadcasts_to: true if t can be broadcast to this shape. */
static inline bool heed_is_expanded(const heed_tensor *t)
{
    bool expanded = false;
    for (int i = 0; i < t->ndim; i++) {
        expanded = expanded || (t->shape[i] > 1 && t->strides[i] == 0);
    }
    return expanded;
}

static inline bool heed_broadcasts_to(const heed_tensor *t, const heed_shape *shape)
{
    const int added = shape->ndim - t->ndim;
    bool fits = added >= 0;
    for (int i = 0; fits && i < t->ndim; i++) {
        fits = t->shape[i] == 1 || t->shape[i] == shape->size[added + i];
    }
    return fits;
}

/* heed_dense_strides: the strides that torch gives a tensor made like x: without gaps, with the
 * dims in the same memory order as in x. */
void heed_dense_strides(const heed_tensor *x, int64_t *strides);

/* heed_broadcast: writes the common shape of two, or fails with an error that names both; without
 * `function` it returns false. */
bool heed_broadcast(const char *function, const heed_shape *a, const heed_shape *b,
                    heed_shape *out);

/* heed_broadcast_strides: t's strides when broadcast to a larger shape: 0 for repeated dims. */
void heed_broadcast_strides(const heed_tensor *t, int ndim, const int64_t *shape, int64_t *strides);

/* heed_utf8_read: the length in bytes, 1 to 4, of the character at `text`, which ends in '\0'; sets
 * *code to its code point. Returns 0 and sets *code to 0 if it is invalid: a wrong first byte,
 * truncated, overlong, a surrogate, or past U+10FFFF.
 * heed_is_utf8: true if the whole text is valid. */
int heed_utf8_read(const char *text, uint32_t *code);
bool heed_is_utf8(const char *text);

/* heed_show_name: a name truncated to about 60 bytes, with control characters replaced, since
 * they could send commands to the terminal. heed_show_path: the same, keeping the last 90 bytes
 * or so. */
heed_text heed_show_name(const char *name);
heed_text heed_show_path(const char *path);

/* ---- products of matrices and of batches of matrices, with any strides (batch_gemm.c) ---- */

/* heed_is_one_matrix: true if all batch dims of t have size 1. */
bool heed_is_one_matrix(const heed_tensor *t);

/* heed_multiply: y (..., m, n) = a (..., m, k) b (..., k, n), or with the last two dims of a or b
 * transposed. a and b may have any strides; their batch dims broadcast to those of y, which is
 * contiguous. All have the same dtype, not bool.
 * heed_multiply_rows: the same for matrices that are all rows of a tensor (..., columns), plus
 * bias (n), which may be NULL.
 * HEED_ERR_MEMORY: no memory for the workspace; the result is unchanged. */
void heed_multiply(const heed_tensor *a, bool transposed_a, const heed_tensor *b, bool transposed_b,
                   heed_tensor *y);
void heed_multiply_rows(const heed_tensor *a, bool transposed_a, const heed_tensor *b,
                        bool transposed_b, const heed_tensor *bias, heed_tensor *c);

/* ---- layer_norm of rows (reduce.c) ---- */

/* heed_share_rows: calls work(context, first, end) for rows of n elements, with at least `grain`
 * elements per thread. */
static inline void heed_share_rows(int64_t rows, int64_t n, int64_t grain, heed_parallel_work *work,
                                   void *context)
{
    heed_parallel_for(rows, grain / (n + 1) + 1, work, context);
}

/* heed_normalise_rows: computes y for all rows.
 * heed_normalise_rows_gradient: computes dx, and adds dweight and dbias of each chunk of rows to
 * totals (chunks, 2, n), which the caller has zeroed. The number of chunks (heed_chunks_of_rows)
 * depends on the shape alone, so sums do not depend on the number of threads. */
void heed_normalise_rows(const heed_normalisation *all, heed_dtype dtype);
int64_t heed_chunks_of_rows(const heed_normalisation *all);
void heed_normalise_rows_gradient(const heed_normalisation *all, heed_dtype dtype);

/* ---- attention over all heads of a batch (attention_heads.c) ----
 *
 * A kernel call handles one head; autograd/ops/dot_product_attention.c has the definition. */

/* q (..., L, E), k (..., S, E), v (..., S, Ev), y and g (..., L, Ev), with equal batch dims. mask
 * is bool or additive and broadcasts to (..., L, S); NULL: no mask. Rows of y, g, dq, dk and dv are
 * contiguous. */
typedef struct heed_all_heads {
    const heed_tensor *q, *k, *v, *mask;
    double scale;
    bool is_causal;
    heed_tensor *y;
    const heed_tensor *g, *dq, *dk, *dv; /* for gradients */
} heed_all_heads;

/* heed_attend_heads: y = softmax(scale q k^T, masked) v; if g = dL/dy is set: dq, dk and dv.
 * HEED_ERR_MEMORY: no memory for the workspace. */
void heed_attend_heads(const heed_all_heads *heads);

/* ---- kernels on broadcast operands; copies, fills and sums ---- */

enum { HEED_MAX_OPERANDS = 4 };

/* An input of a kernel, read as elements of dtype `as`: a number, or a tensor that broadcasts to
 * the result's shape. */
typedef struct heed_operand {
    const heed_tensor *tensor; /* NULL: use `number` */
    double number;
    heed_dtype as;
} heed_operand;

/* heed_map: out = kernel(in...), element by element over out's shape; `out` is contiguous. Operands
 * of dtype bool must be tensors. */
void heed_map(heed_kernel *kernel, const heed_operand *in, int count, heed_tensor *out);

/* heed_copy_elements: out = x, broadcast and cast. */
void heed_copy_elements(const heed_tensor *x, heed_tensor *out);

/* heed_fill_elements: out = value, cast as torch does. */
void heed_fill_elements(heed_tensor *out, double value);

/* heed_fill_mask: fills `mask`, a new f32 or f64 tensor, with 1 / kept with probability `kept`,
 * else 0, as torch's dropout does (random.c). */
void heed_fill_mask(heed_tensor *mask, double kept);

/* heed_add_elements: out += x, with equal shapes and dtypes; out is contiguous. */
void heed_add_elements(const heed_tensor *x, heed_tensor *out);

/* ---- along dims: sums, other reductions, and kernels that process a line at a time ----
 *
 * A line consists of the elements along one dim, or along several dims that are reduced together.
 */

/* heed_sum_elements: out = the sum of x over the dims in `set`, divided by `divisor`. out is
 * contiguous; its dims are the remaining dims of x, in order. */
void heed_sum_elements(const heed_tensor *x, unsigned set, double divisor, heed_tensor *out);

/* heed_reduce: each element of out = kernel(the elements of x over the dims in `set`, in row-major
 * order); out as above. HEED_ERR_MEMORY: no memory for gathering lines. */
void heed_reduce(heed_reduce_kernel *kernel, const heed_tensor *x, unsigned set, heed_tensor *out);

/* heed_map_rows: out = kernel(in...) line by line along `dim`. The `count` inputs (at most 2) and
 * out have the same shape; out is contiguous. HEED_ERR_MEMORY: no memory for gathering lines. */
void heed_map_rows(heed_row_kernel *kernel, heed_tensor *const *in, int count, int dim,
                   heed_tensor *out);

/* ---- elements selected by an index along one dim ---- */

/* Position i of `shape` refers to the tensor's element at i * strides + index[i * index_strides] *
 * step, all in elements. So `strides` are the tensor's strides with 0 for the indexed dim, and
 * `step` is the stride of that dim. Indices have been checked; within a run they are contiguous or
 * all the same. */
typedef struct heed_indexed {
    heed_shape shape;
    const int64_t *index;
    int64_t index_strides[HEED_MAX_DIMS];
    int64_t strides[HEED_MAX_DIMS], step;
} heed_indexed;

/* heed_look_up: out = the elements of x at `places`; out is contiguous, with the shape of `places`
 * and x's dtype.
 * heed_add_at: adds x to the elements of out at `places`, in row-major order of `shape`, so that
 * sums are bitwise reproducible; x has out's dtype. */
void heed_look_up(const heed_indexed *places, const heed_tensor *x, heed_tensor *out);
void heed_add_at(const heed_indexed *places, const heed_tensor *x, heed_tensor *out);

/* ---- walks of several tensors in step through one shape (broadcast_walk.c) ---- */

/* CHUNK: elements gathered at a time; the buffers of all operands fit in L1.
 * LANES: the maximum number of operands of an element-wise kernel, plus one for its result. */
enum { CHUNK = 256, LANES = 5 };

/* One operand of a walk: its current position, and its strides in bytes. */
typedef struct lane {
    char *at;
    int64_t stride[HEED_MAX_DIMS];
} lane;

/* A kernel call processes one run, along the last dim; the walk steps through the other dims. */
typedef struct walk {
    int ndim, lanes;
    int64_t size[HEED_MAX_DIMS], index[HEED_MAX_DIMS];
    lane lane[LANES];
} walk;

typedef union chunk_buffer {
    double f64[CHUNK];
    int64_t i64[CHUNK];
} chunk_buffer;

/* heed_walk_lane: adds an operand to a walk initialised to {0}. Call before heed_walk_begin. */
void heed_walk_lane(walk *w, const void *data, const int64_t *strides, heed_dtype dtype, int ndim);

/* heed_walk_begin: sets the shape, dropping dims of size 1 and merging neighbouring dims; at least
 * one dim remains. Returns false if the shape has no elements. */
bool heed_walk_begin(walk *w, int ndim, const int64_t *shape);

/* heed_walk_next: moves all lanes to the next run; returns false after the last.
 * heed_walk_to: moves a walk from its start to run number `run`. */
bool heed_walk_next(walk *w);
void heed_walk_to(walk *w, int64_t run);

/* heed_walk_parts: covers a whole walk, which must be at its start, with calls to `part`, each for
 * n elements of a run, starting at index `start`. If the walk has at least two grains of elements,
 * the calls run on several threads, and runs may be cut anywhere. */
typedef void walk_part(const void *context, const walk *w, int64_t start, int64_t n);
void heed_walk_parts(walk *w, int64_t grain, walk_part *part, const void *context);

/* The stride of a lane along the run, in bytes. */
static inline int64_t run_stride(const walk *w, int lane_number)
{
    return w->lane[lane_number].stride[w->ndim - 1];
}

static inline int64_t run_length(const walk *w)
{
    return w->size[w->ndim - 1];
}

/* heed_walk_elements: n elements from `at`, `stride` bytes apart. Returns `at` if they are
 * contiguous and already of dtype `as`; otherwise gathers and casts them into `gathered`. */
const void *heed_walk_elements(const char *at, int64_t stride, int64_t n, heed_dtype dtype,
                               heed_dtype as, chunk_buffer *gathered);

#endif
