/* The threads that use the library: each one's state, and the sum of their counters.
 *
 * A thread is registered on its first request of memory. At its end its counters stay in the sum,
 * because what it made may outlive it, and its free lists go to those who come after it. */
#include "thread.h"

#include <pthread.h>

#include "scope.h"

_Thread_local heed_thread heed_self;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_exit;
static heed_thread *threads;               /* guarded by lock, as the two below */
static int64_t ended_tensors, ended_bytes; /* the counts of threads that have ended */

static void unregister_thread(void *thread)
{
    heed_thread *self = thread;
    heed_end_all_scopes();
    heed_hand_back_memory();
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

static void make_key(void)
{
    pthread_key_create(&at_exit, unregister_thread);
}

void heed_register_thread(void)
{
    heed_thread *self = &heed_self;
    pthread_once(&once, make_key);
    pthread_setspecific(at_exit, self);
    pthread_mutex_lock(&lock);
    self->next = threads;
    threads = self;
    self->registered = true;
    pthread_mutex_unlock(&lock);
}

int64_t heed_live_tensors(void)
{
    pthread_mutex_lock(&lock);
    int64_t sum = ended_tensors;
    for (const heed_thread *t = threads; t != NULL; t = t->next) {
        sum += __atomic_load_n(&t->live_tensors, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
    return sum;
}

int64_t heed_live_bytes(void)
{
    pthread_mutex_lock(&lock);
    int64_t sum = ended_bytes;
    for (const heed_thread *t = threads; t != NULL; t = t->next) {
        sum += __atomic_load_n(&t->live_bytes, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
    return sum;
}
