/* The console: output to the standard streams, its errors, the clock, and Ctrl-C. */
#ifndef HEED_COMMON_CONSOLE_H
#define HEED_COMMON_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ---- standard streams ---- */

/* console_begin: must be called first, with argv[0]. If a standard stream is closed, the next file
 * opened would get its descriptor and receive the program's output; this prevents that. A reader
 * that closes its pipe ends the program, silently and with status 0, unless SIGPIPE is ignored
 * afterwards. Exceeding the file size limit (ulimit -f) becomes an error, not a signal. */
void console_begin(const char *called);

/* console_version: if the first argument is --version, prints heed_build_info and returns true. */
bool console_version(int argc, char **argv);

/* console_put: writes bytes. On a `terminal`, control characters other than newline and tab, and
 * bytes that are not UTF-8, are written as '?', since they could control it. */
void console_put(FILE *stream, const char *bytes, size_t length, bool terminal);

/* console_flush: flushes stdout; false if any output so far was lost. */
bool console_flush(void);

/* console_complain: prints the pending error, or else the last one, as one line on stderr that
 * begins with the program's name. Returns `status`. console_misused: the same for an error in the
 * flags: the line also points to the --help of the subcommand `command`, or of the program if NULL.
 * Returns 2. */
int console_complain(const char *program, int status);
int console_misused(const char *program, const char *command);

/* console_drawn: must be called after a library function that writes to stdout. It clears the error
 * of a failed write, which console_finish reports. */
void console_drawn(void);

/* console_finish: the exit status of a program that has succeeded so far: 0, or 1, with an error
 * message, if some of its output was lost. A closed pipe is not an error. */
int console_finish(const char *program);

/* ---- time ---- */

/* console_clock: a monotonic clock, in seconds. */
double console_clock(void);

/* ---- Ctrl-C ---- */

/* interrupt_catch: from now on the first SIGINT, SIGTERM or (without nohup) SIGHUP makes
 * interrupted() true; a second one of the same kind ends the program. */
void interrupt_catch(void);
bool interrupted(void);

#endif
