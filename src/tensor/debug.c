/* The reports that debug builds make. Simple rather than fast. */
#include "debug.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shape.h"

/* ---- tensors used after the end of their scope ---- */

enum { GRAVES = 1 << 16, HIDDEN = INT32_MIN }; /* HIDDEN: heed_tensor.uses of a proxy */

static pthread_mutex_t *const lock = &heed_locks[HEED_LOCK_BURIED];
static heed_tensor *oldest, *newest; /* linked by `next`; guarded by lock, like `buried` */
static int buried;

void heed_debug_made(heed_tensor *t, const char *function)
{
    const char *by = function != NULL ? function : heed_self.operation;
    memcpy(t + 1, &by, sizeof by);
}

heed_tensor *heed_debug_bury(heed_tensor *t)
{
    heed_tensor *evicted = NULL;
    t->next = NULL;
    pthread_mutex_lock(lock);
    if (newest != NULL) {
        newest->next = t;
    } else {
        oldest = t;
    }
    newest = t;
    if (++buried > GRAVES) {
        evicted = oldest;
        oldest = oldest->next;
        buried--;
    }
    pthread_mutex_unlock(lock);
    return evicted;
}

void heed_debug_hide(heed_tensor *proxy, const heed_tensor *t, const char *reason)
{
    *proxy = *t;
    proxy->storage = NULL;
    proxy->data = NULL;
    proxy->uses = HIDDEN;
    proxy->args = reason;
}

heed_status heed_debug_fail_freed(const char *function, const char *argument, const heed_tensor *t)
{
    if (t->uses == HIDDEN) {
        return heed_fail(HEED_ERR_GRAPH, "%s", (const char *)t->args);
    }
    const char *by;
    memcpy(&by, t + 1, sizeof by);
    return heed_fail(HEED_ERR_SCOPE,
                     "%s: the value of %s %s has been freed; %s made it in a scope that has ended: "
                     "move it to the enclosing scope with heed_scope_keep, or heed_retain it",
                     function, argument, HEED_TEXT(t), by != NULL ? by : "the library");
}

/* ---- a missing scope ---- */

void heed_debug_count_step(void)
{
    enum { STEPS = 50 };
    static _Thread_local int64_t before;
    static _Thread_local int growing; /* growing steps in a row; -1 after the warning */
    const int64_t live = heed_self.live_tensors;
    if (growing < 0) {
        return;
    }
    growing = live > before ? growing + 1 : 0;
    before = live;
    if (growing == STEPS) {
        growing = -1;
        fprintf(stderr,
                "heed: the number of live tensors has grown in each of the last %d backward "
                "passes, to %" PRId64 "; begin a scope in each training step, so that its tensors "
                "are freed: HEED_SCOPE(step);\n",
                STEPS, live);
    }
}
