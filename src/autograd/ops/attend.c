/* Attention as one operation: its kernels go through the scores in tiles (tensor/kernels/attention_tiles.c), so that neither
 * forward nor backward holds all of them. Saved are q, k and v. The definition is that of attention.c. */
#include <string.h>

#include "../../tensor/alloc.h"
#include "../../tensor/frame.h"
#include "../../tensor/kernels/kernels.h"
#include "../../tensor/parallel.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../op.h"
#include "attention_parts.h"
#include "elementwise.h"
#include "matmul.h"
#include "reduce.h"
#include "shape.h"

typedef struct attend_args {
    double scale;
    bool is_causal;
} attend_args;

/* ---- rule ---- */

bool heed_has_tiles(const heed_tensor *q, const heed_tensor *k, const heed_tensor *v)
{
    const size_t batch = sizeof *q->shape * (size_t)(q->ndim - 2);
    return k->ndim == q->ndim && v->ndim == q->ndim && memcmp(k->shape, q->shape, batch) == 0 &&
           memcmp(v->shape, q->shape, batch) == 0;
}

/* Strides of `shape`, dense, its dims in the order in which those of x lie, so that heads which are a view lie
 * side by side again; but the last dim is the innermost. */
static void dense_strides(const heed_tensor *x, heed_shape *shape, int64_t *strides)
{
    heed_tensor like = *x;
    like.shape = shape->size;
    heed_dense_strides(&like, strides);
    if (strides[shape->ndim - 1] != 1) {
        heed_row_major(shape->ndim, shape->size, strides);
    }
}

static heed_status attend_rule(const heed_call *call, heed_result *result)
{
    heed_tensor *const *in = call->inputs;
    heed_shape scores;
    if (call->count < 3 || call->count > 4) {
        return heed_fail(HEED_ERR_VALUE, "attend: %d tensors; q, k, v and perhaps a mask",
                         call->count);
    }
    if (heed_check_attention_inputs(in[0], in[1], in[2], call->count > 3 ? in[3] : NULL, &scores) !=
        HEED_OK) {
        return heed_self.error;
    }
    if (!heed_has_tiles(in[0], in[1], in[2])) {
        return heed_fail(HEED_ERR_SHAPE, "attend: the batches of q %s, k %s and v %s must be equal",
                         HEED_TEXT(in[0]), HEED_TEXT(in[1]), HEED_TEXT(in[2]));
    }
    result->shape.size[result->shape.ndim - 1] = in[2]->shape[in[2]->ndim - 1];
    result->is_strided = true;
    dense_strides(in[0], &result->shape, result->strides);
    return HEED_OK;
}

/* ---- heads ---- */

/* All heads of a call, to be shared out among threads. */
typedef struct heads {
    heed_attention call; /* of the first head */
    const heed_tensor *q, *k, *v, *y, *g, *dq, *dk, *dv, *mask;
    int64_t mask_strides[HEED_MAX_DIMS];
    int64_t count, blocks; /* heads; pieces of each: blocks of queries, or for gradients one */
    size_t room_size;
    char *rooms; /* one for each thread at work */
    int room_count;
    uint8_t *room_is_taken;
} heads;

static heed_matrix matrix_on(const heed_tensor *t, const int64_t *strides, const heed_shape *batch,
                             int64_t head)
{
    const int ndim = batch->ndim + 2;
    int64_t offset = 0;
    for (int i = batch->ndim - 1; i >= 0; i--) {
        offset += head % batch->size[i] * strides[i];
        head /= batch->size[i];
    }
    char *data = (char *)t->data + offset * (int64_t)heed_dtype_size(t->dtype);
    return (heed_matrix){data, strides[ndim - 2], strides[ndim - 1]};
}

