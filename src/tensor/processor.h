/* The processor: the instruction set of the kernels. */
#ifndef HEED_TENSOR_PROCESSOR_H
#define HEED_TENSOR_PROCESSOR_H

#include "error.h"

HEED_BEGIN_DECLS

/* heed_isa: the instruction set in use: "baseline", "v3" (AVX2) or "v4" (AVX-512) on x86-64,
 * "baseline" elsewhere. To choose another one, set the environment variable HEED_ISA before the
 * first tensor is made; if the machine does not support it, creating a tensor fails with
 * HEED_ERR_VALUE. */
const char *heed_isa(void);

HEED_END_DECLS
#endif
