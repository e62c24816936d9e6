/* What an operation is. heed_apply (apply.h) applies one.
 *
 * An operation is a rule (which dtypes and shapes it takes, what it gives), a forward and a
 * backward, side by side in one file; heed_apply does all the rest. Operations outside the library
 * are made the same way:
 *
 *     static heed_status cube_forward(const heed_call *call, heed_tensor *y) ...
 *     HEED_OPERATION(cube) = {.name = "cube", .inputs = 1, .forward = cube_forward, ...};
 *     heed_tensor *my_cube(heed_tensor *x) { return heed_apply(&op_cube, &x, 1, NULL, 0); }
 *
 * (examples/custom_op.c is a whole one.)
 */
#ifndef HEED_AUTOGRAD_OP_H
#define HEED_AUTOGRAD_OP_H

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

typedef struct heed_op heed_op;

enum { HEED_ANY_COUNT = -1, HEED_SAVES = 4 };

/* One application: what it takes. */
typedef struct heed_call {
    const heed_op *op;
    heed_tensor *const *inputs;
    int count;
    const void *args; /* the arguments that are no tensors, in a struct of the operation's own */
} heed_call;

/* What it will give: memory of its own, contiguous or is_strided: dense, its dims in any order; or
 * a view of the first input's. */
typedef struct heed_result {
    heed_dtype dtype;
    heed_shape shape;
    bool is_view, is_strided;
    int64_t strides[HEED_MAX_DIMS]; /* of these two, in elements */
    int64_t offset;                 /* of a view, in elements */
} heed_result;

/* One step of the backward pass: dL/dy is there, dL/dinput is wanted. */
typedef struct heed_vjp {
    heed_tensor *y, *g; /* the result and its gradient g = dL/dy */
    heed_tensor *const *inputs;
    const void *args;
    const bool *wanted;  /* of which inputs; ask heed_wants_grad */
    heed_tensor **grads; /* to be set: the gradient of each input, in y's broadcast shape or the
                            input's own; NULL where there is none */
} heed_vjp;

struct heed_op {
    const char *name;
    int inputs;               /* how many, or HEED_ANY_COUNT */
    const char *const *names; /* of the inputs, for errors; NULL: "input 0", "input 1", ... */

    /* Checks what it takes and says what it gives: the result starts with the dtype and shape of
     * the first input. NULL: takes anything, and gives that. */
    heed_status (*rule)(const heed_call *call, heed_result *result);

    /* Computes y, which is contiguous unless the rule says otherwise. Runs without grad mode in a
     * scope of its own. NULL: the result is always a view. Not called for results that are views.
     */
    heed_status (*forward)(const heed_call *call, heed_tensor *y);

    /* Sets the gradients, in Heed operations, so that they can be differentiated again; where
     * heed_grad_enabled() says no, by kernels if it likes. NULL: the result has no gradient. */
    void (*backward)(const heed_vjp *vjp);

    /* Adds the gradient of input i to `sum`, of that input's shape and dtype and contiguous, and
     * says true; or leaves it alone and says false: then backward makes that gradient, and the
     * engine adds. Called only where no graph of the gradient is wanted, and where `sum` shares no
     * memory with what the derivative reads. NULL: always left to backward. */
    bool (*add_gradient)(const heed_vjp *vjp, int i, heed_tensor *sum);

    /* saves[i]: whose values the gradient of input i reads: HEED_SAVES_INPUT(j) of input j,
     * HEED_SAVED_OUTPUT of y. All other values may be gone by then; shapes always stay. The values
     * of the first HEED_SAVED_INPUTS inputs can be read, for the gradients of the first HEED_SAVES;
     * operations of more inputs, as cat, read none. */
    uint8_t saves[HEED_SAVES];

    heed_op *next; /* in the registry */
};

#define HEED_SAVES_INPUT(j) (1 << (j))
#define HEED_NAMES(...)     ((const char *const[]){__VA_ARGS__})

/* heed_wants_grad: does input i need its gradient? Backward may skip the others. */
bool heed_wants_grad(const heed_vjp *vjp, int i);

/* heed_expect_dtype, heed_expect_float: rules' checks: the dtype of input i, or any float. The
 * error names the operation, the input and heed_to. HEED_NAMES("x", "index"): names of inputs. */
heed_status heed_expect_dtype(const heed_call *call, int i, heed_dtype dtype);
heed_status heed_expect_float(const heed_call *call, int i);

/* ---- the registry: every linked operation; of a static library, those that are used ---- */

/* heed_first_operation: the head of the list that heed_op.next continues.
 * heed_find_operation: the one of that name, or NULL. */
const heed_op *heed_first_operation(void);
const heed_op *heed_find_operation(const char *name);

/* heed_register: puts an operation into the registry; HEED_OPERATION defines one that does so by
 * itself, before main:    HEED_OPERATION(softmax) = {.name = "softmax", ...}; */
void heed_register(heed_op *op);
#define HEED_OPERATION(id)                                                                         \
    static heed_op op_##id;                                                                        \
    __attribute__((constructor)) static void register_##id(void)                                   \
    {                                                                                              \
        heed_register(&op_##id);                                                                   \
    }                                                                                              \
    static heed_op op_##id

HEED_END_DECLS
#endif
