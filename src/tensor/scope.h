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
 * A scope is a mark in its thread's one list of tensors, which is linked through the tensors
 * themselves: beginning a scope, ending one and joining one need no memory.
 *
 * A tensor counts references to its handle (scope, retains, graph edges) and uses of its value
 * (scope, retains, derivatives that will read it). At zero uses the memory of the value is freed
 * and the handle stays as a link of the graph; at zero references the handle is freed too.
 */
#ifndef HEED_TENSOR_SCOPE_H
#define HEED_TENSOR_SCOPE_H

#include "tensor.h"

HEED_BEGIN_DECLS

typedef struct heed_scope {
    struct heed_scope *self; /* this struct while the scope is open */
    const void *thread;
    int depth;
    int64_t serial; /* distinguishes scopes that were open at the same depth */
    bool grad_mode; /* to restore */
} heed_scope;

/* HEED_SCOPE(name): declares a scope and begins it; it ends by itself at the end of the block,
 * however control leaves that: by break, continue, return or goto too.
 * HEED_SCOPE_NO_GRAD(name): one in which no graph is recorded, as torch.no_grad().
 *
 *     heed_tensor *mean_of_squares(heed_tensor *x)
 *     {
 *         HEED_SCOPE(scope);
 *         heed_tensor *squares = heed_mul(x, x);
 *         return heed_scope_keep(&scope, heed_mean(squares)); // to the caller's scope
 *     }
 *
 * A result that outlives the block is handed out with heed_scope_keep or heed_scope_end_with. Do
 * not jump into the block past the declaration (clang and C++ refuse to compile that). longjmp and
 * exit skip the end; the scope outside then ends this one, with HEED_ERR_SCOPE. */
#define HEED_SCOPE(name)         HEED_SCOPE_OPENED_BY(heed_scope_opened, name)
#define HEED_SCOPE_NO_GRAD(name) HEED_SCOPE_OPENED_BY(heed_scope_opened_no_grad, name)
#define HEED_SCOPE_OPENED_BY(open, name)                                                           \
    heed_scope name __attribute__((cleanup(heed_scope_close))) = open(&(name))

/* For these macros: heed_scope_close does nothing if the scope has ended already. */
heed_scope heed_scope_opened(heed_scope *scope);
heed_scope heed_scope_opened_no_grad(heed_scope *scope);
void heed_scope_close(heed_scope *scope);

/* heed_scope_begin, heed_scope_begin_no_grad: the same for a struct of the caller's, where the
 * scope does not end with a block; heed_scope_end ends it. The scope opens inside the innermost
 * open one. */
void heed_scope_begin(heed_scope *scope);
void heed_scope_begin_no_grad(heed_scope *scope);

/* heed_scope_end: releases every tensor that belongs to the scope, and restores the grad mode.
 * Scopes that are still open inside are ended first.
 *
 * HEED_ERR_SCOPE: some were, or this scope is not open (in this thread). */
heed_status heed_scope_end(heed_scope *scope);

/* heed_scope_keep: hands `t` over to the scope outside this one and returns it; a tensor that is
 * not of this scope is returned unchanged. heed_scope_end_with: the same, then ends the scope.
 *
 *     return heed_scope_end_with(&scope, result);
 *
 * HEED_ERR_SCOPE: no scope is open outside, or this one is not open. NULL on error. */
heed_tensor *heed_scope_keep(heed_scope *scope, heed_tensor *t);
heed_tensor *heed_scope_end_with(heed_scope *scope, heed_tensor *t);

/* heed_retain: keeps `t` beyond its scope; returns it. heed_release: ends one retain (NULL is
 * fine). HEED_ERR_SCOPE: released more often than retained. */
heed_tensor *heed_retain(heed_tensor *t);
heed_status heed_release(heed_tensor *t);

/* heed_share: lets several threads hold `t`: from now on it is counted atomically. Call it before
 * another thread sees the tensor. Parameters of modules are shared from the start.
 * HEED_ERR_GRAPH: a result with a graph, which belongs to one thread; heed_detach it first. */
heed_tensor *heed_share(heed_tensor *t);

/* heed_set_grad_enabled: whether graphs are recorded from now on, as torch.set_grad_enabled;
 * returns the previous setting. The end of a scope restores the setting at its beginning. */
bool heed_set_grad_enabled(bool enabled);
bool heed_grad_enabled(void);

HEED_END_DECLS
#endif
