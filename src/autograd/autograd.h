/* What the files of the engine and of its operations share (internal). */
#ifndef HEED_AUTOGRAD_AUTOGRAD_H
#define HEED_AUTOGRAD_AUTOGRAD_H

#include "../tensor/tensor.h"

/* A backward pass from y. */
typedef struct heed_pass {
    const char *function; /* the caller, for errors */
    heed_tensor *y;
    const heed_tensor *upstream; /* dy/dy; NULL: 1 */
    heed_tensor *const *xs;      /* differentiate with respect to these; NULL: all leaves */
    int count;
    heed_tensor **grads; /* one per x */
    bool create_graph, retain_graph;

    /* Set by heed_run_backward: the nodes in the order of their visits; the gradient of the one
     * that is visited; workspace for its inputs: most_inputs gradients, then as many flags, true if
     * one is wanted; and places in xs, sorted by address. */
    heed_tensor **nodes;
    int64_t node_count, capacity, visited;
    heed_tensor *g;
    int most_inputs;
    heed_tensor **input_grads;
    heed_tensor *const **sorted_xs;
} heed_pass;

/* heed_run_backward: same errors as heed_backward and heed_grad, but y may have any number of
 * elements. The caller sets the elements of pass->grads, and the fields after retain_graph, to 0.
 */
heed_status heed_run_backward(heed_pass *pass);

/* heed_word_length: of the word, letters, digits and _, with which the text begins; 0: none.
 * heed_parse_signature: sets op->pattern, for heed_register. heed_match: checks the inputs of a
 * call with op->signature, which is not NULL, and describes the result's dtype and shape.
 * heed_describe: all checks of heed_apply, for functions that compute the result in another way. */
typedef struct heed_pattern heed_pattern;
size_t heed_word_length(const char *text);
void heed_parse_signature(heed_op *op);
void heed_match(const heed_call *call, heed_result *result);
void heed_describe(const heed_call *call, heed_result *result);

/* heed_values_of: the bits of heed_op.saves that stand for a result and `count` inputs.
 * heed_saved_value: the value that the lowest of the bits `saved`, not 0, stands for. */
static inline unsigned heed_values_of(int count)
{
    return HEED_SAVES_OUTPUT |
           ((1u << (count < HEED_SAVED_INPUTS ? count : HEED_SAVED_INPUTS)) - 1);
}

static inline heed_tensor *heed_saved_value(const heed_tensor *node, unsigned saved)
{
    const int i = __builtin_ctz(saved);
    return i < HEED_SAVED_INPUTS ? node->inputs[i] : (heed_tensor *)node;
}

/* heed_place_text: " in Net.W_q" of a module's path, for errors after an operation's name; "" of
 * "".
 */
heed_text heed_place_text(heed_text path);

/* heed_call_result_hooks, heed_call_derivative_hooks: call the hooks of this thread (heed.h), after
 * testing heed_self.hooks. The first returns the result to use. */
heed_tensor *heed_call_result_hooks(const heed_call *call, heed_tensor *y);
void heed_call_derivative_hooks(const heed_vjp *vjp);

/* OPERATION(id): HEED_OPERATION for the operations of this library. Their rule, forward and
 * backward run behind the door (tensor.h): checks and allocations that fail do not return, so they
 * test nothing, and memory comes from heed_scratch. Rule and forward end in `return HEED_OK;`.
 * Those of a program's operations are callbacks. */
#define OPERATION(id)                                                                              \
    static heed_op op_##id;                                                                        \
    __attribute__((constructor)) static void register_##id(void)                                   \
    {                                                                                              \
        op_##id.is_inner = true;                                                                   \
        heed_register(&op_##id);                                                                   \
    }                                                                                              \
    static heed_op op_##id

/* heed_begin_in: heed_callback_begin for the functions of an operation. */
static inline heed_callback heed_begin_in(const heed_op *op)
{
    return op->is_inner ? (heed_callback){heed_self.door, heed_self.outermost}
                        : heed_callback_begin();
}

/* heed_first_operation: the head of the registry, linked through heed_op.next; of a static library,
 * it has only the operations that are used. heed_find_operation: that of this name, or NULL. */
const heed_op *heed_first_operation(void);
const heed_op *heed_find_operation(const char *name);

/* heed_common_dtype: the dtype to which a and b promote: float before i64 before bool; f32 with f64
 * is an error. */
static inline heed_dtype heed_common_dtype(const char *function, heed_dtype a, heed_dtype b)
{
    if (heed_is_float(a) && heed_is_float(b) && a != b) {
        heed_raise(HEED_ERR_DTYPE, "%s: %s with %s; cast one of them with heed_to", function,
                   heed_dtype_name(a), heed_dtype_name(b));
    }
    return heed_is_float(a) || (a == HEED_I64 && !heed_is_float(b)) ? a : b;
}

/* heed_check_index: checks that the index, at position `place` of its tensor, is in [0, count).
 * `what` names it in errors: index, id, target.
 * heed_checked_indices: the elements of an i64 tensor in row-major order, all checked in this way.
 * Every index must be checked before it is used to access memory. If the tensor is not contiguous,
 * the elements are a copy in the current scope. */
void heed_check_index(const char *function, const char *what, int64_t index, int64_t place,
                      int64_t count);
const int64_t *heed_checked_indices(const char *function, const char *what, heed_tensor *indices,
                                    int64_t count);

/* heed_sum_dims, heed_mean_dims: over several dims, or all if the list is empty; a dim given twice
 * is HEED_ERR_DIM. */
heed_tensor *heed_sum_dims(heed_tensor *x, heed_dims dims, bool keepdim);
heed_tensor *heed_mean_dims(heed_tensor *x, heed_dims dims, bool keepdim);

/* heed_evaluate: evaluates a formula in the notation of ops.def with Heed operations; a binding is
 * the operand that a name in it refers to. Numbers in the text have dtype `dtype`.
 * HEED_ERR_VALUE: the text is not in that notation.
 * heed_mentions: true if the text reads the operand with this one-letter name. */
typedef struct heed_binding {
    char name;
    heed_tensor *tensor;
} heed_binding;
heed_tensor *heed_evaluate(const char *text, const heed_binding *bindings, int count,
                           heed_dtype dtype);
bool heed_mentions(const char *text, char name);

#endif
