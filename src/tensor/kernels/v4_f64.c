/* The kernels of double for AVX-512. */
#define KERNELS heed_kernels_v4_f64
#define ISA     4
#define T_IS_F64
#include "instance.h"
