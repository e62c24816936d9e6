/* Growable lists of named tensors (internal to nn); all zero when empty.
 *
 *     heed_named_tensors all = {0};
 *     heed_named_add(&all, x, "layers.%d.weight", i);
 *     heed_save_file(all.list, path, NULL);
 *     heed_named_free(&all);
 */
#ifndef HEED_NN_NAMED_TENSORS_H
#define HEED_NN_NAMED_TENSORS_H

#include <stdarg.h>

#include "tensor_list.h"

/* heed_named_add: appends a tensor under a printf-formatted name; heed_named_add_v takes the
 * arguments as a va_list. heed_named_append: appends all tensors of a list under their names.
 * heed_named_free: frees the names and arrays and leaves an empty list. HEED_ERR_MEMORY. */
heed_status heed_named_add(heed_named_tensors *named, heed_tensor *tensor, const char *format, ...)
    HEED_PRINTF(3, 4);
heed_status heed_named_add_v(heed_named_tensors *named, heed_tensor *tensor, const char *format,
                             va_list arguments);
heed_status heed_named_append(heed_named_tensors *named, heed_tensor_list list);
void heed_named_free(heed_named_tensors *named);

/* heed_name_ends_in: true if the name ends in `end`, such as "c_attn.weight". */
bool heed_name_ends_in(const char *name, const char *end);

/* heed_is_listed: true if the list contains the tensor. */
bool heed_is_listed(heed_tensor_list list, const heed_tensor *tensor);

#endif
