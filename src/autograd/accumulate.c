/* Sums gradients: in place where nothing else can see the change, otherwise with heed_add. */

#include "pass.h"

#include "../tensor/elements.h"
#include "../tensor/scope.h"
#include "../tensor/thread.h"
#include "ops/elementwise.h"

/* True if t is contiguous and no other handle, view or graph can see a change to it. */
static bool is_ours_alone(const heed_tensor *t)
{
    return t->references == 1 && t->storage->references == 1 && t->op == NULL &&
           heed_is_row_major(t);
}

/* The first gradient is moved into *sum, not added. */
heed_status heed_add_gradient(heed_tensor **sum, heed_tensor *g, bool create_graph)
{
    if (*sum == NULL) {
        *sum = g;
        return HEED_OK;
    }
    if (!create_graph && is_ours_alone(*sum)) {
        heed_add_elements(g, *sum);
        heed_unref(g);
        return HEED_OK;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *both = heed_add(*sum, g);
    if (both != NULL) {
        heed_ref(both);
        heed_unref(*sum);
        *sum = both;
    }
    heed_unref(g);
    return heed_scope_end(&scope);
}

/* ---- .grad ---- */

/* Several threads may train one model, so shared leaves are locked. Nothing that can fail runs
 * under the lock, and nothing slow except adding two gradients. */
static pthread_mutex_t *const grad_lock = &heed_locks[HEED_LOCK_GRADS];

static void lock_grad(const heed_tensor *t)
{
    if (t->shared) {
        pthread_mutex_lock(grad_lock);
    }
}

static void unlock_grad(const heed_tensor *t)
{
    if (t->shared) {
        pthread_mutex_unlock(grad_lock);
    }
}

/* Atomic, because borrow_grad reads t->grad without the lock. */
static void set_grad(heed_tensor *t, heed_tensor *grad)
{
    __atomic_store_n(&t->grad, grad, __ATOMIC_RELAXED);
}

/* Adds g to t->grad and returns true. If t->grad is NULL, sets it to `instead`, which may be NULL,
 * and returns false. */
static bool add_or_become(heed_tensor *t, const heed_tensor *g, heed_tensor *instead)
{
    lock_grad(t);
    const bool added = t->grad != NULL;
    if (added) {
        heed_add_elements(g, t->grad);
        heed_raise_version(t->grad);
    } else {
        set_grad(t, instead);
    }
    unlock_grad(t);
    return added;
}

heed_status heed_add_to_grad(heed_tensor *t, heed_tensor *g)
{
    if (!is_ours_alone(g)) {
        heed_tensor *copy = add_or_become(t, g, NULL) ? NULL : heed_tensor_like(NULL, g);
        if (copy != NULL) {
            heed_copy_elements(g, copy);
        }
        heed_unref(g);
        if (copy == NULL) {
            return heed_self.error;
        }
        g = copy;
    }
    if (add_or_become(t, g, g)) {
        heed_unref(g);
    }
    return HEED_OK;
}

/* One borrower at a time. Meanwhile other threads accumulate into a fresh t->grad, which
 * return_grad adds to the borrowed one. Returns NULL if there is none to borrow. */
static heed_tensor *borrow_grad(heed_tensor *t)
{
    if (__atomic_load_n(&t->grad, __ATOMIC_RELAXED) == NULL) {
        return NULL; /* usually the first gradient of a step, which needs no lock */
    }
    lock_grad(t);
    heed_tensor *grad = t->grad_is_lent ? NULL : t->grad;
    if (grad != NULL) {
        set_grad(t, NULL);
        t->grad_is_lent = true;
    }
    unlock_grad(t);
    return grad;
}

static void return_grad(heed_tensor *t, heed_tensor *grad)
{
    lock_grad(t);
    heed_tensor *others = t->grad;
    if (others != NULL) {
        heed_add_elements(others, grad);
        heed_raise_version(grad);
    }
    set_grad(t, grad);
    t->grad_is_lent = false;
    unlock_grad(t);
    if (others != NULL) {
        heed_unref(others);
    }
}

/* ---- in place ---- */

/* True if the derivative may read memory shared with t. */
static bool reads_memory_of(const heed_vjp *v, const heed_tensor *t)
{
    bool reads = v->g->storage == t->storage || v->y->storage == t->storage;
    for (int j = 0; j < v->y->input_count; j++) {
        reads = reads || v->inputs[j]->storage == t->storage;
    }
    return reads;
}

/* Views of the sum count as references to its storage, so the frame releases them before
 * another thread can borrow the .grad. */
static bool add_to(heed_tensor *sum, const heed_vjp *v, int j)
{
    if (sum->dtype != v->g->dtype || reads_memory_of(v, sum)) {
        return false;
    }
    const heed_frame frame = heed_frame_begin(false);
    const bool added = v->y->op->add_gradient(v, j, sum);
    return heed_frame_end(frame) == HEED_OK && added;
}

/* Adds the gradient of input j to *sum, or to the input's .grad if `sum` is NULL. Returns false if
 * there is no gradient to add to yet, if something else could see the change, or if the operation
 * does not support this. */
static bool add_input_in_place(const heed_vjp *v, int j, heed_tensor **sum)
{
    if (sum != NULL) {
        return *sum != NULL && is_ours_alone(*sum) && add_to(*sum, v, j);
    }
    heed_tensor *input = v->y->inputs[j]; /* v->inputs has stand-ins in debug builds */
    heed_tensor *grad = borrow_grad(input);
    if (grad == NULL) {
        return false;
    }
    const bool added = add_to(grad, v, j);
    if (added) {
        heed_raise_version(grad);
    }
    return_grad(input, grad);
    return added;
}

heed_status heed_add_all_in_place(const heed_pass *pass, const heed_vjp *vjp, bool *wanted)
{
    for (int j = 0; j < vjp->y->input_count && !heed_blocked(); j++) {
        if (wanted[j] && add_input_in_place(vjp, j, heed_gradient_slot(pass, vjp->y->inputs[j]))) {
            wanted[j] = false;
        }
    }
    return heed_self.error;
}

/* ---- complete gradients ---- */

heed_status heed_retain_gradient(const heed_pass *pass, heed_tensor *node, heed_tensor *g)
{
    const int x = heed_find_x(pass, node);
    if (x >= 0) {
        heed_ref(g);
        pass->grads[x] = g;
    } else if (pass->xs == NULL && node->retain_grad) {
        heed_ref(g);
        return heed_add_to_grad(node, g);
    }
    return HEED_OK;
}
