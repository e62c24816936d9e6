/* Operations: a rule (the dtypes and shapes of the inputs and the result), a forward and a
 * backward, side by side in one file. heed_apply does the rest. You can define your own
 * operations in the same way as the library's:
 *
 *     static heed_status cube_forward(const heed_call *call, heed_tensor *y) ...
 *     HEED_OPERATION(cube) = {.name = "cube", .inputs = 1, .forward = cube_forward, ...};
 *     heed_tensor *my_cube(heed_tensor *x) { return heed_apply(&op_cube, &x, 1, NULL, 0); }
 *
 * examples/custom_op.c is a complete example. */
#ifndef HEED_AUTOGRAD_OP_H
#define HEED_AUTOGRAD_OP_H

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

/* The type of operations. Its fields are those of struct heed_op. */
typedef struct heed_op heed_op;

/* For heed_op.inputs: any number of inputs; and the number of elements of heed_op.saves. */
enum { HEED_ANY_COUNT = -1, HEED_SAVES = 4 };

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
    int inputs;        /* number of inputs, or HEED_ANY_COUNT */
    /* names of the inputs in messages; NULL: "input 0", "input 1", ... */
    const char *const *names;

    /* The fields of the argument struct, in order, for display (heed_args_text): "int dim, bool
     * keepdim". Types: int, int64, double, bool, dtype, shape, dims; at any other the text ends. A
     * field whose name begins with _ is hidden. NULL: all are hidden. */
    const char *args;

    /* Checks the inputs and describes the result, which starts with the dtype and shape of the
     * first input. NULL: accepts everything and leaves the result unchanged. */
    heed_status (*rule)(const heed_call *call, heed_result *result);

    /* Computes y, which is contiguous unless the rule says otherwise, in a scope without grad mode.
     * Not called for views. NULL: the result is always a view. */
    heed_status (*forward)(const heed_call *call, heed_tensor *y);

    /* Sets the gradients, computed with Heed operations so that they can be differentiated again.
     * If heed_is_grad_enabled() is false, kernels may compute them instead. NULL: no gradient. */
    void (*backward)(const heed_vjp *vjp);

    /* saves[i]: the values that the gradient of input i reads: HEED_SAVES_INPUT(j) for input j,
     * HEED_SAVED_OUTPUT for y. All other values may have been freed; their shapes remain. Only the
     * gradients of the first HEED_SAVES inputs can read values: y and the first HEED_SAVED_INPUTS
     * inputs. Gradients of later inputs, as in cat, read none. */
    uint8_t saves[HEED_SAVES];

    heed_op *next; /* in the registry */
};

/* HEED_SAVES_INPUT(j): the bit of input j in heed_op.saves. HEED_NAMES("x", "index"): an array for
 * heed_op.names. */
#define HEED_SAVES_INPUT(j) (1 << (j))
#define HEED_NAMES(...)     ((const char *const[]){__VA_ARGS__})

/* heed_wants_grad: true if the gradient of input i is needed. Backward may skip the others. */
bool heed_wants_grad(const heed_vjp *vjp, int i);

/* heed_expect_dtype, heed_expect_float: checks for rules: input i has this dtype, or any float
 * dtype. The error names the operation, the input (from .names = HEED_NAMES("x", "index")) and
 * heed_to. */
heed_status heed_expect_dtype(const heed_call *call, int i, heed_dtype dtype);
heed_status heed_expect_float(const heed_call *call, int i);

/* heed_input_name: the name of input i in messages: "weight", or "input 1". */
heed_text heed_input_name(const heed_op *op, int i);

/* heed_apply: the result of an operation, or NULL on error: every operation goes through this
 * function. It returns NULL if an error is pending, checks the inputs, runs the rule, allocates the
 * result, runs forward, records the node if grad mode is on and an input requires a gradient, and
 * adds the result to the scope. Copies args_size bytes from `args`. */
heed_tensor *heed_apply(const heed_op *op, heed_tensor *const *inputs, int count, const void *args,
                        size_t args_size);

/* ---- the registry: all linked operations; from a static library, only those that are used ---- */

/* heed_first_operation: the head of the list, linked through heed_op.next.
 * heed_find_operation: the operation of that name, or NULL. */
const heed_op *heed_first_operation(void);
const heed_op *heed_find_operation(const char *name);

/* heed_register: adds an operation to the registry; call it at the start of the program, before
 * other threads run. HEED_OPERATION defines an operation op_<id> that is added before main:
 *
 *     HEED_OPERATION(softmax) = {.name = "softmax", ...}; */
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
