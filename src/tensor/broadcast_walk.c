/* Walks several tensors in step, with any strides. A broadcast dim has stride 0, set by shape.c. */
#include "tensor.h"

#include <string.h>

#include "kernels/kernels.h"

void heed_walk_lane(walk *w, const void *data, const int64_t *strides, heed_dtype dtype, int ndim)
{
    lane *l = &w->lane[w->lanes++];
    l->at = (char *)data;
    for (int i = 0; i < ndim; i++) {
        l->stride[i] = strides[i] * (int64_t)heed_dtype_size(dtype);
    }
}

static bool can_merge(const walk *w, int outer, int inner)
{
    for (int k = 0; k < w->lanes; k++) {
        if (w->lane[k].stride[outer] != w->lane[k].stride[inner] * w->size[inner]) {
            return false;
        }
    }
    return true;
}

static void move_dim(walk *w, int from, int to)
{
    w->size[to] = w->size[from];
    for (int k = 0; k < w->lanes; k++) {
        w->lane[k].stride[to] = w->lane[k].stride[from];
    }
}

bool heed_walk_begin(walk *w, int ndim, const int64_t *shape)
{
    memcpy(w->size, shape, sizeof *shape * (size_t)ndim);
    memset(w->index, 0, sizeof w->index);
    w->ndim = 0;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] == 0) {
            return false;
        }
        if (shape[i] == 1) {
            continue;
        }
        int last = w->ndim - 1;
        if (last >= 0 && can_merge(w, last, i)) {
            int64_t merged = w->size[last] * shape[i];
            move_dim(w, i, last);
            w->size[last] = merged;
        } else {
            move_dim(w, i, w->ndim++);
        }
    }
    if (w->ndim == 0) {
        w->ndim = 1;
        w->size[0] = 1;
        for (int k = 0; k < w->lanes; k++) {
            w->lane[k].stride[0] = 0;
        }
    }
    return true;
}

bool heed_walk_next(walk *w)
{
    for (int i = w->ndim - 2; i >= 0; i--) {
        bool more = ++w->index[i] < w->size[i];
        for (int k = 0; k < w->lanes; k++) {
            w->lane[k].at += more ? w->lane[k].stride[i] : -w->lane[k].stride[i] * (w->size[i] - 1);
        }
        if (more) {
            return true;
        }
        w->index[i] = 0;
    }
    return false;
}

void heed_walk_to(walk *w, int64_t run)
{
    for (int i = w->ndim - 2; i >= 0; i--) {
        w->index[i] = run % w->size[i];
        run /= w->size[i];
        for (int k = 0; k < w->lanes; k++) {
            w->lane[k].at += w->lane[k].stride[i] * w->index[i];
        }
    }
}

/* ---- parallel walks ---- */

typedef struct parts {
    const walk *w;
    int64_t count, unit; /* in elements; ranges consist of whole units, to align vectors */
    walk_part *part;
    const void *context;
} parts;

static void walk_range(void *context, int64_t first, int64_t end)
{
    const parts *p = context;
    const int64_t n = run_length(p->w), last = end * p->unit;
    const int64_t stop = last < p->count ? last : p->count;
    walk w = *p->w;
    int64_t at = first * p->unit, start = at % n;
    heed_walk_to(&w, at / n);
    while (at < stop) {
        const int64_t left = stop - at, rest = n - start, part = left < rest ? left : rest;
        p->part(p->context, &w, start, part);
        at += part;
        start = 0;
        heed_walk_next(&w);
    }
}

/* The unit for grains shorter than a chunk, for example when each element of the walk is a run or a
 * line. */
enum { LITTLE = 16 };

void heed_walk_parts(walk *w, int64_t grain, walk_part *part, const void *context)
{
    parts p = {.w = w, .count = 1, .unit = 1, .part = part, .context = context};
    for (int i = 0; i < w->ndim; i++) {
        p.count *= w->size[i];
    }
    if (p.count >= 2 * grain) {
        p.unit = grain >= CHUNK ? CHUNK : grain >= LITTLE ? LITTLE : 1;
        heed_parallel_for((p.count + p.unit - 1) / p.unit, (grain + p.unit / 2) / p.unit,
                          walk_range, &p);
        return;
    }
    do {
        part(context, w, 0, run_length(w));
    } while (heed_walk_next(w));
}

/* ---- elements ---- */

const void *heed_walk_elements(const char *at, int64_t stride, int64_t n, heed_dtype dtype,
                               heed_dtype as, chunk_buffer *gathered)
{
    int64_t size = (int64_t)heed_dtype_size(dtype);
    if (dtype == as && (stride == size || n == 1)) {
        return at;
    }
    heed_kernels_for(as)->gather[dtype](n, at, stride / size, gathered);
    return gathered;
}
