/* The console: what a program writes on its standard streams, whether it arrives, and Ctrl-C. */
#ifndef HEED_COMMON_CONSOLE_H
#define HEED_COMMON_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ---- standard streams ---- */

/* console_hold: call it first. It keeps a file of the program from taking the number of a standard
 * stream that was closed, and so receiving what is printed. */
void console_hold(void);

/* console_put: writes bytes. On a `terminal`, control characters other than line ends and tabs, and
 * bytes that are not UTF-8, become '?', as they could command it. */
void console_put(FILE *stream, const char *bytes, size_t length, bool terminal);

/* console_flush: has all output on stdout arrived so far? */
bool console_flush(void);

/* console_complain: prints the pending error, or else the last one, as one line on stderr that
 * begins with the program's name; `needs_less` names the flags that reduce its memory, or is NULL.
 * Returns `status`; 2 stands for bad input, and points to --help. */
int console_complain(const char *program, const char *needs_less, int status);

/* console_finish: the exit status of a program that has done its work: 0, or 1 if some of its
 * output did not arrive; says why, unless the reader has gone away. */
int console_finish(const char *program);

/* ---- Ctrl-C ---- */

/* interrupt_catch: from now on the first SIGINT, SIGTERM or (without nohup) SIGHUP makes
 * interrupted() true; a second one of the same kind ends the program. */
void interrupt_catch(void);
bool interrupted(void);

#endif
