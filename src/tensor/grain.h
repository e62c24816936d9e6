/* Grains: the least work that is worth another thread, in elements, by kind of work (internal).
 *
 * Each is a few microseconds; less would not pay for waking a thread and for sharing cache lines.
 * The times are those of one AVX-512 core, in its caches.
 */
#ifndef HEED_TENSOR_GRAIN_H
#define HEED_TENSOR_GRAIN_H

enum {
    HEED_GRAIN_OF_ELEMENTS = 8192, /* element-wise work and copies: 0.15 to 0.3 ns each, 2 us */
    HEED_GRAIN_OF_LINES = 16384,   /* kernels that take a line, as softmax: 0.5 ns each, 8 us */
    HEED_GRAIN_OF_SUMS = 32768,    /* sums: 0.1 to 0.25 ns each, 5 us */
    HEED_GRAIN_OF_UPDATES = 16384, /* steps of optimisers: 0.1 to 0.35 ns each, 4 us */
};

#endif
