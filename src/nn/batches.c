/* Batches of indices, in the order of torch 2.15's DataLoader. */
#include "batches.h"

#include "../autograd/ops/slice.h"
#include "../tensor/alloc.h"
#include "../tensor/check.h"
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

/* The lower 62 bits of torch.empty((), dtype=torch.int64).random_(); seeding reads 32 of them. */
static uint64_t draw_seed(void)
{
    return (uint64_t)heed_item_i64(heed_randint(0, INT64_C(1) << 62, HEED_SCALAR, HEED_I64));
}

/* A DataLoader draws a seed for its workers, even without any, and then one for its sampler, which
 * shuffles with its own generator. */
static heed_tensor *draw_order(const heed_batches *b)
{
    draw_seed();
    if (!b->options.shuffle) {
        return heed_arange(0, (double)b->count, 1, HEED_I64);
    }
    const uint64_t seed = draw_seed();
    const heed_generator ours = heed_get_generator();
    heed_manual_seed(seed);
    heed_tensor *order = heed_randperm(b->count);
    heed_set_generator(&ours);
    return order;
}

/* The next batch, in the open scope; NULL at the end of the epoch and on error. */
static heed_tensor *next_batch(heed_batches *b)
{
    if (b->order == NULL) {
        b->order = heed_retain(draw_order(b));
    }
    const int64_t left = b->count - b->used;
    const int64_t size = left < b->batch_size ? left : b->batch_size;
    if (size == 0 || (size < b->batch_size && b->options.drop_last)) {
        return NULL;
    }
    b->used += size;
    return heed_narrow(b->order, 0, b->used - size, size);
}

bool heed_batches_next(heed_batches *b, heed_tensor **indices)
{
    if (b == NULL || indices == NULL) {
        heed_fail(HEED_ERR_NULL, "batches_next: %s is NULL", b == NULL ? "b" : "indices");
        return false;
    }
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *batch = next_batch(b);
    if (batch == NULL || heed_retain(batch) == NULL) {
        end_epoch(b);
    } else {
        heed_release(b->batch);
        b->batch = batch;
    }
    *indices = b->batch;
    return b->batch != NULL;
}

heed_status heed_batches_restart(heed_batches *b)
{
    if (heed_check_not_null("batches_restart", "b", b) == HEED_OK) {
        end_epoch(b);
    }
    return heed_error_pending();
}

int64_t heed_batches_count(const heed_batches *b)
{
    if (heed_check_not_null("batches_count", "b", b) != HEED_OK) {
        return 0;
    }
    return b->count / b->batch_size + (!b->options.drop_last && b->count % b->batch_size != 0);
}
