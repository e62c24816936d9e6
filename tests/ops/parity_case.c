/* A case of a file in fixtures/parity/: its inputs in any layout, and whether a result and its
 * gradients match it. */
#include <stdio.h>
#include <string.h>

#include "tests/ops/parity.h"

static const char *const letters[PARITY_INPUTS] = {"a", "b", "c", "d", "e", "f", "g", "h"};

heed_tensor *parity_case_part(const parity_case *c, const char *part)
{
    return parity_held(c->file, c->name, part);
}

parity_case parity_case_of(const heed_safetensors *file, const char *operation, const char *form)
{
    parity_case c = {.file = file};
    snprintf(c.name, sizeof c.name, "%s.%s", operation, form);
    EXPECT(heed_safetensors_metadata(file, c.name) != NULL,
           "%s: tests/fixtures/parity has no such case; run: make fixtures OP=%s", c.name,
           operation);
    while (c.count < PARITY_INPUTS) {
        heed_tensor *x = parity_case_part(&c, letters[c.count]);
        if (x == NULL) {
            break;
        }
        c.inputs[c.count++] = x;
    }
    return c;
}

/* ---- inputs ---- */

/* The same elements in that layout; floats cast to that dtype. */
static heed_tensor *laid_out(heed_tensor *x, heed_dtype dtype, enum layout layout)
{
    heed_tensor *wide = heed_to(x, HEED_F64);
    heed_shape shape = {.ndim = x->ndim};
    for (int i = 0; i < x->ndim; i++) {
        shape.size[i] = x->shape[i];
    }
    return lay_out(heed_const_data_f64(wide), shape, heed_is_float(x->dtype) ? dtype : x->dtype,
                   layout);
}

bool parity_case_requires_grad(const parity_case *c, int i)
{
    char gradient[8];
    snprintf(gradient, sizeof gradient, "d%s", letters[i]);
    return parity_case_part(c, gradient) != NULL;
}

heed_tensor *parity_input(const parity_case *c, int i, heed_dtype dtype, enum layout layout)
{
    heed_tensor *x = laid_out(c->inputs[i], dtype, layout);
    return parity_case_requires_grad(c, i) ? heed_set_requires_grad(x, true) : x;
}

void parity_inputs(const parity_case *c, heed_dtype dtype, enum layout layout,
                   heed_tensor *inputs[PARITY_INPUTS])
{
    for (int i = 0; i < c->count; i++) {
        inputs[i] = parity_input(c, i, dtype, layout);
    }
}

int parity_input_leaves(const parity_case *c, heed_tensor *const *inputs, parity_leaf *leaves)
{
    int count = 0;
    for (int i = 0; i < c->count; i++) {
        if (inputs[i]->requires_grad) {
            leaves[count++] = (parity_leaf){letters[i], inputs[i]};
        }
    }
    return count;
}

/* ---- results ---- */

void expect_part(const parity_case *c, const char *part, heed_tensor *y, double error,
                 row_accuracy accuracy)
{
    char places[120];
    snprintf(places, sizeof places, "%s.f32", part);
    parity_goal goal = {.name = c->name,
                        .part = part,
                        .accuracy = accuracy,
                        .error = error,
                        .y = parity_case_part(c, part),
                        .places = parity_case_part(c, places)};
    EXPECT(goal.y != NULL, "%s: the fixture has no %s", c->name, part);
    expect_parity(y, &goal);
}

static void expect_gradients(const parity_case *c, heed_tensor *y, const parity_leaf *leaves,
                             int count, const double *errors)
{
    heed_tensor *xs[PARITY_LEAVES], *grads[PARITY_LEAVES] = {NULL}, *g = parity_case_part(c, "g");
    if (g == NULL || count == 0) {
        EXPECT(!y->requires_grad, "%s has a gradient", c->name);
        return;
    }
    EXPECT(y->requires_grad, "%s has no gradient", c->name);
    for (int i = 0; i < count; i++) {
        xs[i] = leaves[i].x;
    }
    heed_tensor *loss = heed_sum(heed_mul(y, heed_to(g, y->dtype)));
    /* With create_graph the gradients are computed by other code, as operations. */
    for (int create_graph = 1; create_graph >= 0; create_graph--) {
        heed_grad(loss, xs, count, grads, create_graph);
        for (int i = 0; i < count; i++) {
            char part[104];
            snprintf(part, sizeof part, "d%s", leaves[i].name);
            expect_part(c, part, grads[i], errors[i], SCALED);
        }
    }
}

void expect_case(const parity_case *c, heed_tensor *y, row_accuracy accuracy,
                 const parity_leaf *leaves, int count)
{
    const double *errors = heed_const_data_f64(parity_case_part(c, "error"));
    expect_part(c, "y", y, errors[0], accuracy);
    expect_gradients(c, y, leaves, count, errors + 1);
}
