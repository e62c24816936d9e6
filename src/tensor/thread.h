/* What belongs to a thread: its pending error, scopes, grad mode, generator, free lists and
 * counters (internal). A graph belongs to the thread that built it.
 */
#ifndef HEED_TENSOR_THREAD_H
#define HEED_TENSOR_THREAD_H

#include "random/random.h"
#include "tensor.h"

enum { HEED_MESSAGE_SIZE = 8192, HEED_SIZE_CLASSES = 4 * 42, HEED_TRACKED_SCOPES = 64 };

typedef struct heed_block heed_block; /* a free block: see alloc.c */
typedef struct heed_free_list {
    heed_block *first;
    size_t bytes;
} heed_free_list;

/* What every operation touches comes first, so that it lies together. */
typedef struct heed_thread {
    heed_status error;
    int depth;             /* of the innermost open scope; 0: none is open */
    heed_tensor *tensors;  /* of all open scopes, the innermost scope's first */
    const char *operation; /* being applied, for errors from below that do not know it */
    int64_t scopes_begun;
    int64_t fail_countdown;           /* requests of memory until one fails; 0: none will */
    int64_t live_tensors, live_bytes; /* written by this thread, read by all */
    bool grad_disabled;
    bool registered; /* known to the counters above, and to be tidied up at its end */

    heed_free_list free[HEED_SIZE_CLASSES];
    int64_t serials[HEED_TRACKED_SCOPES]; /* of the open scopes, by depth */

    char *slab, *slab_end; /* small blocks are cut from here */
    int64_t system_requests;
    heed_generator generator;
    struct heed_thread *next;
    char message[HEED_MESSAGE_SIZE];
} heed_thread;

/* Inlined functions name it, rather than take a pointer to it: what UBSan asks of such a pointer, linkers
 * that shorten the way to it answer wrongly. */
extern _Thread_local heed_thread heed_self;

/* heed_register_thread: called on the thread's first request of memory. */
void heed_register_thread(void);

/* heed_end_all_scopes: lets go of all tensors of the calling thread's open scopes, when it ends
 * (scope.c). */
void heed_end_all_scopes(void);

/* heed_hand_back_memory: hands the calling thread's free lists over to those who come after it, when
 * it ends (alloc.c). */
void heed_hand_back_memory(void);

/* heed_generator_of_thread: this thread's generator, seeded as torch's if nobody has seeded it. */
heed_generator *heed_generator_of_thread(void);

static inline void heed_count_live(int64_t tensors, int64_t bytes)
{
    if (tensors != 0) {
        __atomic_store_n(&heed_self.live_tensors, heed_self.live_tensors + tensors,
                         __ATOMIC_RELAXED);
    }
    if (bytes != 0) {
        __atomic_store_n(&heed_self.live_bytes, heed_self.live_bytes + bytes, __ATOMIC_RELAXED);
    }
}

#endif
