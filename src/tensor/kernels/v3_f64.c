/* The kernels of double for AVX2, FMA and BMI2. */
#define KERNELS heed_kernels_v3_f64
#define ISA     3
#define T_IS_F64
#include "instance.h"
