/* The kernels of float. */
#define KERNELS heed_kernels_baseline_f32
#define ISA     1
#define T_IS_F32
#include "instance.h"
