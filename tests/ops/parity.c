/* Reads fixtures/parity/, and checks results to the tolerances in operations.def. */
#include "tests/ops/parity.h"
#include "tensor/tensor.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- files ---- */

heed_safetensors *parity_open(const char *area)
{
    char path[200];
    snprintf(path, sizeof path, "tests/fixtures/parity/%s.safetensors", area);
    heed_safetensors *file = heed_safetensors_open(path);
    EXPECT(file != NULL, "%s", heed_error_message());
    return file;
}

heed_tensor *parity_held(const heed_safetensors *file, const char *name, const char *part)
{
    char key[200];
    snprintf(key, sizeof key, "%s.%s", name, part);
    heed_tensor *held = heed_safetensors_tensor(file, key);
    if (held == NULL) {
        expect_error(HEED_ERR_VALUE, "no tensor '"); /* long names are truncated in the message */
    }
    return held;
}

void parity_every_case(const char *area, bool (*has_case)(const char *area, const char *name))
{
    heed_safetensors *file = parity_open(area);
    for (int i = 0; i < heed_safetensors_count(file); i++) { /* operation.form.part */
        const char *name = heed_safetensors_name(file, i), *form = strchr(name, '.') + 1;
        char key[200];
        snprintf(key, sizeof key, "%.*s", (int)(form - name) + (int)strcspn(form, "."), name);
        EXPECT(has_case(area, key), "%s of %s.safetensors has no row in tests/ops or tests/nn", key,
               area);
    }
    heed_safetensors_close(file);
}

/* ---- comparing ---- */

/* The elements of y and of its goal as doubles, in row-major order. */
typedef struct pair {
    heed_tensor *y, *goal;
    const double *found, *expected;
    int64_t count;
} pair;

static const double *doubles(heed_tensor **x)
{
    *x = heed_contiguous(heed_to(heed_detach(*x), HEED_F64));
    return (*x)->numel == 0 ? NULL : heed_const_data_f64(*x);
}

static pair pair_of(heed_tensor *y, heed_tensor *goal)
{
    pair p = {.y = y, .goal = goal, .count = goal->numel};
    p.found = doubles(&p.y);
    p.expected = doubles(&p.goal);
    expect_no_error();
    return p;
}

static void expect_places(const pair *p, const parity_goal *goal, bool single)
{
    for (int64_t i = 0; i < p->count; i++) {
        double expected = single ? (double)(float)p->expected[i] : p->expected[i];
        bool same = isnan(expected)   ? isnan(p->found[i])
                    : isinf(expected) ? p->found[i] == expected
                                      : isfinite(p->found[i]);
        EXPECT(same, "%s: %s, element %lld: %g instead of %g", goal->name, goal->part, (long long)i,
               p->found[i], expected);
    }
}

double parity_ulp(double x, heed_dtype dtype)
{
    int exponent;
    frexp(x, &exponent);
    return dtype == HEED_F32 ? ldexp(1, exponent < -125 ? -149 : exponent - 24)
                             : ldexp(1, exponent < -1021 ? -1074 : exponent - 53);
}

/* The largest magnitude that is finite in that dtype: infinity would loosen all tolerances. */
static double largest(const pair *p, heed_dtype dtype)
{
    const double end = dtype == HEED_F32 ? (double)FLT_MAX : DBL_MAX;
    double most = 0;
    for (int64_t i = 0; i < p->count; i++) {
        if (fabs(p->expected[i]) <= end) {
            most = fmax(most, fabs(p->expected[i]));
        }
    }
    return most;
}

/* The tolerance for an element of this value. */
static double allowed(const parity_goal *goal, double value, double most, heed_dtype dtype)
{
    const double near = 4 * parity_ulp(value, dtype);
    if (goal->accuracy == EXACT || goal->accuracy == ULP) {
        return goal->accuracy == EXACT ? 0 : near;
    }
    if (dtype == HEED_F64) {
        return 1e-12 * most;
    }
    return fmax(goal->accuracy == NEAR ? near : 2 * parity_ulp(most, dtype), 2 * goal->error);
}

static void expect_signs_of_zeros(const pair *p, const parity_goal *goal)
{
    for (int64_t i = 0; i < p->count; i++) {
        EXPECT(p->expected[i] != 0 || !signbit(p->found[i]) == !signbit(p->expected[i]),
               "%s: %s, element %lld: %g instead of %g", goal->name, goal->part, (long long)i,
               p->found[i], p->expected[i]);
    }
}

static void expect_close_enough(const pair *p, const parity_goal *goal, heed_dtype dtype)
{
    const double most = largest(p, dtype);
    for (int64_t i = 0; i < p->count; i++) {
        if (!isfinite(p->expected[i]) || !isfinite(p->found[i])) {
            continue; /* checked by expect_places */
        }
        double room = allowed(goal, p->expected[i], most, dtype);
        double off = fabs(p->found[i] - p->expected[i]);
        EXPECT(off <= room, "%s: %s, element %lld, %s: %.17g instead of %.17g, off by %.3g of %.3g",
               goal->name, goal->part, (long long)i, heed_dtype_name(dtype), p->found[i],
               p->expected[i], off, room);
    }
}

void expect_parity(heed_tensor *y, const parity_goal *goal)
{
    EXPECT(y != NULL, "%s: %s: %s", goal->name, goal->part, heed_error_message());
    const bool is_float = heed_is_float(goal->y->dtype);
    EXPECT(heed_is_float(y->dtype) == is_float && (is_float || y->dtype == goal->y->dtype),
           "%s: %s is %s, not %s", goal->name, goal->part, heed_dtype_name(y->dtype),
           heed_dtype_name(goal->y->dtype));
    EXPECT(heed_same_shape(y, goal->y), "%s: %s has the wrong shape", goal->name, goal->part);
    if (!is_float) {
        EXPECT(heed_equal(heed_detach(y), goal->y), "%s: %s differs", goal->name, goal->part);
        return;
    }
    const bool single = y->dtype == HEED_F32;
    pair p = pair_of(y, single && goal->places != NULL ? goal->places : goal->y);
    expect_places(&p, goal, single);
    p = pair_of(y, goal->y);
    expect_close_enough(&p, goal, y->dtype);
    if (goal->accuracy == EXACT || goal->accuracy == ULP) {
        expect_signs_of_zeros(&p, goal);
    }
}
