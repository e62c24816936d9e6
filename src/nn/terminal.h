/* The terminal that a stream leads to (internal). */
#ifndef HEED_NN_TERMINAL_H
#define HEED_NN_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* heed_terminal_is_smart: the stream is a terminal that understands escape sequences, so a line can
 * be redrawn: TERM is set and is not "dumb". heed_terminal_has_color: likewise, and NO_COLOR is not
 * set. */
bool heed_terminal_is_smart(FILE *stream);
bool heed_terminal_has_color(FILE *stream);

/* heed_terminal_columns: the width of lines: COLUMNS if set, else the terminal's width, else
 * `otherwise`. Changes when the terminal is resized. */
int heed_terminal_columns(FILE *stream, int otherwise);

#endif
