/* arange and linspace: numbers at equal distances, to the bit those of torch 2 with AVX2.
 *
 * Each product is fused with its sum, as torch's compiler does it. */
#include <math.h>

#include "core.h"
#include "create.h"
#include "map.h"

static double rounded(double value, heed_dtype dtype)
{
    return dtype == HEED_F32 ? (double)(float)value : value;
}

static void store(heed_tensor *t, int64_t i, double value)
{
    if (t->dtype == HEED_F32) {
        ((float *)t->data)[i] = (float)value;
    } else if (t->dtype == HEED_F64) {
        ((double *)t->data)[i] = value;
    } else {
        ((int64_t *)t->data)[i] = (int64_t)value;
    }
}

/* ---- arange ---- */

/* torch makes two vectors of 32 bytes at a time, each counted from its first element, which is
 * rounded to the dtype; what is left over is counted from the start. */
static void count_floats(heed_tensor *t, double start, double step)
{
    const int64_t lanes = 32 / (int64_t)heed_dtype_size(t->dtype);
    const int64_t in_vectors = t->numel - t->numel % (2 * lanes);
    for (int64_t i = 0; i < t->numel; i++) {
        const int64_t lane = i % lanes;
        if (i < in_vectors) {
            const double first = rounded(fma(step, (double)(i - lane), start), t->dtype);
            store(t, i, fma(step, (double)lane, first));
        } else {
            store(t, i, fma(step, (double)i, start));
        }
    }
}

/* From one end of i64 to the other the distance passes INT64_MAX: counted without sign. */
static void count_whole(heed_tensor *t, int64_t start, int64_t step)
{
    int64_t *to = t->data;
    for (int64_t i = 0; i < t->numel; i++) {
        to[i] = (int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)step);
    }
}

static heed_status check_arange(double start, double end, double step, double count,
                                heed_dtype dtype)
{
    if (dtype == HEED_BOOL) {
        return heed_fail(HEED_ERR_DTYPE, "arange: bool cannot count; take i64 or a float");
    }
    if (dtype == HEED_I64 && (start != floor(start) || step != floor(step))) {
        return heed_fail(HEED_ERR_VALUE,
                         "arange: i64 counts in whole numbers, not from %g in steps of %g", start,
                         step);
    }
    if (step == 0 || !isfinite(step) || !(count >= 0 && count < 0x1p62)) {
        return heed_fail(HEED_ERR_VALUE, "arange: from %g in steps of %g never reaches %g", start,
                         step, end);
    }
    if (heed_check_value("arange", start, dtype) != HEED_OK ||
        heed_check_value("arange", end, dtype) != HEED_OK) {
        return heed_self.error;
    }
    return heed_check_value("arange", step, dtype);
}

heed_tensor *heed_arange(double start, double end, double step, heed_dtype dtype)
{
    const double count = ceil((end - start) / step);
    if (heed_blocked() || check_arange(start, end, step, count, dtype) != HEED_OK) {
        return NULL;
    }
    heed_tensor *t = heed_tensor_create("arange", HEED_SHAPE((int64_t)count), dtype);
    if (t == NULL) {
        return NULL;
    }
    if (dtype == HEED_I64) {
        count_whole(t, (int64_t)start, (int64_t)step);
    } else {
        count_floats(t, start, step);
    }
    return t;
}

/* ---- linspace ---- */

/* from + place step, in the dtype itself */
static double on_line(double from, double step, int64_t place, heed_dtype dtype)
{
    return dtype == HEED_F32 ? (double)fmaf((float)step, (float)place, (float)from)
                             : fma(step, (double)place, from);
}

/* The first half from the start, the second half back from the end. */
static void divide(heed_tensor *t, double start, double end)
{
    const heed_dtype dtype = t->dtype;
    const int64_t last = t->numel - 1, half = t->numel / 2;
    const double parts = rounded((double)last, dtype);
    const double step = rounded(rounded(end - start, dtype) / parts, dtype);
    for (int64_t i = 0; i < half; i++) {
        store(t, i, on_line(start, step, i, dtype));
    }
    for (int64_t i = half; i <= last; i++) {
        store(t, i, on_line(end, -step, last - i, dtype));
    }
}

heed_tensor *heed_linspace(double start, double end, int64_t steps, heed_dtype dtype)
{
    if (heed_blocked()) {
        return NULL;
    }
    if (dtype == HEED_BOOL) {
        heed_fail(HEED_ERR_DTYPE, "linspace: bool has no numbers between; take a float");
        return NULL;
    }
    if (steps < 0) {
        heed_fail(HEED_ERR_VALUE, "linspace: %lld steps; give how many numbers to make",
                  (long long)steps);
        return NULL;
    }
    if (heed_check_value("linspace", start, dtype) != HEED_OK ||
        heed_check_value("linspace", end, dtype) != HEED_OK) {
        return NULL;
    }
    heed_tensor *t = heed_tensor_create("linspace", HEED_SHAPE(steps), dtype);
    if (t == NULL) {
        return NULL;
    }
    const bool whole = dtype == HEED_I64;
    start = whole ? trunc(start) : rounded(start, dtype);
    end = whole ? trunc(end) : rounded(end, dtype);
    if (steps == 1) {
        heed_fill_elements(t, start);
    } else {
        divide(t, start, end);
    }
    return t;
}
