/* What task 1 asks for. */
#ifndef TASK1_H
#define TASK1_H

#include "grade.h"

void softmax(const double *x, double *y, int rows, int columns, int dim);

#ifndef GRADER
#define heed_softmax(...)      grade_forbidden("heed_softmax")
#define heed_safe_softmax(...) grade_forbidden("heed_safe_softmax")
#define heed_log_softmax(...)  grade_forbidden("heed_log_softmax")
#endif
#endif
