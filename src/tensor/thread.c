/* The threads that use the library: their states, the sums of their counters, and the locks.
 *
 * A thread registers on its first allocation or error. When it ends, its state is cleaned up by the
 * functions set with heed_at_thread_end. Its counters stay in the sums, because its tensors may
 * outlive it. */
#include "thread.h"

#include <stdlib.h>
#include <string.h>

_Thread_local heed_thread heed_self;

pthread_mutex_t heed_locks[HEED_LOCKS] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
};
_Static_assert(HEED_LOCKS == 6, "each lock needs an initialiser");

static pthread_mutex_t *const lock = &heed_locks[HEED_LOCK_THREADS];
static heed_thread_rest *rests; /* of threads that did not end; guarded by lock, like the next */
static int64_t other_tensors, other_bytes;         /* counts of all other threads */
static void (*clean_ups[HEED_THREAD_PARTS])(void); /* written before main, like the next two */
static pthread_key_t at_exit;
static bool has_key, has_fork_handlers;
static void (*in_child)(void); /* guarded by the lock of the pool */

/* ---- registration ---- */

heed_thread_rest *heed_rest_of_thread(void)
{
    heed_thread *self = &heed_self;
    heed_thread_rest *rest = self->rest;
    if (rest != NULL || heed_fails_allocation() || (rest = calloc(1, sizeof *rest)) == NULL) {
        return rest;
    }
    memcpy(rest->message, self->short_message, sizeof self->short_message);
    pthread_mutex_lock(lock);
    rest->next = rests;
    rests = rest;
    pthread_mutex_unlock(lock);
    self->rest = rest;
    heed_register_thread();
    return rest;
}

/* Adds the thread's counts to those of the other threads; called with the lock held. */
static void move_counts(heed_thread *t)
{
    other_tensors += t->live_tensors;
    other_bytes += t->live_bytes;
    t->live_tensors = t->live_bytes = 0;
}

static void unregister_thread(void *thread)
{
    heed_thread *self = thread;
    for (int part = 0; part < HEED_THREAD_PARTS; part++) {
        if (clean_ups[part] != NULL) {
            clean_ups[part]();
        }
    }
    pthread_mutex_lock(lock);
    heed_thread_rest **link = &rests;
    while (*link != self->rest) {
        link = &(*link)->next;
    }
    *link = self->rest->next;
    move_counts(self);
    free(self->rest);
    self->rest = NULL;
    self->registered = false;
    pthread_mutex_unlock(lock);
}

void heed_at_thread_end(enum heed_thread_part part, void (*clean_up)(void))
{
    clean_ups[part] = clean_up;
}

void heed_register_thread(void)
{
    heed_thread *self = &heed_self;
    if (self->registered) {
        return;
    }
    const bool cleaned_up =
        has_key && heed_rest_of_thread() != NULL && pthread_setspecific(at_exit, self) == 0;
    pthread_mutex_lock(lock);
    if (cleaned_up) {
        self->rest->thread = self;
        self->registered = true;
    } else {
        move_counts(self); /* its memory may be freed without notice */
    }
    pthread_mutex_unlock(lock);
}

void heed_sum_live(int64_t *tensors, int64_t *bytes)
{
    heed_register_thread(); /* so that this thread is counted */
    pthread_mutex_lock(lock);
    *tensors = other_tensors;
    *bytes = other_bytes;
    for (const heed_thread_rest *r = rests; r != NULL; r = r->next) {
        if (r->thread != NULL) {
            *tensors += __atomic_load_n(&r->thread->live_tensors, __ATOMIC_RELAXED);
            *bytes += __atomic_load_n(&r->thread->live_bytes, __ATOMIC_RELAXED);
        }
    }
    pthread_mutex_unlock(lock);
}

/* ---- forks ---- */

static void lock_all(void)
{
    for (int i = 0; i < HEED_LOCKS; i++) {
        pthread_mutex_lock(&heed_locks[i]);
    }
}

static void unlock_all(void)
{
    for (int i = HEED_LOCKS - 1; i >= 0; i--) {
        pthread_mutex_unlock(&heed_locks[i]);
    }
}

/* Keeps the counts of the parent's other threads: the memory of their states will be reused. */
static void begin_child(void)
{
    for (heed_thread_rest *r = rests; r != NULL; r = r->next) {
        if (r->thread != NULL && r->thread != &heed_self) {
            move_counts(r->thread);
            r->thread = NULL;
        }
    }
    if (in_child != NULL) {
        in_child();
    }
    unlock_all();
}

bool heed_at_fork(void (*function)(void))
{
    in_child = function;
    return has_fork_handlers;
}

/* Before main, because programs may use up all keys. */
__attribute__((constructor)) static void begin_process(void)
{
    has_key = pthread_key_create(&at_exit, unregister_thread) == 0;
    has_fork_handlers = pthread_atfork(lock_all, unlock_all, begin_child) == 0;
}
