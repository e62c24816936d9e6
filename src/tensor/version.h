/* The version of Heed, the instruction set in use, and both in one line for bug reports. */
#ifndef HEED_TENSOR_VERSION_H
#define HEED_TENSOR_VERSION_H

#include "error.h"

HEED_BEGIN_DECLS

/* The version of these headers. heed_version may differ if a program runs with another shared
 * library than the one it was compiled for. */
#define HEED_VERSION "0.2.0"

/* heed_version: the version of the library in use, such as "0.2.0". */
const char *heed_version(void);

/* heed_isa: the instruction set in use: "baseline", "v3" (AVX2) or "v4" (AVX-512) on x86-64,
 * "baseline" elsewhere. To choose another one, set the environment variable HEED_ISA before the
 * first tensor is made; if the machine does not support it, creating a tensor fails with
 * HEED_ERR_VALUE. */
const char *heed_isa(void);

/* heed_build_info: one line for bug reports: version, compiler, instruction set, threads. It works
 * while an error is pending.
 *
 *     Heed 0.2.0, compiler 12.2.0, x86_64 v4 (of baseline v3 v4), 2 threads */
heed_text heed_build_info(void);

HEED_END_DECLS
#endif
