/* Batches of a data set, with the same indices as torch's DataLoader:
 *
 *     heed_tensor *rows;
 *     while (heed_batches_next(batches, &rows)) { ... heed_index_select(X, 0, rows) ... } */
#ifndef HEED_NN_BATCHES_H
#define HEED_NN_BATCHES_H

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

typedef struct heed_batches heed_batches;

typedef struct heed_batches_options {
    bool shuffle;   /* a new order for each epoch */
    bool drop_last; /* omit the last batch if it is smaller */
} heed_batches_options;

/* heed_batches_new: batches of the indices 0 ... count - 1, like torch's DataLoader without
 * workers: the same seed gives the same batches, and every epoch advances this thread's generator
 * as in torch, even without shuffle. HEED_ERR_VALUE: count or batch_size is below 1. */
heed_batches *heed_batches_new(int64_t count, int64_t batch_size, heed_batches_options options);
void heed_batches_free(heed_batches *b);

/* heed_batches_next: sets *indices to the next batch, i64 (n), and returns true. At the end of an
 * epoch, and while an error is pending, sets it to NULL and returns false; the next call then
 * begins a new epoch. `b` owns *indices until the next call. Needs no open scope. */
bool heed_batches_next(heed_batches *b, heed_tensor **indices);

HEED_END_DECLS
#endif
