/* Subnormal numbers, also called denormal. */
#ifndef HEED_TENSOR_DENORMAL_H
#define HEED_TENSOR_DENORMAL_H

#include "error.h"

HEED_BEGIN_DECLS

/* heed_set_flush_denormal: makes the calling thread's arithmetic treat subnormal numbers as 0, as
 * torch.set_flush_denormal(enabled); off by default. Subnormal numbers are below 1.2e-38 in f32 and
 * 2.2e-308 in f64; arithmetic on them takes up to a hundred times as long on many processors.
 * Returns false if the machine does not support it: x86-64 and aarch64 do.
 *
 * It sets FTZ and DAZ in MXCSR, or FZ in FPCR, and so applies to all of the thread's arithmetic,
 * not only to Heed's. The pool computes in the mode of the thread that calls Heed, including its
 * rounding direction; other threads keep their own.
 *
 * heed_flush_denormal: true if subnormal numbers are flushed in the calling thread. */
bool heed_set_flush_denormal(bool enabled);
bool heed_flush_denormal(void);

HEED_END_DECLS
#endif
