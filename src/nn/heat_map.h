/* Attention to look at, in a terminal. */
#ifndef HEED_NN_HEAT_MAP_H
#define HEED_NN_HEAT_MAP_H

#include <stdio.h>

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

typedef enum heed_color { HEED_COLOR_AUTO, HEED_COLOR_NEVER, HEED_COLOR_ALWAYS } heed_color;

/* heed_heat_map: a matrix of weights with a label for each row and column, in percent; the more,
 * the brighter the cell. Colors (of 256) where the stream is a terminal and NO_COLOR is not set;
 * blocks of shade elsewhere.
 *
 *   weights (rows, columns) float; labels: that many, or NULL
 *
 *                   t  p
 *                   h  i
 *                   e  z
 *         the     100
 *         pizza    20 80
 *
 * HEED_ERR_SHAPE: weights do not have 2 dims. HEED_ERR_DTYPE: no floats. */
heed_status heed_heat_map(FILE *stream, heed_tensor *weights, const char *const *row_labels,
                          const char *const *column_labels, heed_color color);

HEED_END_DECLS
#endif
