/* The forward of every operation whose result is its input, copied or cast (internal). */
#ifndef HEED_AUTOGRAD_COPY_H
#define HEED_AUTOGRAD_COPY_H

#include "autograd/op.h"

heed_status heed_copy_forward(const heed_call *call, heed_tensor *y);

#endif