/* What a kernel takes for one head. */
static heed_attention head_of(const heads *all, int64_t head)
{
    heed_attention call = all->call;
    heed_shape batch;
    heed_get_shape(all->q, &batch); /* a worker has no error of its own to ask for */
    batch.ndim -= 2;
    const struct {
        const heed_tensor *t;
        heed_matrix *matrix;
    } parts[] = {{all->q, &call.q}, {all->k, &call.k},   {all->v, &call.v},   {all->y, &call.y},
                 {all->g, &call.g}, {all->dq, &call.dq}, {all->dk, &call.dk}, {all->dv, &call.dv}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].t != NULL) {
            *parts[i].matrix = matrix_on(parts[i].t, parts[i].t->strides, &batch, head);
        }
    }
    if (all->mask != NULL) {
        *(all->mask->dtype == HEED_BOOL ? &call.keep : &call.bias) =
            matrix_on(all->mask, all->mask_strides, &batch, head);
    }
    return call;
}

/* Blocks small enough for causal ones to skip much, and for the scores of one to stay in the cache. */
static void choose_blocks(heed_attention *call, size_t size, bool is_gradient)
{
    enum { CACHE = 1 << 21, TILE = 256 };
    const int64_t all = heed_attention_width(call->keys);
    call->columns = all < TILE ? all : TILE;
    call->rows = call->queries <= 128 ? 32 : 64;
    while (is_gradient && call->rows > 16 && 2 * call->rows * call->keys > CACHE / (int64_t)size) {
        call->rows /= 2;
    }
}

static heads all_heads(const heed_call *call, const heed_tensor *y, bool is_gradient)
{
    const attend_args *args = call->args;
    const heed_tensor *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
    heads all = {.q = q, .k = k, .v = v, .y = y, .mask = call->count > 3 ? call->inputs[3] : NULL};
    all.call = (heed_attention){.queries = q->shape[q->ndim - 2],
                                .keys = k->shape[k->ndim - 2],
                                .features = q->shape[q->ndim - 1],
                                .values = v->shape[v->ndim - 1],
                                .scale = args->scale,
                                .is_causal = args->is_causal};
    choose_blocks(&all.call, heed_dtype_size(q->dtype), is_gradient);
    all.blocks = is_gradient ? 1 : (all.call.queries + all.call.rows - 1) / all.call.rows;
    all.count = 1;
    for (int i = 0; i < q->ndim - 2; i++) {
        all.count *= q->shape[i];
    }
    if (all.mask != NULL) {
        int64_t scores[HEED_MAX_DIMS];
        memcpy(scores, q->shape, sizeof *scores * q->ndim);
        scores[q->ndim - 1] = all.call.keys;
        heed_broadcast_strides(all.mask, q->ndim, scores, all.mask_strides);
    }
    return all;
}

/* ---- threads ---- */

/* Takes a room that no other thread works in; there are as many as threads. */
static int take_room(const heads *all)
{
    int room = 0;
    while (__atomic_exchange_n(&all->room_is_taken[room], 1, __ATOMIC_ACQUIRE) != 0) {
        room = (room + 1) % all->room_count;
    }
    return room;
}

/* The pieces [first, end): blocks of queries, or where there are gradients to find whole heads. */
static void attend_some(void *context, int64_t first, int64_t end)
{
    const heads *all = context;
    const heed_kernels *kernels = heed_kernels_for(all->q->dtype);
    const int room = take_room(all);
    for (int64_t i = first; i < end; i++) {
        heed_attention call = head_of(all, i / all->blocks);
        call.room = all->rooms + (size_t)room * all->room_size;
        if (all->g != NULL) {
            kernels->attend_gradient(&call);
        } else {
            kernels->attend(&call, i % all->blocks);
        }
    }
    __atomic_store_n(&all->room_is_taken[room], 0, __ATOMIC_RELEASE);
}

/* All pieces, each of about so many multiplications. */
static heed_status run(heads *all, double multiplications)
{
    const double worth_a_thread = 1e6;
    const size_t room =
        heed_attention_room(&all->call, all->g != NULL, heed_dtype_size(all->q->dtype));
    const int64_t count = all->count * all->blocks;
    const int threads = heed_get_num_threads();
    all->room_count = count < threads ? (int)count : threads;
    all->room_size = (room + 63) / 64 * 64;
    if (count == 0) {
        return HEED_OK;
    }
    const size_t bytes = (size_t)all->room_count * (all->room_size + 1);
    all->rooms = heed_alloc(bytes);
    if (all->rooms == NULL) {
        return heed_self.error;
    }
    all->room_is_taken = (uint8_t *)all->rooms + (size_t)all->room_count * all->room_size;
    memset(all->room_is_taken, 0, (size_t)all->room_count);
    heed_parallel_for(count, 1 + (int64_t)(worth_a_thread / (multiplications + 1)), attend_some,
                      all);
    heed_free(all->rooms, bytes);
    return HEED_OK;
}

