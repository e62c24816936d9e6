/* Walks several tensors in step, on any strides. Where is broadcasting? Here: a stride of 0. */
#include "tensor/walk.h"

#include <string.h>

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

const void *heed_walk_elements(const char *at, int64_t stride, int64_t n, heed_dtype dtype,
                               heed_dtype as, buffer *room)
{
    int64_t size = (int64_t)heed_dtype_size(dtype);
    if (dtype == as && (stride == size || n == 1)) {
        return at;
    }
    heed_kernels_for(as)->gather[dtype](n, at, stride / size, room);
    return room;
}
