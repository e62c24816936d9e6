/* Operations: applying them, which is the only place that allocates results and records graphs;
 * gradient settings; and the registry. */
#include "autograd.h"

#include <stdio.h>
#include <string.h>

/* While hooks are there, a node's arguments are followed by the path of its module. */
enum { ORIGIN = sizeof(heed_text), MOST_ARGS = UINT16_MAX - ORIGIN };

/* ---- recording ---- */

/* True if y needs a node. Adds to *read the values that its derivative will read. */
static inline bool needs_node(const heed_call *call, const heed_tensor *y, unsigned *read)
{
    bool needed = false;
    if (heed_self.grad_disabled || call->op->backward == NULL || !heed_is_float(y->dtype)) {
        return false;
    }
    for (int i = 0; i < call->count; i++) {
        if (call->inputs[i]->requires_grad) {
            needed = true;
            *read |= i < HEED_SAVES ? call->op->saves[i] : 0;
        }
    }
    *read &= heed_values_of(call->count);
    return needed;
}

/* Copies the arguments and adds the edges: takes a reference to each input, and a use of each value
 * that the derivative will read; sums their versions to detect in-place changes. */
static void record(const heed_call *call, heed_tensor *y, unsigned read)
{
    const size_t origin = heed_self.hooks != NULL ? ORIGIN : 0, size = call->args_size + origin;
    void *args = size > sizeof y->small_args ? heed_alloc_sized(size) : y->small_args;
    y->args = args;
    y->args_size = (uint16_t)size;
    if (call->args_size > 0) {
        memcpy(args, call->args, call->args_size);
    }
    if (origin > 0) {
        const heed_text path = heed_module_path();
        memcpy((char *)args + call->args_size, &path, sizeof path);
        y->has_origin = true;
    }
    if (call->count > 2) {
        y->inputs = heed_alloc_sized((size_t)call->count * sizeof *y->inputs);
    }
    y->op = call->op;
    y->requires_grad = true;
    y->input_count = (uint16_t)call->count;
    y->saved = (uint8_t)read;
    for (int i = 0; i < call->count; i++) {
        y->inputs[i] = call->inputs[i];
        y->inputs[i]->references++;
    }
    for (unsigned left = read; left != 0; left &= left - 1) {
        heed_tensor *value = heed_saved_value(y, left);
        value->uses++;
        y->saved_version += value->storage->version;
    }
}

heed_text heed_origin_path(const heed_tensor *node)
{
    heed_text path = {""};
    if (node != NULL && node->has_origin) {
        memcpy(&path, (const char *)node->args + node->args_size - ORIGIN, sizeof path);
    }
    return path;
}

/* ---- applying ---- */

_Noreturn static void fail_count(const heed_call *call)
{
    if (call->inputs == NULL) {
        heed_raise(HEED_ERR_NULL, "%s: the list of tensors is NULL", call->op->name);
    }
    heed_raise(HEED_ERR_VALUE, "%s: cannot take %d tensors", call->op->name, call->count);
}

_Noreturn static void fail_input(const heed_call *call, int i)
{
    heed_check_tensor(call->op->name, heed_input_name(call->op, i).text, call->inputs[i]);
    heed_jump();
}

static inline void check_inputs(const heed_call *call)
{
    const heed_op *op = call->op;
    if (call->inputs == NULL || call->count < 1 || call->count > UINT16_MAX ||
        (op->signature == NULL && op->inputs != HEED_ANY_COUNT && op->inputs != call->count)) {
        fail_count(call);
    }
    for (int i = 0; i < call->count; i++) {
        if (call->inputs[i] == NULL || call->inputs[i]->storage == NULL) {
            fail_input(call, i);
        }
    }
}

/* True if all elements of a view of x are in x's storage. */
static bool is_inside(const heed_result *result, const heed_tensor *x)
{
    const int64_t size = (int64_t)heed_dtype_size(x->dtype);
    int64_t first = ((char *)x->data - (char *)x->storage->data) / size, reach;
    bool fits = !__builtin_add_overflow(first, result->offset, &first);
    int64_t last = first;
    for (int i = 0; i < result->shape.ndim && fits; i++) {
        int64_t *end = result->strides[i] < 0 ? &first : &last;
        fits = !__builtin_mul_overflow(result->shape.size[i] - 1, result->strides[i], &reach) &&
               !__builtin_add_overflow(*end, reach, end);
    }
    return fits && first >= 0 && last < (int64_t)x->storage->bytes / size;
}

