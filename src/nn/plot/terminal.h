/* Capabilities of an output stream (internal): width, colors and characters. */
#ifndef HEED_NN_TERMINAL_H
#define HEED_NN_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* heed_terminal_is_smart: the stream is a terminal that understands escape sequences, so a line can
 * be redrawn: TERM is set and is not "dumb". heed_terminal_has_color: likewise, and NO_COLOR is not
 * set. */
bool heed_terminal_is_smart(FILE *stream);
bool heed_terminal_has_color(FILE *stream);

/* heed_terminal_columns: the width of lines: COLUMNS if set, else what the terminal reports, else
 * `otherwise`. Changes when the terminal is resized. heed_terminal_lines: likewise, with LINES. */
int heed_terminal_columns(FILE *stream, int otherwise);
int heed_terminal_lines(FILE *stream, int otherwise);

/* heed_terminal_is_utf8: the locale of the environment (LC_ALL, LC_CTYPE or LANG, the first that is
 * set) is UTF-8, so blocks and braille can be printed. The program need not call setlocale. */
bool heed_terminal_is_utf8(void);

#endif
