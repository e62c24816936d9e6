/* The kernels of int64_t. */
#define KERNELS heed_kernels_baseline_i64
#define ISA     1
#define T_IS_I64
#include "instance.h"
