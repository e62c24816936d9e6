/* Grading: what the graders of all tasks share.
 *
 * A grader is a file taskN.c that defines `task`, and a text taskN.txt (formulas.c).
 * Its function grade calls the learner's code in a process of its own, so that a crash or an
 * endless loop is a sentence, too. Each call belongs to a case (grade_case); the first case that
 * fails ends the process (grade_fail). */
#ifndef GRADE_H
#define GRADE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <heed.h>

struct task {
    int number;
    void (*grade)(void); /* returns if every case passes */
};
extern const struct task task;

/* ---- cases ---- */

/* Begins a case; its text names the input: "x of 3 rows and 4 columns, dim 1". */
void grade_case(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The case fails; says why, and what to do: as `say`. Ends the process. */
_Noreturn void grade_fail(const char *sentence, ...);

/* Nothing has been written into the gap yet; `seen` is a sentence on what shows it. Ends the
 * process. */
_Noreturn void grade_not_begun(const char *seen);

/* For the functions that a task forbids: fails, and names the function. */
_Noreturn heed_tensor *grade_forbidden(const char *function);

/* ---- sentences and formulas, of the task's text: formulas.c ---- */

void grade_read_text(void);

/* The sentence of this name; `name` itself, if there is none. */
const char *grade_sentence(const char *name);

/* The same with these arguments, as printf. */
char *say(const char *name, ...);

/* Sets what formulas read, until the next case begins; NULL is a mask that is not given. */
void grade_let(const char *name, heed_tensor *value);
void grade_let_number(const char *name, double value);
typedef heed_tensor *grade_function(void *context, heed_tensor *x);
void grade_let_function(const char *name, grade_function *function, void *context);
void grade_forget(void);

/* What the formula `name` of a group is, f64. */
heed_tensor *grade_right(const char *group, const char *name);

/* The same with changes, "a = ...; b = ..."; NULL if they cannot be computed. */
heed_tensor *grade_changed(const char *group, const char *name, const char *changes);

/* A mistake, and what it computes. */
struct mistake {
    heed_tensor *result; /* any shape; NULL: could not be computed, never equal */
    const char *why;     /* what it is, why it matters, never the solution */
    const char *changes; /* of formulas */
};

/* What each mistake of a group makes of these formulas, "a b"; ends with a NULL why. */
struct mistake *grade_mistakes(const char *group, const char *wanted);

/* ---- numbers ---- */

/* n numbers, NaN at first, between guard zones. Freed when the next case begins. */
double *grade_array(int n);

/* Fails if the learner's code wrote into a guard zone. */
void grade_guards(void);

/* Whether yours is expected, to 1e-6 (relative, if expected is larger than 1). NaN equals NaN,
 * which some mistakes give. */
bool grade_near(double yours, double expected);

/* ---- tensors ---- */

/* Fails, with Heed's message, if an error is pending. */
void grade_no_error(void);

/* Fails unless the learner's function returned a tensor; `what` names it. NULL without a pending
 * error is not begun, or an empty gap if an earlier case has passed. Also fails as grade_no_error.
 */
void grade_answered(const char *what, const heed_tensor *yours);

/* Also fails unless it has this shape. */
void grade_returned(const char *what, const heed_tensor *yours, heed_shape shape);

/* The elements of x, in order. */
const double *grade_numbers(heed_tensor *x);

/* Prints at most 4 x 4 numbers below a title: the first matrix in which x is not as expected, which
 * may be NULL, with the wrong numbers in brackets. */
void grade_show_tensor(const char *title, heed_tensor *x, heed_tensor *expected);

/* The matrix of x, an input with the same dims in front, that belongs to the first matrix in which
 * yours is wrong. */
heed_tensor *grade_first_wrong(heed_tensor *x, heed_tensor *yours, heed_tensor *expected);

/* Forms of a computation, right or with a mistake, are known by their names. */
static inline bool is(const char *form, const char *name)
{
    return strcmp(form, name) == 0;
}

/* t; if it is NULL, clears the error: the mistake does not fit these shapes. */
heed_tensor *grade_try(heed_tensor *t);

bool grade_has_shape(const heed_tensor *x, heed_shape shape);

/* Shapes and numbers; NaN equals NaN. */
bool grade_equal(heed_tensor *a, heed_tensor *b);

/* Fails if x, an input, is no longer what it was before the call. */
void grade_unchanged(const char *what, heed_tensor *x, heed_tensor *before);

/* As grade_answered; also fails unless yours has the dtype of expected. Whether both are equal. */
bool grade_matches(const char *what, heed_tensor *yours, heed_tensor *expected);

/* Fails unless yours equals expected (same dtype and shape). Shows both, and says which of the
 * mistakes (ends with a NULL why) gives yours; otherwise says `otherwise`. */
void grade_compare(const char *what, heed_tensor *yours, heed_tensor *expected,
                   const struct mistake *mistakes, const char *otherwise);

#endif
