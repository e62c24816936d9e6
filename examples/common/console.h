/* What a program says on its standard streams, and that it arrives. */
#ifndef HEED_COMMON_CONSOLE_H
#define HEED_COMMON_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* console_hold: to be called first. A file of the program's must not get the number of a standard
 * stream that was closed, and what is printed with it. */
void console_hold(void);

/* console_put: writes bytes; control characters, but the ends of lines and tabs, and what is no
 * UTF-8 could command a `terminal`, and become '?' there. */
void console_put(FILE *stream, const char *bytes, size_t length, bool terminal);

/* console_flush: has all of standard output arrived so far? */
bool console_flush(void);

/* console_complain: the pending error, or the last one, in one line on stderr, begun by the name of
 * the program; `needs_less` names the flags that make it need less memory, NULL if none do. Returns the exit status
 * that it was given; 2 is for what is wrong with what was asked for, and points to --help. */
int console_complain(const char *program, const char *needs_less, int status);

/* console_finish: the exit status of a program that has done its work: 0, or 1 if not all of its
 * output has arrived, and says why unless the reader has gone away. */
int console_finish(const char *program);

#endif
