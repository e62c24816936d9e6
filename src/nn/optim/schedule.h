/* Learning rates that change over the steps, as torch.optim.lr_scheduler. Each is a function of the
 * step, so a run that goes on from a file needs nothing besides the step:
 *
 *     adam->lr = heed_warmup_cosine_lr(adam->steps, 3e-4, 100, 1000, 3e-5);
 *     heed_optimizer_step(adam);
 *
 * `step` is the number of steps taken before this one, which torch calls the epoch: 0 at the first.
 * lr is the rate that the schedule scales. After the last step of a schedule its rate stays, but
 * for heed_cosine_annealing_lr, which goes up again as torch's does. A rate that never changes
 * needs no function. Schedules can be joined: step < 100 ? heed_linear_lr(step, ...) :
 * heed_step_lr(step - 100, ...) is torch's SequentialLR of these, with milestone 100.
 *
 * All compute in double, by torch's closed forms; NaN on error, and while an error is pending.
 *
 * HEED_ERR_VALUE: a step below 0, a count below 1, or a number that is not finite.
 */
#ifndef HEED_NN_SCHEDULE_H
#define HEED_NN_SCHEDULE_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_constant_lr: as ConstantLR: lr factor for total_iters steps, then lr. */
double heed_constant_lr(int64_t step, double lr, double factor, int64_t total_iters);

/* heed_step_lr: as StepLR: lr gamma^k after k times step_size steps. */
double heed_step_lr(int64_t step, double lr, int64_t step_size, double gamma);

/* heed_linear_lr: as LinearLR: from lr start_factor straight to lr end_factor in total_iters steps.
 * Warm-up is heed_linear_lr(step, lr, 1.0 / n, 1, n), and down to nothing heed_linear_lr(step, lr,
 * 1, 0, n). */
double heed_linear_lr(int64_t step, double lr, double start_factor, double end_factor,
                      int64_t total_iters);

/* heed_cosine_annealing_lr: as CosineAnnealingLR: from lr down to eta_min in T_max steps, by half a
 * wave of the cosine (Loshchilov and Hutter, 2017). */
double heed_cosine_annealing_lr(int64_t step, double lr, int64_t T_max, double eta_min);

/* heed_warmup_cosine_lr: up in a line over `warmup` steps (0: none), lr / (warmup + 1) at the
 * first, then down to eta_min by half a wave, until step `total`; eta_min from there on. In torch:
 * SequentialLR of LinearLR(start_factor=1 / (warmup + 1), total_iters=warmup) and
 * CosineAnnealingLR(T_max=total - warmup), with milestone warmup.
 *
 * HEED_ERR_VALUE also: total is not above warmup. */
double heed_warmup_cosine_lr(int64_t step, double lr, int64_t warmup, int64_t total,
                             double eta_min);

HEED_END_DECLS
#endif
