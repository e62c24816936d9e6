/* How much work justifies another thread (internal).
 *
 * A grain is the minimum work per thread, a few microseconds; less would not pay for waking the
 * thread and sharing cache lines. Grains are given in elements, one for each kind of work. Times,
 * per element and per grain, are estimates for one AVX-512 core with data in cache, unless noted.
 */
#ifndef HEED_TENSOR_GRAIN_H
#define HEED_TENSOR_GRAIN_H

enum {
    HEED_GRAIN_OF_ELEMENTS = 8192,     /* element-wise work, copies: 0.15 to 0.3 ns each, 2 us */
    HEED_GRAIN_OF_ROWS = 16384,        /* row kernels such as softmax: 0.5 ns each, 8 us */
    HEED_GRAIN_OF_UPDATES = 16384,     /* optimiser steps: 0.1 to 0.35 ns each, 4 us */
    HEED_GRAIN_OF_SUMS = 32768,        /* sums: 0.1 to 0.25 ns each, 5 us */
    HEED_GRAIN_OF_TABLE_ROWS = 32768,  /* table rows, read from memory: 0.3 ns each, 10 us */
    HEED_GRAIN_OF_COLUMN_SUMS = 65536, /* read once, summed in registers: 0.15 ns each, 10 us */
};

/* Matrix products, in multiply-adds; a core does about 50 per nanosecond in f32. */
enum {
    HEED_GRAIN_OF_PRODUCTS = 1 << 20, /* 20 us */
    HEED_LITTLE_PRODUCT =
        1 << 18, /* below: no workspace; single products run on the calling thread */
    HEED_LARGE_PRODUCT = 1 << 24, /* above: the kernel splits each product */
};

#endif
