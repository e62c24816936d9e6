/* The generator's state as a tensor, in the layout of torch.get_rng_state: the 5056 bytes that
 * torch keeps for a generator, eight bytes per element:
 *
 *     0          the seed
 *     1          lower half: number of words left before the twist, plus 1; upper half: 1 (seeded)
 *     2          the index of the next word
 *     3 ... 626  the words
 *     628        the bits of the cached normal number, if element 630 is 1
 */

#include <string.h>

#include "../check.h"
#include "../create.h"
#include "../handle.h"
#include "../shape.h"
#include "generator.h"

enum { WORDS = HEED_GENERATOR_WORDS };
enum { SEED = 0, LEFT = 1, NEXT = 2, FIRST = 3, NORMAL = 628, HAS_NORMAL = 630, ALL = 632 };

heed_tensor *heed_get_rng_state(void)
{
    heed_tensor *t = heed_tensor_create("get_rng_state", HEED_SHAPE(ALL), HEED_I64);
    if (t == NULL) {
        return NULL;
    }
    const heed_generator *g = heed_generator_of_thread();
    const bool fresh = g->next == WORDS && g->state[0] == (uint32_t)g->seed;
    int64_t *to = t->data;
    memset(to, 0, ALL * sizeof *to);
    memcpy(&to[SEED], &g->seed, sizeof g->seed);
    to[LEFT] = (fresh ? 1 : WORDS + 1 - g->next) | INT64_C(1) << 32;
    to[NEXT] = fresh ? 0 : g->next;
    for (int i = 0; i < WORDS; i++) {
        to[FIRST + i] = g->state[i];
    }
    to[HAS_NORMAL] = g->has_normal;
    if (g->has_normal) {
        memcpy(&to[NORMAL], &g->normal, sizeof g->normal);
    }
    return t;
}

/* Returns false if this is not a valid generator state. */
static bool read_state(const int64_t *from, heed_generator *g)
{
    const uint64_t both = (uint64_t)from[LEFT];
    const int64_t left = (int64_t)(both & UINT32_MAX), next = from[NEXT];
    const bool fresh = left == 1 && next == 0;
    if (both >> 32 != 1 || left < 1 || left > WORDS || (!fresh && next != WORDS + 1 - left)) {
        return false;
    }
    for (int i = 0; i < WORDS; i++) {
        if (from[FIRST + i] < 0 || from[FIRST + i] > UINT32_MAX) {
            return false;
        }
        g->state[i] = (uint32_t)from[FIRST + i];
    }
    memcpy(&g->seed, &from[SEED], sizeof g->seed);
    g->next = fresh ? WORDS : (int)next;
    g->has_normal = from[HAS_NORMAL] != 0;
    memcpy(&g->normal, &from[NORMAL], sizeof g->normal);
    g->seeded = true;
    return true;
}

heed_status heed_set_rng_state(const heed_tensor *state)
{
    const char *name = "set_rng_state";
    int64_t values[ALL];
    if (heed_blocked() || heed_check_tensor(name, "state", state) != HEED_OK) {
        return heed_self.error;
    }
    if (state->dtype != HEED_I64) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: state is %s; it must be i64, like the result of heed_get_rng_state",
                         name, heed_dtype_name(state->dtype));
    }
    if (state->ndim != 1 || state->numel != ALL) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: state %s; it must be (%d), like the result of heed_get_rng_state",
                         name, HEED_TEXT(state), ALL);
    }
    heed_generator g = heed_get_generator();
    if (heed_copy_out(state, values, ALL) == HEED_OK && !read_state(values, &g)) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: not a generator state; pass one returned by heed_get_rng_state",
                         name);
    }
    return heed_error_pending() ? heed_error_pending() : heed_set_generator(&g);
}
