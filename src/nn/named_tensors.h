/* Tensors with their names: the list that functions take and return, and one that grows.
 *
 *     heed_named_tensors all = {0};
 *     heed_named_add(&all, x, "layers.%d.weight", i);
 *     heed_save_file(all.list, path, NULL);
 *     heed_named_free(&all);
 */
#ifndef HEED_NN_NAMED_TENSORS_H
#define HEED_NN_NAMED_TENSORS_H

#include <stdarg.h>

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

/* It owns neither tensors nor names. Where names do not matter, they may be NULL. */
typedef struct heed_tensor_list {
    int count;
    heed_tensor *const *tensors;
    const char *const *names;
} heed_tensor_list;

/* What a file says besides its tensors: pairs of texts, ended by {NULL, NULL}. For the options of a
 * model, its vocabulary and the like; a value may be megabytes long. (Hugging Face's transformers
 * look for {"format", "pt"}.)
 *
 *     const heed_metadata about[] = {{"level", "char"}, {"heads", "4"}, {NULL, NULL}};
 */
typedef struct heed_metadata {
    const char *key, *value;
} heed_metadata;

/* A list that grows: all zero when empty. It owns its names, not the tensors. */
typedef struct heed_named_tensors {
    heed_tensor_list list;
    heed_tensor **tensors; /* those of the list */
    const char **names;
    int capacity;
    const char *prefix; /* put before each name that is added; NULL: nothing */
} heed_named_tensors;

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

HEED_END_DECLS
#endif
