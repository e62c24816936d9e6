/* Lists of named tensors that grow (internal to nn); all zero when empty.
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

/* heed_named_add: appends a tensor under a name that is formatted as by printf; heed_named_add_v
 * takes the arguments as a va_list. heed_named_append: all tensors of a list that has names.
 * heed_named_free: frees the names and the arrays, and leaves an empty list. HEED_ERR_MEMORY. */
heed_status heed_named_add(heed_named_tensors *named, heed_tensor *tensor, const char *format, ...)
    HEED_PRINTF(3, 4);
heed_status heed_named_add_v(heed_named_tensors *named, heed_tensor *tensor, const char *format,
                             va_list arguments);
heed_status heed_named_append(heed_named_tensors *named, heed_tensor_list list);
void heed_named_free(heed_named_tensors *named);

/* heed_name_ends_in: names are paths; what a tensor is stands at the end. */
bool heed_name_ends_in(const char *name, const char *end);

/* heed_is_listed: is it among the tensors of the list? */
bool heed_is_listed(heed_tensor_list list, const heed_tensor *tensor);

#endif
