/* Learning rate schedules, as in torch.optim.lr_scheduler. Each is a function of the step, so a run
 * resumed from a file needs only the step:
 *
 *     adam->lr = heed_warmup_cosine_lr(adam->steps, 3e-4, 100, 1000, 3e-5);
 *     heed_optimizer_step(adam);
 *
 * `step` is the number of steps taken so far, 0 for the first; torch calls it the epoch. lr is the
 * base rate that the schedule scales. After its last step, a schedule keeps its final rate, except
 * for heed_cosine_annealing_lr, which rises again, like torch's. Schedules can be chained, like
 * torch's SequentialLR with milestone 100:
 *
 *     adam->lr = step < 100 ? heed_linear_lr(step, ...) : heed_step_lr(step - 100, ...);
 *
 * All schedules compute torch's closed forms in double. They return NaN on error or while an error
 * is pending.
 *
 * HEED_ERR_VALUE: step is negative, a count is below 1, or a number is not finite.
 */
#ifndef HEED_NN_SCHEDULE_H
#define HEED_NN_SCHEDULE_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_constant_lr: as ConstantLR: lr * factor for total_iters steps, then lr. */
double heed_constant_lr(int64_t step, double lr, double factor, int64_t total_iters);

/* heed_step_lr: as StepLR: lr * gamma^k after k * step_size steps. */
double heed_step_lr(int64_t step, double lr, int64_t step_size, double gamma);

/* heed_linear_lr: as LinearLR: linear from lr * start_factor to lr * end_factor in total_iters
 * steps. For a warm-up, use heed_linear_lr(step, lr, 1.0 / n, 1, n); for a decay to zero, use
 * heed_linear_lr(step, lr, 1, 0, n). */
double heed_linear_lr(int64_t step, double lr, double start_factor, double end_factor,
                      int64_t total_iters);

/* heed_cosine_annealing_lr: as CosineAnnealingLR: half a cosine wave from lr down to eta_min in
 * T_max steps (Loshchilov and Hutter, 2017). */
double heed_cosine_annealing_lr(int64_t step, double lr, int64_t T_max, double eta_min);

/* heed_warmup_cosine_lr: rises linearly over `warmup` steps (0: none), starting at lr / (warmup +
 * 1), then falls to eta_min along half a cosine wave until step `total`, and stays there. In torch:
 * SequentialLR of LinearLR(start_factor=1 / (warmup + 1), total_iters=warmup) and
 * CosineAnnealingLR(T_max=total - warmup), with milestone warmup.
 *
 * Also HEED_ERR_VALUE: warmup is negative, or total is not greater than warmup. */
double heed_warmup_cosine_lr(int64_t step, double lr, int64_t warmup, int64_t total,
                             double eta_min);

HEED_END_DECLS
#endif
