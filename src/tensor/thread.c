/* The threads that use the library: their states, and the sums of their counters.
 *
 * A thread registers on its first allocation or error. When it ends, its state is cleaned up by the
 * functions set with heed_at_thread_end. Its counters stay in the sums, because its tensors may
 * outlive it. */
#include "thread.h"

#include <pthread.h>

_Thread_local heed_thread heed_self;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_exit;
static bool has_key;
static heed_thread *threads;                       /* guarded by lock, like the next two */
static int64_t ended_tensors, ended_bytes;         /* the counts of threads that have ended */
static void (*clean_ups[HEED_THREAD_PARTS])(void); /* written before main */

static void unregister_thread(void *thread)
{
    heed_thread *self = thread;
    for (int part = 0; part < HEED_THREAD_PARTS; part++) {
        if (clean_ups[part] != NULL) {
            clean_ups[part]();
        }
    }
    pthread_mutex_lock(&lock);
    for (heed_thread **link = &threads; *link != NULL; link = &(*link)->next) {
        if (*link == self) {
            *link = self->next;
            break;
        }
    }
    ended_tensors += self->live_tensors;
    ended_bytes += self->live_bytes;
    self->live_tensors = self->live_bytes = 0;
    self->registered = false;
    pthread_mutex_unlock(&lock);
}

void heed_at_thread_end(enum heed_thread_part part, void (*clean_up)(void))
{
    clean_ups[part] = clean_up;
}

static void make_key(void)
{
    has_key = pthread_key_create(&at_exit, unregister_thread) == 0;
}

void heed_register_thread(void)
{
    heed_thread *self = &heed_self;
    pthread_once(&once, make_key);
    if (self->registered || !has_key || pthread_setspecific(at_exit, self) != 0) {
        return;
    }
    pthread_mutex_lock(&lock);
    self->next = threads;
    threads = self;
    self->registered = true;
    pthread_mutex_unlock(&lock);
}

void heed_sum_live(int64_t *tensors, int64_t *bytes)
{
    pthread_mutex_lock(&lock);
    *tensors = ended_tensors;
    *bytes = ended_bytes;
    for (const heed_thread *t = threads; t != NULL; t = t->next) {
        *tensors += __atomic_load_n(&t->live_tensors, __ATOMIC_RELAXED);
        *bytes += __atomic_load_n(&t->live_bytes, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
}