/* True if the strides are those of a contiguous tensor with its dims in some order. */
static bool is_dense(heed_result *result)
{
    int64_t dense[HEED_MAX_DIMS];
    const int ndim = result->shape.ndim;
    heed_dense_strides(&(heed_tensor){.ndim = (uint8_t)ndim,
                                      .shape = result->shape.size,
                                      .strides = result->strides},
                       dense);
    bool same = true;
    for (int i = 0; i < ndim; i++) {
        same = same && (result->shape.size[i] == 1 || result->strides[i] == dense[i]);
    }
    return same;
}

/* Checks the result of a program's rule. */
static void check_layout(const heed_call *call, heed_result *result)
{
    const heed_shape *shape = &result->shape;
    const char *name = call->op->name;
    if (heed_count_elements(name, shape->ndim, shape->size, result->dtype) > 0 &&
        !(result->is_view ? is_inside(result, call->inputs[0]) : is_dense(result))) {
        heed_raise(HEED_ERR_SHAPE, "%s: its rule gives the result %s strides or an offset %s", name,
                   heed_shape_text(shape->ndim, shape->size).text,
                   result->is_view ? "beyond its first input" : "with gaps or overlaps");
    }
}

/* A rule of the library raises its errors; that of a program is a callback. */
static inline void run_rule(const heed_call *call, heed_result *result)
{
    const heed_op *op = call->op;
    if (op->is_inner) {
        if (op->rule != NULL) {
            op->rule(call, result);
        }
        return;
    }
    const heed_callback outer = heed_callback_begin();
    heed_status status = op->rule != NULL ? op->rule(call, result) : HEED_OK;
    heed_callback_end(outer);
    if (status == HEED_OK && !result->is_view && op->forward == NULL) {
        status = HEED_ERR_NULL;
    }
    if (status != HEED_OK || heed_blocked()) {
        heed_raise(status, "%s: the rule failed, or there is no forward", op->name);
    }
    if (result->is_view || result->is_strided) {
        check_layout(call, result);
    }
}

static inline __attribute__((always_inline)) void describe(const heed_call *call,
                                                           heed_result *result)
{
    check_inputs(call);
    result->is_view = result->is_strided = false; /* the rule sets strides if it needs them */
    result->offset = 0;
    if (call->op->signature != NULL) {
        heed_match(call, result);
    } else {
        result->dtype = call->inputs[0]->dtype;
        heed_get_shape(call->inputs[0], &result->shape);
    }
    run_rule(call, result);
}

void heed_describe(const heed_call *call, heed_result *result)
{
    describe(call, result);
}

static heed_tensor *make_result(const heed_call *call, const heed_result *result)
{
    const char *name = call->op->name;
    if (result->is_view) {
        return heed_tensor_view(name, call->inputs[0], result->shape.ndim, result->shape.size,
                                result->strides, result->offset);
    }
    heed_tensor *y = heed_tensor_new(name, &result->shape, result->dtype);
    if (result->is_strided) {
        memcpy(y->strides, result->strides, sizeof *y->strides * y->ndim);
    }
    return y;
}

static inline void run_forward(const heed_call *call, heed_tensor *y)
{
    const heed_op *op = call->op;
    if (op->is_inner) {
        op->forward(call, y);
        return;
    }
    const heed_callback outer = heed_callback_begin();
    const heed_status status = op->forward(call, y);
    heed_callback_end(outer);
    if (status != HEED_OK || heed_blocked()) {
        heed_raise(status, "%s: forward failed", op->name);
    }
}

static inline heed_tensor *compute(const heed_call *call)
{
    heed_result result;
    describe(call, &result);
    heed_tensor *y = make_result(call, &result);
    if (!result.is_view) {
        const heed_frame frame = heed_frame_begin(true);
        run_forward(call, y);
        heed_frame_end(frame);
    }
    unsigned read = 0;
    if (needs_node(call, y, &read)) {
        record(call, y, read);
    }
    return y;
}

