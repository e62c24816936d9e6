/* Task 1: softmax along a dim.    make task1, HINT=1, HINT=2
 *
 * Scores can be any numbers. Attention needs shares: none is negative, and together they are 1.
 * Softmax makes shares of scores. Along a row or a column of n numbers x_0 ... x_{n-1}:
 *
 *     y_i = exp(x_i) / (exp(x_0) + ... + exp(x_{n-1}))
 *
 * A score of 1000 must work, though exp(1000) is infinite in a double; a score of -inf (a word that
 * a mask hides) gets the share 0, as long as another score is finite. Shares are right to 1e-6: a
 * float may hold the sum, and a number such as 1e-9 may be added to it, but no row needs that.
 *
 * Functions: exp. What is in math.h needs no #include.
 *
 * Read first: lesson 1, "the softmax"; docs/questions.md, question 1 */
#include "grade/task1.h"

/* x and y have rows * columns numbers, row after row. dim 0: each column of y sums to 1; dim 1:
 * each row does. */
void softmax(const double *x, double *y, int rows, int columns, int dim)
{
    /* your code */
}
