/* Batches of a data set, with the same indices as torch's DataLoader.
 *
 *     heed_batches *batches = heed_batches_new(heed_size(X, 0), 32,
 *                                              (heed_batches_options){.shuffle = true});
 *     for (int epoch = 0; epoch < 10; epoch++) {
 *         heed_tensor *rows;
 *         while (heed_batches_next(batches, &rows)) {
 *             HEED_SCOPE(scope);
 *             heed_tensor *y = heed_forward(model, heed_index_select(X, 0, rows));
 *             heed_tensor *loss = heed_mse_loss(y, heed_index_select(targets, 0, rows));
 *             ...
 *         }
 *     }
 *     heed_batches_free(batches);
 */
#ifndef HEED_NN_BATCHES_H
#define HEED_NN_BATCHES_H

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

typedef struct heed_batches heed_batches;

typedef struct heed_batches_options {
    bool shuffle;   /* a new order for each epoch */
    bool drop_last; /* omit the last batch if it is smaller */
} heed_batches_options;

/* heed_batches_new: batches of the indices 0 ... count - 1, like torch's
 * DataLoader(dataset, batch_size, shuffle=..., drop_last=...) without workers: the same seed gives
 * the same batches, and every epoch advances this thread's generator as in torch, even without
 * shuffle. NULL on error. heed_batches_free: NULL is a no-op. HEED_ERR_VALUE: count or batch_size
 * is below 1. */
heed_batches *heed_batches_new(int64_t count, int64_t batch_size, heed_batches_options options);
void heed_batches_free(heed_batches *b);

/* heed_batches_next: sets *indices to the next batch, i64 (n), and returns true. At the end of an
 * epoch, and while an error is pending, sets it to NULL and returns false; the next call then
 * begins a new epoch. `b` owns *indices, which is valid until the next call. Needs no open scope.
 * heed_batches_restart: abandons the epoch, like breaking out of a loop over a DataLoader: the next
 * call of heed_batches_next begins a new one.
 * HEED_ERR_NULL: no batches or no indices. */
bool heed_batches_next(heed_batches *b, heed_tensor **indices);
heed_status heed_batches_restart(heed_batches *b);

/* heed_batches_count: batches per epoch, like len(loader); 0 on error. */
int64_t heed_batches_count(const heed_batches *b);

HEED_END_DECLS
#endif
