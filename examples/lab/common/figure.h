/* A picture made of several parts, one below the other, in one SVG file. */
#ifndef HEED_COMMON_FIGURE_H
#define HEED_COMMON_FIGURE_H

#include <stdio.h>

#include "examples/lab/common/text.h"
#include "heed.h"

/* Zero-initialised, it is empty. */
typedef struct figure {
    text_buffer parts;
    double width, height;
    FILE *stream; /* of the part being drawn */
    char *drawn;
    size_t length;
} figure;

/* figure_part: a stream to draw the next part to, for example with heed_plot_svg; NULL: out of
 * memory. figure_end_part: adds the part that was drawn. */
FILE *figure_part(figure *f);
void figure_end_part(figure *f);

/* figure_write: writes the file; errors name `flag`. HEED_ERR_FILE: it cannot be written. */
heed_status figure_write(const figure *f, const char *flag, const char *path);
void figure_free(figure *f);

#endif
