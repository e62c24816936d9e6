/* The kernels of float for AVX2, FMA and BMI2. */
#define KERNELS heed_kernels_v3_f32
#define ISA     3
#define T_IS_F32
#include "instance.h"
