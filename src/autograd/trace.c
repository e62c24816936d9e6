/* Prints operations and gradients as they are computed. Allocates no tensors. */
#include "trace.h"

#include <math.h>
#include <string.h>

#include "../tensor/shape.h"
#include "../tensor/text.h"
#include "module_path.h"
#include "observer.h"
#include "print.h"

static _Thread_local FILE *out; /* NULL: off */
static _Thread_local heed_observer observer;

/* ---- arguments ---- */

/* Writes the value of a field of an operation's arguments; "" hides it. */
static void put_value_of(const char *type, const void *at, char *text, size_t size)
{
    if (strcmp(type, "int") == 0) {
        snprintf(text, size, "%d", *(const int *)at);
    } else if (strcmp(type, "int64") == 0) {
        snprintf(text, size, "%lld", (long long)*(const int64_t *)at);
    } else if (strcmp(type, "double") == 0) {
        HEED_DECIMAL_POINT;
        const double x = *(const double *)at;
        snprintf(text, size, "%g", isnan(x) ? (double)NAN : x);
    } else if (strcmp(type, "bool") == 0) {
        snprintf(text, size, "%s", *(const bool *)at ? "True" : "");
    } else if (strcmp(type, "dtype") == 0) {
        snprintf(text, size, "%s", heed_dtype_name(*(const heed_dtype *)at));
    } else if (strcmp(type, "shape") == 0) {
        const heed_shape *shape = at;
        snprintf(text, size, "%s", heed_shape_text(shape->ndim, shape->size).text);
    } else if (strcmp(type, "dims") == 0 && ((const heed_dims *)at)->count > 0) {
        const heed_dims *dims = at;
        int64_t each[HEED_MAX_DIMS];
        for (int i = 0; i < dims->count && i < HEED_MAX_DIMS; i++) {
            each[i] = dims->dim[i];
        }
        snprintf(text, size, "%s", heed_shape_text(dims->count, each).text);
    }
}

#define TYPE(name, type)                                                                           \
    {                                                                                              \
#name, sizeof(type), _Alignof(type)                                                        \
    }
static const struct type {
    const char *name;
    size_t size, alignment;
} types[] = {
    TYPE(int, int),          TYPE(int64, int64_t),    TYPE(double, double),  TYPE(bool, bool),
    TYPE(dtype, heed_dtype), TYPE(shape, heed_shape), TYPE(dims, heed_dims),
};

heed_text heed_args_text(const heed_op *op, const void *args, size_t args_size)
{
    heed_text text = {""};
    char type_name[16], name[32];
    int length = 0;
    size_t at = 0, used = 0; /* in args, in text */
    const char *field = op != NULL && args != NULL ? op->args : NULL;
    for (; field != NULL && sscanf(field, " %15s %31[^,]%n", type_name, name, &length) == 2;
         field += length + (field[length] == ',')) {
        const struct type *type = types, *end = types + sizeof types / sizeof *types;
        while (type < end && strcmp(type->name, type_name) != 0) {
            type++;
        }
        if (type == end) {
            break; /* a type without a text: where the next field begins is not known */
        }
        at = (at + type->alignment - 1) / type->alignment * type->alignment;
        if (at + type->size > args_size) {
            break;
        }
        heed_text value = {""};
        put_value_of(type_name, (const char *)args + at, value.text, sizeof value.text);
        at += type->size;
        if (*value.text != '\0' && *name != '_' && used < sizeof text.text) {
            used += (size_t)snprintf(text.text + used, sizeof text.text - used, "%s%s=%s",
                                     used > 0 ? ", " : "", name, value.text);
        }
    }
    return text;
}

/* ---- tensors ---- */

/* " (2, 3)", " i64 (2)" */
static void put_shape(const char *before, const heed_tensor *t)
{
    const char *dtype = t->dtype == HEED_F32 ? "" : heed_dtype_name(t->dtype);
    fprintf(out, "%s %s%s%s", before, dtype, *dtype != '\0' ? " " : "", HEED_TEXT(t));
}

/* Ends the line; the value of a single element comes after " = ". */
static void put_value(const heed_tensor *t)
{
    char text[200];
    heed_tensor plain = *t; /* without its graph */
    plain.op = NULL;
    plain.requires_grad = false;
    const bool shown = t->storage != NULL && t->numel == 1 &&
                       heed_snprint(text, sizeof text, &plain, (heed_print_options){0}) > 0;
    fprintf(out, shown ? " = %s\n" : "\n", text);
}

/* ---- the observer ---- */

static heed_tensor *trace_result(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    (void)self;
    const heed_text args = heed_args_text(call->op, call->args, call->args_size);
    const heed_text path = heed_module_path();
    fprintf(out, "%s%s", heed_in_backward() ? "  " : "", call->op->name);
    fprintf(out, *args.text != '\0' ? "(%s)" : "%s", args.text);
    fprintf(out, *path.text != '\0' ? " in %s:" : "%s", path.text);
    for (int i = 0; i < call->count; i++) {
        fputs(i > 0 ? "," : "", out);
        fputs(call->op->names != NULL && call->count > 1 ? " " : "", out);
        put_shape(call->op->names != NULL && call->count > 1 ? call->op->names[i] : "",
                  call->inputs[i]);
    }
    if (y == NULL) {
        fprintf(out, " failed: %s\n", heed_status_name(heed_error_pending()));
        return NULL;
    }
    put_shape(" ->", y);
    fputs(y->storage != NULL && y->storage == call->inputs[0]->storage ? ", a view" : "", out);
    put_value(y);
    return y;
}

static void trace_derivative(heed_observer *self, const heed_derivative *derivative)
{
    (void)self;
    const heed_tensor *node = derivative->node, *g = derivative->g;
    heed_tensor *const *grads = derivative->grads;
    const heed_text path = heed_origin_path(node);
    fprintf(out, "backward of %s", node->op->name);
    fprintf(out, *path.text != '\0' ? " in %s" : "%s", path.text);
    put_shape(": g", g);
    put_value(g);
    for (int i = 0; i < node->input_count; i++) {
        if (grads[i] != NULL) {
            fprintf(out, "  %s", heed_input_name(node->op, i).text);
            put_shape(node->inputs[i]->op == NULL ? ", a leaf:" : ":", grads[i]);
            put_value(grads[i]);
        }
    }
}

FILE *heed_trace(FILE *stream)
{
    FILE *before = out;
    out = stream;
    if (before == NULL && stream != NULL) {
        observer = (heed_observer){.result = trace_result, .derivative = trace_derivative};
        heed_observer_add(&observer);
    } else if (before != NULL && stream == NULL) {
        heed_observer_remove(&observer);
    }
    return before;
}
