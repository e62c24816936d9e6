/* Batches and splits of a data set, with the same indices as torch.utils.data.
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
#ifndef HEED_TOOLS_BATCHES_H
#define HEED_TOOLS_BATCHES_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

typedef struct heed_batches heed_batches;

typedef struct heed_batches_options {
    bool shuffle;         /* a new order for each epoch */
    bool drop_last;       /* omit the last batch if it is smaller */
    heed_tensor *indices; /* i64 (count): a part of a split, as torch's Subset; NULL: all of them */
} heed_batches_options;

/* heed_batches_new: batches of count indices, 0 ... count - 1 by default, like torch's
 * DataLoader(dataset, batch_size, shuffle=..., drop_last=...) without workers: the same seed gives
 * the same batches, and every epoch advances this thread's generator as in torch, even without
 * shuffle. NULL on error. heed_batches_free: NULL is a no-op. HEED_ERR_VALUE: count or batch_size
 * is below 1. HEED_ERR_SHAPE, HEED_ERR_DTYPE: indices is not i64 (count). */
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

/* heed_random_split: divides the indices 0 ... count - 1 at random, like torch's random_split:
 * writes `parts` i64 tensors to `indices`. The lengths are either fractions that sum to 1 or
 * numbers of indices that sum to count.
 *
 *     heed_tensor *part[2];
 *     heed_random_split(heed_size(X, 0), (double[]){0.8, 0.2}, 2, part);
 *     heed_tensor *test = heed_index_select(X, 0, part[1]);
 *     heed_batches *train = heed_batches_new(heed_size(part[0], 0), 32,
 *                                            (heed_batches_options){.indices = part[0]});
 *
 * HEED_ERR_VALUE: count or a length is negative, or the lengths sum to neither. HEED_ERR_NULL: no
 * lengths or no indices. On error, tensors that were not created are NULL. */
heed_status heed_random_split(int64_t count, const double *lengths, int parts,
                              heed_tensor **indices);

HEED_END_DECLS
#endif
