/* Signals that ask the program to end. */
#include "examples/common/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t caught;

static void catch (int number)
{
    caught = number;
}

void interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = catch, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction old;
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) { /* nohup ignores it */
        sigaction(SIGHUP, &action, NULL);
    }
}

bool interrupted(void)
{
    return caught != 0;
}
