/* When work is shared out among threads (internal).
 *
 * A grain is the least work that is worth another thread: a few microseconds; less would not pay
 * for waking a thread and for sharing cache lines. In elements, by kind of work; times are
 * estimates for one AVX-512 core, from its caches unless said otherwise.
 */
#ifndef HEED_TENSOR_GRAIN_H
#define HEED_TENSOR_GRAIN_H

enum {
    HEED_GRAIN_OF_ELEMENTS = 8192,     /* element-wise work, copies: 0.15 to 0.3 ns each, 2 us */
    HEED_GRAIN_OF_ROWS = 16384,        /* kernels that take a row, as softmax: 0.5 ns each, 8 us */
    HEED_GRAIN_OF_UPDATES = 16384,     /* steps of optimisers: 0.1 to 0.35 ns each, 4 us */
    HEED_GRAIN_OF_SUMS = 32768,        /* sums: 0.1 to 0.25 ns each, 5 us */
    HEED_GRAIN_OF_TABLE_ROWS = 32768,  /* rows of a table, from memory: 0.3 ns each, 10 us */
    HEED_GRAIN_OF_COLUMN_SUMS = 65536, /* read once, added in registers: 0.15 ns each, 10 us */
};

/* Products of matrices, in multiply-adds, of which a core does about 50 per nanosecond in f32. */
enum {
    HEED_GRAIN_OF_PRODUCTS = 1 << 20, /* 20 us */
    HEED_LITTLE_PRODUCT = 1 << 18,    /* below: needs no workspace; one alone is done at once */
    HEED_LARGE_PRODUCT = 1 << 24,     /* above: the kernel shares out a single product */
};

#endif
