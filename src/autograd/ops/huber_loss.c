/* huber_loss.
 *
 * A new loss composed of operations needs no gradient code: a function like heed_huber_loss_with,
 * its prototype, and rows in tests/ops/loss.def. */
#include "huber_loss.h"

#include "../../tensor/thread.h"
#include "elementwise.h"
#include "loss_options.h"

/* With c = d clamped to +-delta, both branches become c (d - c / 2). This never squares an infinite
 * d, so its gradient stays defined. */
heed_tensor *heed_huber_loss_with(heed_tensor *input, heed_tensor *target,
                                  heed_huber_loss_options options)
{
    const double delta = options.delta != 0 ? options.delta : 1;
    heed_scope scope;
    if (!heed_begin_loss("huber_loss", &input, &target, options.weight, false, options.reduction,
                         &scope)) {
        return NULL;
    }
    if (!(delta > 0)) {
        heed_fail(HEED_ERR_VALUE, "huber_loss: delta %g is not above 0", delta);
    }
    heed_tensor *difference = heed_sub(input, target);
    heed_tensor *cut = heed_clamp(difference, -delta, delta);
    heed_tensor *losses = heed_mul(cut, heed_sub(difference, heed_div_scalar(cut, 2)));
    return heed_end_loss(&scope, losses, options.weight, options.reduction);
}

heed_tensor *heed_huber_loss(heed_tensor *input, heed_tensor *target)
{
    return heed_huber_loss_with(input, target, (heed_huber_loss_options){0});
}
