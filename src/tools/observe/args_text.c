/* Arguments of operations as text, read according to the layout that the operation declares
 * (heed_op.args).
 */
#include "args_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../autograd/ops/cross_entropy.h"
#include "../../tensor/text.h"

static void write_int(const void *value, char *text, size_t size)
{
    snprintf(text, size, "%d", *(const int *)value);
}

static void write_int64(const void *value, char *text, size_t size)
{
    snprintf(text, size, "%lld", (long long)*(const int64_t *)value);
}

static void write_double(const void *value, char *text, size_t size)
{
    HEED_DECIMAL_POINT;
    const double x = *(const double *)value;
    snprintf(text, size, "%g", isnan(x) ? (double)NAN : x);
}

static void write_bool(const void *value, char *text, size_t size)
{
    snprintf(text, size, "%s", *(const bool *)value ? "True" : "");
}

static void write_dtype(const void *value, char *text, size_t size)
{
    snprintf(text, size, "%s", heed_dtype_name(*(const heed_dtype *)value));
}

static void write_reduction(const void *value, char *text, size_t size)
{
    static const char *const names[] = {"mean", "sum", "none", "batchmean"};
    const unsigned reduction = *(const heed_reduction *)value; /* may be invalid if the op failed */
    snprintf(text, size, "%s", reduction < sizeof names / sizeof *names ? names[reduction] : "?");
}

static void write_shape(const void *value, char *text, size_t size)
{
    const heed_shape *shape = value;
    snprintf(text, size, "%s", heed_shape_text(shape->ndim, shape->size).text);
}

static void write_dims(const void *value, char *text, size_t size)
{
    const heed_dims *dims = value;
    int64_t each[HEED_MAX_DIMS];
    for (int i = 0; i < dims->count && i < HEED_MAX_DIMS; i++) {
        each[i] = dims->dim[i];
    }
    snprintf(text, size, "%s", dims->count > 0 ? heed_shape_text(dims->count, each).text : "");
}

#define TYPE(name, type)                                                                           \
    {                                                                                              \
#name, sizeof(type), _Alignof(type), write_##name                                          \
    }
#define write_pointer NULL

static const struct type {
    const char *name;
    size_t size, alignment;
    void (*write)(const void *value, char *text, size_t size); /* writes "" to hide it */
} types[] = {
    TYPE(int, int),          TYPE(int64, int64_t),    TYPE(double, double),
    TYPE(bool, bool),        TYPE(dtype, heed_dtype), TYPE(reduction, heed_reduction),
    TYPE(shape, heed_shape), TYPE(dims, heed_dims),   TYPE(pointer, void *),
};

static const struct type *find_type(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, name) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

heed_text heed_args_text(const heed_op *op, const void *args, size_t args_size)
{
    heed_text text = {""};
    char type_name[16], name[32];
    int length = 0;
    size_t at = 0, end = 0; /* in args, in text */
    for (const char *field = op != NULL && args != NULL ? op->args : NULL; field != NULL;
         field += length) {
        if (sscanf(field, " %15s %31[^,]%n", type_name, name, &length) != 2) {
            break;
        }
        length += field[length] == ',';
        const struct type *type = find_type(type_name);
        if (type != NULL) {
            at = (at + type->alignment - 1) / type->alignment * type->alignment;
        }
        if (type == NULL || at + type->size > args_size) {
            break;
        }
        heed_text value = {""};
        if (*name != '_' && type->write != NULL) {
            type->write((const char *)args + at, value.text, sizeof value.text);
        }
        at += type->size;
        if (*value.text != '\0' && end < sizeof text.text) {
            end += (size_t)snprintf(text.text + end, sizeof text.text - end, "%s%s=%s",
                                    end > 0 ? ", " : "", name, value.text);
        }
    }
    return text;
}
