/* Ctrl-C: the first one asks the program to finish, a second one ends it. */
#ifndef HEED_COMMON_INTERRUPT_H
#define HEED_COMMON_INTERRUPT_H

#include <stdbool.h>

/* interrupt_catch: from now on SIGINT, SIGTERM and (without nohup) SIGHUP only make interrupted()
 * true; the second time each ends the program. */
void interrupt_catch(void);
bool interrupted(void);

#endif
