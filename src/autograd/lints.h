/* The mistakes that anomaly mode recognises in calls of operations (internal; listed in anomaly.h).
 * The patterns are narrow: a false alarm is worse than a missed mistake. */
#ifndef HEED_AUTOGRAD_LINTS_H
#define HEED_AUTOGRAD_LINTS_H

#include "op.h"

/* heed_lint: HEED_ERR_ANOMALY if this call is a likely mistake. */
heed_status heed_lint(const heed_call *call);

#endif
