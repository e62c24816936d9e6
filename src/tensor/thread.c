/* The states of threads, and what they count: live tensors and bytes, and allocations that tests
 * make fail. */
#include "thread.h"

#include <stdlib.h>
#include <string.h>

_Thread_local heed_thread heed_self;
pthread_key_t heed_thread_key;
bool heed_has_thread_key;

heed_thread_rest *heed_rest_of_thread(void)
{
    heed_thread *self = &heed_self;
    if (self->rest == NULL && !heed_fails_allocation() &&
        (self->rest = calloc(1, sizeof *self->rest)) != NULL) {
        memcpy(self->rest->message, self->short_message, sizeof self->short_message);
        if (heed_has_thread_key) {
            pthread_setspecific(heed_thread_key, self);
        }
    }
    return self->rest;
}

bool heed_fails_allocation(void)
{
    if (heed_self.fail_countdown == 0 || --heed_self.fail_countdown > 0) {
        return false;
    }
    heed_self.failures++;
    heed_self.fail_countdown = --heed_self.failures_left > 0;
    return true;
}

void heed_fail_allocations(int64_t n, int64_t count)
{
    heed_self.fail_countdown = n + 1;
    heed_self.failures_left = count;
}

void heed_fail_allocation(int64_t n)
{
    heed_fail_allocations(n, 1);
}
