/* The kernels of double. */
#define KERNELS heed_kernels_baseline_f64
#define ISA     1
#define T_IS_F64
#include "instance.h"
