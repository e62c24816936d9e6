/* Helpers for the rows of misuse.def: tensors, modules, and misuses that take several calls. */
#ifndef HEED_TESTS_MISUSE_CALLS_H
#define HEED_TESTS_MISUSE_CALLS_H

#include <limits.h>
#include <math.h>
#include <string.h>

#include "tests/common/test_util.h"

#define F32(...)     heed_ones(HEED_SHAPE(__VA_ARGS__), HEED_F32)
#define F64(...)     heed_ones(HEED_SHAPE(__VA_ARGS__), HEED_F64)
#define I64(...)     heed_ones(HEED_SHAPE(__VA_ARGS__), HEED_I64)
#define BOOL(...)    heed_ones(HEED_SHAPE(__VA_ARGS__), HEED_BOOL)
#define LIST(...)    ((heed_tensor *[]){__VA_ARGS__})
#define HUGE_SIZE    (INT64_C(1) << 60)
#define NOT_A_NUMBER ((double)NAN)
#define INFINITE     ((double)INFINITY)

static double room[4];
static heed_tensor *no_grads[1], *parts[4];

static struct {
    struct heed_linear *linear;
    struct heed_embedding *embedding;
    struct heed_position_encoding *position;
    struct heed_self_attention *attention;
    struct heed_multi_head *heads;
    struct heed_multihead_attention *multi; /* (L, N, 4) */
    struct heed_layer_norm *norm;           /* (4) */
    struct heed_self_attention *cross;      /* d_model 4, kv_dim 5 */
} nn;

static heed_tensor *leaf(heed_tensor *x)
{
    return heed_set_requires_grad(x, true);
}

/* Joins 64 huge tensors. */
static void join_too_much(heed_tensor *(*join)(heed_tensor *const *, int, int), int64_t size)
{
    heed_tensor *list[64], *huge = heed_expand(F32(1), HEED_SHAPE(size));
    for (int i = 0; i < 64; i++) {
        list[i] = huge;
    }
    join(list, 64, 0);
}

static void backward_twice(void)
{
    heed_tensor *y = heed_sum(heed_exp(leaf(F32(2))));
    heed_backward(y);
    heed_backward(y);
}

/* Modifies in place an operand that the backward pass will read. */
static void move(void)
{
    heed_tensor *c = F32(2), *y = heed_mul(leaf(F32(2)), c);
    heed_fill_into(c, 3);
    heed_backward(heed_sum(y));
}

static void require_late(void)
{
    heed_tensor *x = leaf(F32(2)), *b = F32(2), *y = heed_sum(heed_mul(x, b));
    heed_set_requires_grad(b, true);
    heed_backward(y);
}

static void grad_by(heed_tensor *x)
{
    heed_tensor *dx = x;
    heed_grad(heed_sum(leaf(F32(2))), &x, 1, &dx, false);
    ck_assert_ptr_null(dx);
}

static heed_tensor *square(heed_tensor *const *inputs, void *context)
{
    (void)context;
    return heed_mul(inputs[0], inputs[0]);
}

static heed_tensor *gives_nothing(heed_tensor *const *inputs, void *context)
{
    (void)inputs, (void)context;
    return NULL;
}

typedef heed_status checker(heed_gradcheck_args args);

static void check(checker *gradcheck, heed_tensor *x)
{
    gradcheck((heed_gradcheck_args){square, NULL, &x, .count = 1});
}

static void end_twice(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_scope_end(&scope);
    heed_scope_end(&scope);
}

static void leave_open(void)
{
    heed_scope outer, inner, innermost;
    heed_scope_begin(&outer);
    heed_scope_begin(&inner);
    heed_set_grad_enabled(false);
    heed_scope_begin(&innermost);
    F32(100);
    heed_scope_end(&outer);
}

/* A graph node whose value was freed because no derivative reads it. */
static heed_tensor *without_value(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *sum = heed_sum(heed_add_scalar(leaf(F32(2)), 1));
    return heed_scope_end_with(&scope, sum)->inputs[0];
}

/* A leaf whose value was freed while an outer tensor's graph still holds its handle. */
static heed_tensor *leaf_without_value(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *sum = heed_sum(leaf(F32(2)));
    return heed_scope_end_with(&scope, sum)->inputs[0];
}

/* Saves one tensor, under a second name too unless `other` is NULL. The folder does not exist. */
static void save_in(const char *name, const char *other, heed_tensor *x, const heed_metadata *about)
{
    const char *const names[] = {name, other};
    heed_save_file((heed_tensor_list){1 + (other != NULL), LIST(x, x), names}, "/heed-none/file",
                   about);
}

/* Reads a tensor of a file, or the name of the i-th if that is not 0. */
static void read_part(const char *name, int i)
{
    heed_safetensors *file = heed_safetensors_open("tests/fixtures/attention.safetensors");
    if (i != 0) {
        heed_safetensors_name(file, i);
    } else {
        heed_safetensors_tensor(file, name);
    }
    heed_safetensors_close(file);
}

#endif
