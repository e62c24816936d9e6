/* The kernels of float for AVX-512. */
#define KERNELS heed_kernels_v4_f32
#define ISA     4
#define T_IS_F32
#include "instance.h"