static heed_status attend_forward(const heed_call *call, heed_tensor *y)
{
    heads all = all_heads(call, y, false);
    const heed_attention *one = &all.call;
    return run(&all, (double)one->rows * (double)one->keys * (double)(one->features + one->values));
}

/* ---- gradients ---- */

/* Of x's shape, dense. */
static heed_tensor *empty_gradient(const heed_tensor *x)
{
    heed_shape shape = heed_shape_of_tensor(x);
    heed_tensor *d = heed_tensor_create("attend", shape, x->dtype);
    if (d != NULL) {
        dense_strides(x, &shape, d->strides);
    }
    return d;
}

static void gradients_by_kernels(const heed_vjp *v)
{
    const heed_call call = {v->y->op, v->inputs, v->y->input_count, v->args};
    heads all = all_heads(&call, NULL, true);
    heed_tensor *g = v->g, *d[3];
    for (int i = 0; i < 3; i++) {
        d[i] = empty_gradient(v->inputs[i]);
    }
    if (g->strides[g->ndim - 1] != 1) {
        g = heed_contiguous(g);
    }
    if (heed_blocked()) {
        return;
    }
    all.g = g;
    all.dq = d[0];
    all.dk = d[1];
    all.dv = d[2];
    const heed_attention *one = &all.call;
    if (run(&all, 2.5 * (double)one->queries * (double)one->keys *
                      (double)(one->features + one->values)) == HEED_OK) {
        memcpy(v->grads, d, sizeof d);
    }
}

/* The same in operations that can be differentiated, and the gradient of a mask that is added. */
static void gradients_by_operations(const heed_vjp *v)
{
    const attend_args *args = v->args;
    heed_tensor *k = v->inputs[1], *g = v->g;
    heed_tensor *mask = v->y->input_count > 3 ? v->inputs[3] : NULL;
    heed_tensor *q = heed_mul_scalar(v->inputs[0], args->scale);
    heed_tensor *p = heed_attention_percent(q, k, mask, args->is_causal);
    heed_tensor *dp = heed_matmul(g, heed_transpose(v->inputs[2], -2, -1));
    heed_tensor *mean = heed_sum_dim(heed_mul(dp, p), -1, true);
    heed_tensor *ds = heed_mul(p, heed_sub(dp, mean));
    v->grads[0] = heed_mul_scalar(heed_matmul(ds, k), args->scale);
    v->grads[1] = heed_matmul(heed_transpose(ds, -2, -1), q);
    v->grads[2] = heed_matmul(heed_transpose(p, -2, -1), g);
    if (mask != NULL && mask->dtype != HEED_BOOL) {
        v->grads[3] = ds;
    }
}

static void attend_backward(const heed_vjp *v)
{
    const bool for_mask = v->y->input_count > 3 && heed_wants_grad(v, 3);
    if (heed_grad_enabled() || for_mask) {
        gradients_by_operations(v);
    } else {
        gradients_by_kernels(v);
    }
}

enum {
    ALL = HEED_SAVES_INPUT(0) | HEED_SAVES_INPUT(1) | HEED_SAVES_INPUT(2) | HEED_SAVES_INPUT(3)
};

HEED_OPERATION(attend) = {.name = "attend",
                          .inputs = HEED_ANY_COUNT,
                          .names = HEED_NAMES("q", "k", "v", "mask"),
                          .rule = attend_rule,
                          .forward = attend_forward,
                          .backward = attend_backward,
                          .saves = {ALL, ALL, ALL, ALL}};

heed_tensor *heed_attend(heed_tensor *q, heed_tensor *k, heed_tensor *v, heed_tensor *mask,
                         bool is_causal, double scale)
{
    const attend_args args = {scale, is_causal};
    heed_tensor *inputs[] = {q, k, v, mask};
    return heed_apply(&op_attend, inputs, mask != NULL ? 4 : 3, &args, sizeof args);
}
