/* Grains: the least work that is worth another thread, in elements, by kind of work (internal).
 *
 * Handing a range to a thread of the pool takes about a microsecond, so a grain is a few of them.
 * Smaller work stays on the caller's thread.
 */
#ifndef HEED_TENSOR_GRAIN_H
#define HEED_TENSOR_GRAIN_H

enum {
    HEED_GRAIN_OF_ELEMENTS = 8192, /* element-wise kernels and copies */
    HEED_GRAIN_OF_LINES = 16384,   /* kernels that take a line at a time, as softmax */
    HEED_GRAIN_OF_SUMS = 32768,    /* sums, which write almost nothing */
    HEED_GRAIN_OF_UPDATES = 16384, /* steps of optimisers, and scaling */
};

#endif
