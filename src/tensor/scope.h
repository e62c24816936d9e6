/* Ownership: every tensor that a function returns belongs to the innermost open scope; never free
 * it. To keep one longer, heed_retain it, and later heed_release it.
 *
 *     for (int i = 0; i < steps; i++) {
 *         HEED_SCOPE(step);
 *         heed_tensor *loss = heed_cross_entropy(forward(model, tokens), targets);
 *         heed_backward(loss);
 *         heed_optimizer_step(adam);
 *     } // the graph and the activations are freed, parameters stay
 *
 * A scope is a mark in its thread's list of tensors, which is linked through the tensors
 * themselves, so beginning or ending a scope allocates no memory. A tensor belongs to the thread
 * that made it.
 *
 * A tensor counts references to its handle (scope, retains, graph edges) and uses of its value
 * (scope, retains, derivatives that will read it). At zero uses, the memory of the value is freed,
 * and the handle stays as a link in the graph. At zero references, the handle is freed too.
 *
 * The functions heed_check_* check arguments, for Heed's functions and for your own. Each returns
 * the pending error. If the check fails, it makes an error pending that names function and
 * argument:
 *
 *     if (heed_check_tensor("mine", "x", x) != HEED_OK) {
 *         return NULL;
 *     }
 */
#ifndef HEED_TENSOR_SCOPE_H
#define HEED_TENSOR_SCOPE_H

#include "tensor.h"

HEED_BEGIN_DECLS

/* A scope. It stores its own address while it is open, so do not copy or move it. */
typedef struct heed_scope {
    struct heed_scope *self; /* this struct while the scope is open */
    int depth;
    bool grad_disabled; /* to restore */
} heed_scope;

/* HEED_SCOPE(name): declares a scope and begins it. It ends automatically when control leaves the
 * block, including by break, continue, return or goto.
 * HEED_SCOPE_NO_GRAD(name): the same without recording a graph, like torch.no_grad().
 *
 *     heed_tensor *mean_of_squares(heed_tensor *x)
 *     {
 *         HEED_SCOPE(scope);
 *         heed_tensor *squares = heed_mul(x, x);
 *         return heed_scope_keep(&scope, heed_mean(squares)); // to the caller's scope
 *     }
 *
 * Use heed_scope_keep or heed_scope_end_with to return a result that outlives the block. Do not
 * jump into the block past the declaration (clang and C++ reject that), or out of it by longjmp. */
#define HEED_SCOPE(name)         HEED_SCOPE_FROM(heed_scope_opened(&(name), false), name)
#define HEED_SCOPE_NO_GRAD(name) HEED_SCOPE_FROM(heed_scope_opened(&(name), true), name)
#define HEED_SCOPE_FROM(opened, name)                                                              \
    heed_scope name __attribute__((cleanup(heed_scope_close))) = opened

/* For these macros: heed_scope_close does nothing if the scope has ended already. */
heed_scope heed_scope_opened(heed_scope *scope, bool no_grad);
void heed_scope_close(heed_scope *scope);

/* heed_scope_begin, heed_scope_begin_no_grad: the same for scopes that do not end with a block;
 * heed_scope_end ends them. A new scope is nested in the innermost open one. */
void heed_scope_begin(heed_scope *scope);
void heed_scope_begin_no_grad(heed_scope *scope);

/* heed_scope_end: releases all tensors of the scope and restores the grad mode. Scopes still open
 * inside it are ended too.
 *
 * HEED_ERR_SCOPE: there were such scopes, or this scope is not open. */
heed_status heed_scope_end(heed_scope *scope);

/* heed_scope_keep: moves `t` to the enclosing scope and returns it. A tensor that belongs to
 * another scope is returned unchanged. heed_scope_end_with: does the same, then ends the scope.
 *
 *     return heed_scope_end_with(&scope, result);
 *
 * HEED_ERR_SCOPE: there is no enclosing scope, or this one is not open. NULL on error. */
heed_tensor *heed_scope_keep(heed_scope *scope, heed_tensor *t);
heed_tensor *heed_scope_end_with(heed_scope *scope, heed_tensor *t);

/* heed_retain: keeps `t` alive beyond its scope, and returns it. heed_release: undoes one retain;
 * NULL is a no-op. HEED_ERR_SCOPE: released more often than retained. */
heed_tensor *heed_retain(heed_tensor *t);
heed_status heed_release(heed_tensor *t);

/* heed_set_grad_enabled: turns recording of graphs on or off, like torch.set_grad_enabled, and
 * returns the previous setting. When a scope ends, the setting from its beginning is restored. */
bool heed_set_grad_enabled(bool enabled);
bool heed_is_grad_enabled(void);

/* heed_check_tensor: checks that t is not NULL and that its value has not been freed.
 * HEED_ERR_NULL: t is NULL. HEED_ERR_SCOPE: its value has been freed. */
heed_status heed_check_tensor(const char *function, const char *argument, const heed_tensor *t);

/* heed_check_scope: checks that a scope is open, to own the result of a function that returns
 * tensors. heed_forward_check includes this check for modules. HEED_ERR_SCOPE: no scope is open. */
heed_status heed_check_scope(const char *function);

/* heed_check_operand: heed_check_tensor and heed_check_scope, for functions that combine several
 * operations and read x before the first of them checks it. */
heed_status heed_check_operand(const char *function, const char *argument, const heed_tensor *x);

/* heed_check_operands: the same for a list of 1 to 65535 tensors, like the inputs of heed_apply.
 * `names` are used in errors; NULL: input 0, input 1, ... */
heed_status heed_check_operands(const char *function, const char *const *names,
                                heed_tensor *const *inputs, int count);

/* heed_check_value: checks that `dtype` can represent this number. Floats round; bool accepts any
 * number.
 * HEED_ERR_VALUE: i64 cannot represent it. */
heed_status heed_check_value(const char *function, double value, heed_dtype dtype);

/* heed_check_probability: checks that p is in [0, 1].
 * HEED_ERR_VALUE: it is not; ("dropout", "p", 1.5) gives "dropout: p is 1.5, which is outside
 * [0, 1]". */
heed_status heed_check_probability(const char *function, const char *argument, double p);

HEED_END_DECLS
#endif
