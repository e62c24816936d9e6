/* Which instruction set the kernels use. */
#ifndef HEED_TENSOR_ISA_H
#define HEED_TENSOR_ISA_H

#include "error.h"

HEED_BEGIN_DECLS

/* heed_isa: the instruction set that is in use: "baseline", "v3" (AVX2) or "v4" (AVX-512) on
 * x86-64, "baseline" elsewhere. The environment variable HEED_ISA chooses another before the first
 * tensor is made; one that the machine lacks is HEED_ERR_VALUE from whatever makes a tensor. */
const char *heed_isa(void);

HEED_END_DECLS
#endif
