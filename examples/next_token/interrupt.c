/* Signals that ask the program to end. */
#include "examples/next_token/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t caught;

static void catch (int number)
{
    caught = number;
}

void interrupt_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++) {
        struct sigaction action = {.sa_handler = catch, .sa_flags = SA_RESTART};
        struct sigaction before;
        action.sa_flags |= (int)SA_RESETHAND;
        sigemptyset(&action.sa_mask);
        /* What is ignored stays so: a shell that starts a job in the background asks for it. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            sigaction(numbers[i], &action, NULL);
        }
    }
}

bool interrupted(void)
{
    return caught != 0;
}
