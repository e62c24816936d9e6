/* Sums over any dims, and kernels that take one line of a dim at a time. */
#include <string.h>

#include "tensor/alloc.h"
#include "tensor/walk.h"

/* ---- sums ---- */

/* Adds all that the walk passes to one total. */
static void sum_walk(walk w, heed_dtype from, heed_dtype as, heed_total *total)
{
    const int64_t n = run_length(&w), stride = run_stride(&w, 0);
    const bool ready = from == as && stride == (int64_t)heed_dtype_size(from);
    const int64_t step = ready ? n : CHUNK;
    do {
        for (int64_t start = 0; start < n; start += step) {
            buffer room;
            int64_t part = n - start < step ? n - start : step;
            const void *x =
                heed_walk_elements(w.lane[0].at + start * stride, stride, part, from, as, &room);
            heed_kernels_for(as)->sum(part, x, total);
        }
    } while (heed_walk_next(&w));
}

/* Adds up `columns` sums side by side: the walk passes the first element of each row. */
static void sum_walk_columns(walk w, heed_dtype from, heed_dtype as, int64_t columns,
                             heed_total *totals)
{
    const int64_t stride = (int64_t)heed_dtype_size(from);
    do {
        for (int64_t i = 0; i < run_length(&w); i++) {
            buffer room;
            const void *x = heed_walk_elements(w.lane[0].at + i * run_stride(&w, 0), stride,
                                               columns, from, as, &room);
            heed_kernels_for(as)->sum_columns(columns, x, totals);
        }
    } while (heed_walk_next(&w));
}

/* The dims of x that are in `set` (or, with `inside` false, those that are not), as a walk. False
 * where there is nothing to walk. */
static bool walk_dims(const heed_tensor *x, unsigned set, bool inside, walk *w)
{
    int64_t shape[HEED_MAX_DIMS], strides[HEED_MAX_DIMS];
    int ndim = 0;
    for (int i = 0; i < x->ndim; i++) {
        if (((set >> i & 1) != 0) == inside) {
            shape[ndim] = x->shape[i];
            strides[ndim++] = x->strides[i];
        }
    }
    heed_walk_lane(w, x->data, strides, x->dtype, ndim);
    return heed_walk_begin(w, ndim, shape);
}

void heed_sum_elements(const heed_tensor *x, unsigned set, double divisor, heed_tensor *out)
{
    walk stay = {0}, summed = {0};
    const bool empty = !walk_dims(x, set, true, &summed);
    if (!walk_dims(x, set, false, &stay)) {
        return;
    }
    const int64_t size = (int64_t)heed_dtype_size(x->dtype);
    /* x is read in the order in which it lies: many sums at once where the inner dim stays. */
    const bool columns = !empty && run_stride(&stay, 0) == size && run_stride(&summed, 0) != size;
    const int64_t width = columns ? CHUNK : 1;
    char *to = out->data;
    do {
        for (int64_t start = 0; start < run_length(&stay); start += width) {
            heed_total totals[CHUNK];
            int64_t left = run_length(&stay) - start, part = left < width ? left : width;
            memset(totals, 0, sizeof *totals * (size_t)part);
            summed.lane[0].at = stay.lane[0].at + start * run_stride(&stay, 0);
            if (columns) {
                sum_walk_columns(summed, x->dtype, out->dtype, part, totals);
            } else if (!empty) {
                sum_walk(summed, x->dtype, out->dtype, totals);
            }
            heed_kernels_for(out->dtype)->from_totals(part, totals, divisor, to);
            to += part * (int64_t)heed_dtype_size(out->dtype);
        }
    } while (heed_walk_next(&stay));
}

/* ---- lines ---- */

heed_status heed_map_lines(heed_line_kernel *kernel, const heed_tensor *x, int dim,
                           heed_tensor *out)
{
    const int64_t n = x->ndim > 0 ? x->shape[dim] : 1;
    const int64_t from_step = x->ndim > 0 ? x->strides[dim] : 1;
    const int64_t to_step = x->ndim > 0 ? out->strides[dim] : 1;
    const size_t size = heed_dtype_size(out->dtype), line_size = (size_t)n * size;
    int64_t shape[HEED_MAX_DIMS];
    memcpy(shape, x->shape, sizeof *shape * x->ndim);
    if (x->ndim > 0) {
        shape[dim] = n > 0; /* the other dims are walked, line by line */
    }
    walk w = {0};
    heed_walk_lane(&w, x->data, x->strides, x->dtype, x->ndim);
    heed_walk_lane(&w, out->data, out->strides, out->dtype, x->ndim);
    if (!heed_walk_begin(&w, x->ndim, shape)) {
        return HEED_OK;
    }
    const bool gathers = from_step != 1 || x->dtype != out->dtype, scatters = to_step != 1;
    char *room = gathers || scatters ? heed_alloc(2 * line_size) : NULL;
    if (room == NULL && (gathers || scatters)) {
        return heed_self.error;
    }
    const heed_kernels *kernels = heed_kernels_for(out->dtype);
    do {
        for (int64_t i = 0; i < run_length(&w); i++) {
            const char *from = w.lane[0].at + i * run_stride(&w, 0);
            char *to = w.lane[1].at + i * run_stride(&w, 1);
            if (gathers) {
                kernels->gather[x->dtype](n, from, from_step, room);
                from = room;
            }
            kernel(n, from, scatters ? room + line_size : to);
            if (scatters) {
                kernels->scatter(n, room + line_size, to, to_step);
            }
        }
    } while (heed_walk_next(&w));
    heed_free(room, 2 * line_size);
    return HEED_OK;
}
