/* Weights as a heat map in the terminal. */
#ifndef HEED_NN_HEAT_MAP_H
#define HEED_NN_HEAT_MAP_H

#include <stdio.h>

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

typedef enum heed_color { HEED_COLOR_AUTO, HEED_COLOR_NEVER, HEED_COLOR_ALWAYS } heed_color;

/* heed_heat_map: prints a matrix of weights in percent, with labelled rows and columns; larger
 * weights have brighter cells. HEED_COLOR_AUTO uses 256 colors if the stream is a terminal and
 * NO_COLOR is not set, and shade characters otherwise: blocks if the locale is UTF-8, else ASCII.
 *
 *   weights (rows, columns) float; labels: one for each row or column, or NULL
 *
 *                   t  p
 *                   h  i
 *                   e  z
 *         the     100
 *         pizza    20 80
 *
 * Labels are UTF-8 text of any origin: controls and invalid bytes are shown as "?". If lines are
 * wider than the terminal, or COLUMNS if set, cells shrink to 2 columns and then 1, without a
 * percentage. Stream errors are left to the caller, as with printf.
 *
 * HEED_ERR_SHAPE: weights do not have 2 dims. HEED_ERR_DTYPE: weights are not floats. */
heed_status heed_heat_map(FILE *stream, heed_tensor *weights, const char *const *row_labels,
                          const char *const *column_labels, heed_color color);

HEED_END_DECLS
#endif
