/* What a gradient check is made of: calling the function, its graph, and its Jacobian twice over
 * (internal).
 */
#ifndef HEED_AUTOGRAD_CHECK_H
#define HEED_AUTOGRAD_CHECK_H

#include "../tensor/random/random.h"
#include "gradcheck.h"

enum { HEED_CHECK_INPUTS = 16 };

typedef struct heed_check {
    const char *name;
    heed_function *f;
    void *context;
    heed_tensor *const *inputs;
    int count;
    heed_gradcheck_options options;
    const char *operation;    /* the last one of the function under test */
    heed_generator generator; /* as it was, so that each call draws the same */
} heed_check;

/* The Jacobian of one input, (outputs, elements), row by row. */
typedef struct heed_jacobian {
    int64_t outputs, elements;
    double *numeric, *analytic;
} heed_jacobian;

/* heed_check_call: f of fresh aliases of the inputs, which belong to the open scope. */
heed_tensor *heed_check_call(const heed_check *c, heed_tensor **aliases);

/* heed_check_record: the graph of f: y and the alias of input `number` as mere handles, which the
 * caller drops. Of all values only those are left that derivatives have declared to read. NULL on
 * error. */
heed_tensor *heed_check_record(const heed_check *c, int number, heed_tensor **alias);

/* heed_check_differ: the numeric Jacobian by x, from central differences. */
heed_status heed_check_differ(const heed_check *c, const heed_tensor *x, heed_jacobian *j);

/* heed_check_pull_back: u^T J for the alias, into `to`; by the derivatives in the form that has a
 * graph, or in the other. */
heed_status heed_check_pull_back(const heed_check *c, heed_tensor *y, const heed_tensor *u,
                                 heed_tensor *alias, bool create_graph, double *to);

#endif
