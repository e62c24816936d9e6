/* The kernels of bool. */
#define KERNELS heed_kernels_baseline_bool
#define ISA     1
#define T_IS_BOOL
#include "instance.h"
