/* What task 6 asks for. */
#ifndef TASK6_H
#define TASK6_H

#include "grade.h"

heed_tensor *my_softmax(heed_tensor *x, int dim);

#ifndef GRADER
#define heed_softmax(...)      grade_forbidden("heed_softmax")
#define heed_safe_softmax(...) grade_forbidden("heed_safe_softmax")
#define heed_log_softmax(...)  grade_forbidden("heed_log_softmax")
#define heed_grad(...)         grade_forbidden("heed_grad")
#define heed_backward(...)     grade_forbidden("heed_backward")
#endif
#endif
