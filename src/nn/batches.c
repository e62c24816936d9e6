/* Batches of indices, in the order of torch 2.15's DataLoader. */
#include "batches.h"

#include "../autograd/ops/operations.h"
#include "../tensor/alloc.h"
#include "../tensor/create.h"
#include "../tensor/random/random.h"
#include "../tensor/read.h"
#include "../tensor/scope.h"
#include "arguments.h"

struct heed_batches {
    int64_t count, batch_size;
    heed_batches_options options;
    heed_tensor *order; /* of this epoch; NULL between epochs */
    heed_tensor *batch; /* the current one; NULL between epochs */
    int64_t used;       /* indices of this epoch already returned */
};

heed_batches *heed_batches_new(int64_t count, int64_t batch_size, heed_batches_options options)
{
    const heed_named_size sizes[] = {{"count", count}, {"batch_size", batch_size}};
    if (heed_check_positive("batches", sizes, 2) != HEED_OK) {
        return NULL;
    }
    heed_batches *b = heed_alloc_zeroed(sizeof *b);
    if (b != NULL) {
        b->count = count;
        b->batch_size = batch_size;
        b->options = options;
    }
    return b;
}

static void end_epoch(heed_batches *b)
{
    heed_release(b->order);
    heed_release(b->batch);
    b->order = b->batch = NULL;
    b->used = 0;
}

void heed_batches_free(heed_batches *b)
{
    if (b != NULL) {
        end_epoch(b);
        heed_free(b);
    }
}

/* A DataLoader draws a seed for its workers, even without any, and then one for its sampler, which
 * shuffles with its own generator: the lower 62 bits, of which seeding reads 32. */
static heed_tensor *draw_order(const heed_batches *b)
{
    const int64_t end = INT64_C(1) << 62;
    heed_randint(0, end, HEED_SCALAR);
    if (!b->options.shuffle) {
        return heed_arange(0, (double)b->count, 1, HEED_I64);
    }
    const int64_t seed = heed_item_i64(heed_randint(0, end, HEED_SCALAR));
    const heed_generator ours = heed_get_generator();
    heed_manual_seed((uint64_t)seed);
    heed_tensor *order = heed_randperm(b->count);
    heed_set_generator(&ours);
    return order;
}

bool heed_batches_next(heed_batches *b, heed_tensor **indices)
{
    if (b == NULL || indices == NULL) {
        heed_fail(HEED_ERR_NULL, "batches_next: %s is NULL", b == NULL ? "b" : "indices");
        return false;
    }
    HEED_SCOPE_NO_GRAD(scope);
    if (b->order == NULL) {
        b->order = heed_retain(draw_order(b));
    }
    const int64_t left = b->count - b->used, size = left < b->batch_size ? left : b->batch_size;
    const bool ends = size == 0 || (size < b->batch_size && b->options.drop_last);
    heed_tensor *batch = ends ? NULL : heed_retain(heed_narrow(b->order, 0, b->used, size));
    heed_release(b->batch);
    *indices = b->batch = batch;
    b->used += size;
    if (batch == NULL) {
        end_epoch(b);
    }
    return batch != NULL;
}
