/* The console: output to the standard streams, its errors, and Ctrl-C. */
#ifndef HEED_COMMON_CONSOLE_H
#define HEED_COMMON_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ---- standard streams ---- */

/* console_hold: call it first. If a standard stream is closed, the next file opened would get its
 * descriptor and receive the program's output; this prevents that. Also ignores SIGXFSZ, so that
 * exceeding the file size limit (ulimit -f) is an error, not a signal. */
void console_hold(void);

/* console_put: writes bytes. On a `terminal`, control characters other than newline and tab, and
 * bytes that are not UTF-8, are written as '?', since they could control it. */
void console_put(FILE *stream, const char *bytes, size_t length, bool terminal);

/* console_flush: flushes stdout; false if any output so far was lost. */
bool console_flush(void);

/* console_complain: prints the pending error, or else the last one, as one line on stderr that
 * begins with the program's name; `needs_less` names the flags that reduce its memory, or is NULL.
 * Returns `status`; 2 means bad input, for which the line points to --help. */
int console_complain(const char *program, const char *needs_less, int status);

/* console_finish: the exit status of a program that has succeeded so far: 0, or 1 if some of its
 * output was lost, with an error message unless the reader closed the pipe. */
int console_finish(const char *program);

/* ---- Ctrl-C ---- */

/* interrupt_catch: from now on the first SIGINT, SIGTERM or (without nohup) SIGHUP makes
 * interrupted() true; a second one of the same kind ends the program. */
void interrupt_catch(void);
bool interrupted(void);

#endif
