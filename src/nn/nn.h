/* What the files of this room share (internal). */
#ifndef HEED_NN_NN_H
#define HEED_NN_NN_H

#include "../autograd/autograd.h"

/* A tensor or child module, registered under a name. */
struct heed_module_entry {
    char *name;
    heed_tensor *tensor; /* a parameter or buffer, retained; or NULL */
    bool is_buffer;
    struct heed_module *child; /* or NULL */
};

enum { HEED_ALIVE = 0x5eed }; /* heed_module.alive */

/* heed_forward_check: for forwards that users call directly; checks the module, and that a scope is
 * open to own the result. heed_module_check checks the module only. HEED_ERR_NULL: the module is
 * NULL. HEED_ERR_VALUE: it is incomplete, or has been freed, where this can be detected.
 * HEED_ERR_SCOPE: no scope is open. module.c defines both. */
void heed_forward_check(const char *function, const void *module);
heed_status heed_module_check(const char *function, const void *module);

/* Constructors of the library check nothing in between: heed_module_with allocates a module and
 * copies the fields after its heed_module; heed_module_ready ends the constructor: if an error is
 * pending, it frees the module and returns NULL. heed_draw_uniform: an f32 tensor, drawn between
 * -bound and bound. */
void *heed_module_with(const heed_module_kind *kind, const void *fields);
void *heed_module_ready(void *module);
heed_tensor *heed_draw_uniform(heed_shape shape, double bound);

/* heed_check_not_null: HEED_ERR_NULL if `value` is NULL. heed_check_positive: HEED_ERR_VALUE if the
 * size is below 1. Both can be called without a door. */
heed_status heed_check_not_null(const char *function, const char *argument, const void *value);
heed_status heed_check_positive(const char *function, const char *argument, int64_t size);

/* ---- growing lists of named tensors; all zero when empty ---- */

/* Owns the names, but not the tensors. */
typedef struct heed_named_tensors {
    heed_tensor **tensors;
    const char **names;
    int count;
    int64_t capacity;
} heed_named_tensors;

/* heed_named_add: appends a tensor under a printf-formatted name. heed_named_free: frees the names
 * and the arrays; heed_named_delete: frees a list made by heed_alloc, too; NULL is a no-op.
 * heed_is_listed: true if the tensor is one of `count`. module.c defines them. */
void heed_named_add(heed_named_tensors *named, heed_tensor *tensor, const char *format, ...)
    HEED_PRINTF(3, 4);
void heed_named_free(heed_named_tensors *named);
void heed_named_delete(heed_named_tensors *named);
bool heed_is_listed(heed_tensor *const *tensors, int count, const heed_tensor *tensor);

/* heed_optimizer_list: appends the state dict of an optimiser, under prefixed names, in the
 * innermost scope. heed_optimizer_take: loads the values of such a list, in the same order and
 * shapes; on error nothing changes. HEED_ERR_VALUE: a number is invalid. optimizer.c defines
 * both. */
struct heed_optimizer;
void heed_optimizer_list(struct heed_optimizer *o, const char *prefix, heed_named_tensors *named);
void heed_optimizer_take(const char *function, struct heed_optimizer *o,
                         heed_tensor *const *values);

/* heed_is_terminal: true if the stream is a terminal that understands escape sequences: TERM is
 * set, and is not "dumb". heed_terminal_columns: the width of its lines: COLUMNS if set, else the
 * terminal's width, else `otherwise`; watch.c defines both. */
bool heed_is_terminal(FILE *stream);
int heed_terminal_columns(FILE *stream, int otherwise);

#endif
