/* Parts of SVG pictures (internal). */
#ifndef HEED_NN_SVG_H
#define HEED_NN_SVG_H

#include <stdio.h>

/* Typical widths of letters, in pixels, of 12 px sans-serif and 11 px monospace. */
static const double HEED_SVG_LETTER = 6.4, HEED_SVG_TOKEN_LETTER = 6.7;

/* heed_svg_begin: writes the root element and its <title>: `title`, or `otherwise` if NULL. The
 * caller writes <desc> next, and </svg> at the end.
 * heed_svg_page: writes the style, the background and the title, if any.
 *
 * The style defines classes with a `color`, which shapes use as currentColor: heed-ink for text and
 * axes, heed-grid for faint lines, heed-heat for weights, and heed-c0 to heed-c5 for curves. */
enum { HEED_SVG_CURVES = 6, HEED_SVG_TITLE = 28 /* height of a drawn title */ };
void heed_svg_begin(FILE *stream, double width, double height, const char *title,
                    const char *otherwise);
void heed_svg_page(FILE *stream, double width, const char *title);

/* heed_svg_text: writes the text, truncated to `most` columns, and its end tag. */
void heed_svg_text(FILE *stream, const char *text, int most);

#endif
