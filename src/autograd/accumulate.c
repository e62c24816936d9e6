/* Gradients are summed up: in place where nobody else can see it, else as an operation. */
#include "autograd/accumulate.h"

#include <pthread.h>

#include "autograd/elementwise.h"
#include "tensor/iterate.h"
#include "tensor/scope.h"

/* Is there nobody else who could see a change of t? */
static bool is_ours_alone(const heed_tensor *t)
{
    return t->references == 1 && t->storage->references == 1 && t->op == NULL &&
           heed_is_contiguous(t);
}

static heed_tensor *own_copy(const heed_tensor *g)
{
    heed_tensor *copy = heed_tensor_new("backward", g->ndim, g->shape, g->dtype);
    if (copy != NULL) {
        heed_copy_elements(g, copy);
    }
    return copy;
}

/* The first is moved, not added. */
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

/* Several threads may train one model, so shared leaves are locked; nothing that can fail runs under the
 * lock. */
heed_status heed_add_to_grad(heed_tensor *t, heed_tensor *g)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (!is_ours_alone(g)) {
        heed_tensor *copy = own_copy(g);
        heed_unref(g);
        if (copy == NULL) {
            return heed_self.error;
        }
        g = copy;
    }
    if (t->shared) {
        pthread_mutex_lock(&lock);
    }
    if (t->grad == NULL) {
        t->grad = g;
    } else {
        heed_add_elements(g, t->grad);
        heed_raise_version(t->grad);
        heed_unref(g);
    }
    if (t->shared) {
        pthread_mutex_unlock(&lock);
    }
    return HEED_OK;
}