/* A function of its own, as compilers optimise functions that call setjmp less. */
__attribute__((noinline)) static heed_tensor *apply(const heed_call *call)
{
    const heed_op *op = call->op;
    if (op == NULL) {
        heed_raise(HEED_ERR_NULL, "apply: op is NULL");
    }
    if (call->args_size > MOST_ARGS || (call->args == NULL && call->args_size > 0)) {
        heed_raise(HEED_ERR_VALUE,
                   "%s: %zu bytes of arguments; at most %d are allowed, and args must not be NULL",
                   op->name, call->args_size, MOST_ARGS);
    }
    const char *outer = heed_self.operation;
    heed_self.operation = op->name;
    heed_tensor *y = compute(call);
    heed_self.operation = outer;
    /* Hooks see what the program applies, not the steps of other operations. */
    return heed_self.hooks != NULL && outer == NULL ? heed_call_result_hooks(call, y) : y;
}

heed_tensor *heed_apply(const heed_op *op, heed_tensor *const *inputs, int count, const void *args,
                        size_t args_size)
{
    const heed_call call = {op, inputs, count, args, args_size};
    HEED_DOOR(NULL);
    return apply(&call);
}

/* ---- gradient settings of tensors ---- */

heed_tensor *heed_set_requires_grad(heed_tensor *x, bool requires_grad)
{
    HEED_DOOR(NULL);
    heed_check_tensor("set_requires_grad", "x", x);
    if (x->op != NULL) {
        heed_raise(HEED_ERR_GRAPH,
                   "set_requires_grad: x %s is a result of %s; heed_detach it first", HEED_TEXT(x),
                   x->op->name);
    }
    if (!heed_is_float(x->dtype) && requires_grad) {
        heed_raise(HEED_ERR_DTYPE, "set_requires_grad: %s has no gradient; heed_to(x, HEED_F32)",
                   heed_dtype_name(x->dtype));
    }
    x->requires_grad = requires_grad;
    return x;
}

heed_tensor *heed_retain_grad(heed_tensor *x)
{
    HEED_DOOR(NULL);
    heed_check_tensor("retain_grad", "x", x);
    if (!x->requires_grad) {
        heed_raise(HEED_ERR_GRAPH, "retain_grad: x %s does not require a gradient", HEED_TEXT(x));
    }
    x->retain_grad = true;
    return x;
}

heed_status heed_clear_grad(heed_tensor *x)
{
    if (x == NULL) {
        return heed_fail(HEED_ERR_NULL, "clear_grad: x is NULL");
    }
    heed_replace_grad(x, NULL);
    return heed_self.error;
}

heed_status heed_set_grad(heed_tensor *x, heed_tensor *grad)
{
    HEED_DOOR(heed_self.error);
    heed_check_tensor("set_grad", "x", x);
    heed_check_tensor("set_grad", "grad", grad);
    if (!heed_same_shape(x, grad)) {
        heed_raise(HEED_ERR_SHAPE, "set_grad: x is %s and grad %s; the shapes must be equal",
                   HEED_TEXT(x), HEED_TEXT(grad));
    }
    if (x->dtype != grad->dtype || !heed_is_float(x->dtype)) {
        heed_raise(HEED_ERR_DTYPE,
                   "set_grad: x is %s and grad %s; both must be f32 or both f64 (heed_to)",
                   heed_dtype_name(x->dtype), heed_dtype_name(grad->dtype));
    }
    const heed_frame frame = heed_frame_begin(false);
    heed_tensor *copy = heed_tensor_like(grad);
    heed_copy_elements(grad, copy);
    heed_take_from_scope(copy);
    heed_frame_end(frame);
    heed_replace_grad(x, copy);
    return HEED_OK;
}

/* ---- the registry ---- */

static heed_op *registry; /* filled before main, by constructors */

void heed_register(heed_op *op)
{
    if (op == NULL) {
        heed_fail(HEED_ERR_NULL, "register: op is NULL");
        return;
    }
    for (const heed_op *known = registry; known != NULL; known = known->next) {
        if (known == op) {
            return;
        }
    }
    heed_parse_signature(op);
    if (op->rule == NULL && op->forward == NULL) {
        return; /* a signature of a function that other operations compute */
    }
    op->next = registry;
    registry = op;
}

const heed_op *heed_first_operation(void)
{
    return registry;
}

const heed_op *heed_find_operation(const char *name)
{
    const heed_op *op = registry;
    while (op != NULL && (name == NULL || strcmp(op->name, name) != 0)) {
        op = op->next;
    }
    return op;
}

bool heed_wants_grad(const heed_vjp *vjp, int i)
{
    return vjp->wanted[i];
}
