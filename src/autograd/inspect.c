/* The trace: hooks that print operations and gradients; arguments of operations as text. */
#include <math.h>
#include <string.h>

#include "autograd.h"

static _Thread_local FILE *out; /* NULL: off */

/* ---- arguments ---- */

/* The next field of a struct of arguments; moves *at past it. */
#define NEXT(type)                                                                                 \
    (*at = (*at + _Alignof(type) - 1) / _Alignof(type) * _Alignof(type) + sizeof(type),            \
     (const type *)(const void *)(args + *at - sizeof(type)))

/* Writes the field of this type at *at, and moves past it; "" hides it. False for unknown types. */
static bool write_field(const char *type, const char *args, size_t *at, heed_text *value)
{
    char *text = value->text;
    const size_t size = sizeof value->text;
    *text = '\0';
    if (strcmp(type, "int") == 0) {
        snprintf(text, size, "%d", *NEXT(int));
    } else if (strcmp(type, "int64") == 0) {
        snprintf(text, size, "%lld", (long long)*NEXT(int64_t));
    } else if (strcmp(type, "double") == 0) {
        const double x = *NEXT(double);
        snprintf(text, size, "%g", isnan(x) ? (double)NAN : x);
    } else if (strcmp(type, "bool") == 0) {
        snprintf(text, size, "%s", *NEXT(bool) ? "True" : "");
    } else if (strcmp(type, "dtype") == 0) {
        snprintf(text, size, "%s", heed_dtype_name(*NEXT(heed_dtype)));
    } else if (strcmp(type, "shape") == 0) {
        const heed_shape *shape = NEXT(heed_shape);
        *value = heed_shape_text(shape->ndim, shape->size);
    } else if (strcmp(type, "dims") == 0) {
        const heed_dims *dims = NEXT(heed_dims);
        int64_t each[HEED_MAX_DIMS];
        for (int i = 0; i < dims->count; i++) {
            each[i] = dims->dim[i];
        }
        if (dims->count > 0) {
            *value = heed_shape_text(dims->count, each);
        }
    } else {
        return false;
    }
    return true;
}

/* An unknown type ends the text, as it is not known where the next field begins. */
heed_text heed_args_text(const heed_op *op, const void *args)
{
    heed_text text = {""}, value = {""};
    char type[16], name[32];
    int length = 0;
    size_t at = 0, used = 0; /* in args, in text */
    for (const char *field = op != NULL && op->args != NULL && args != NULL ? op->args : "";
         sscanf(field, " %15s %31[^,]%n", type, name, &length) == 2 &&
         write_field(type, args, &at, &value);
         field += length + (field[length] == ',')) {
        if (*value.text != '\0' && *name != '_' && used < sizeof text.text) {
            used += (size_t)snprintf(text.text + used, sizeof text.text - used, "%s%s=%s",
                                     used > 0 ? ", " : "", name, value.text);
        }
    }
    return text;
}

/* ---- the trace ---- */

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
    const bool shown =
        t->storage != NULL && t->numel == 1 && heed_snprint(text, sizeof text, &plain) > 0;
    fprintf(out, shown ? " = %s\n" : "\n", text);
}

static heed_tensor *trace_result(heed_hook *self, const heed_call *call, heed_tensor *y)
{
    (void)self;
    const heed_text args = heed_args_text(call->op, call->args);
    const heed_text path = heed_place_text(heed_module_path());
    fprintf(out, "%s%s", heed_in_backward() ? "  " : "", call->op->name);
    fprintf(out, *args.text != '\0' ? "(%s)" : "%s", args.text);
    fprintf(out, *path.text != '\0' ? "%s:" : "%s", path.text);
    for (int i = 0; i < call->count; i++) {
        fputs(i > 0 ? "," : "", out);
        const bool named = call->op->signature != NULL && call->count > 1;
        fputs(named ? " " : "", out);
        put_shape(named ? heed_input_name(call->op, i).text : "", call->inputs[i]);
    }
    put_shape(" ->", y);
    fputs(y->storage != NULL && y->storage == call->inputs[0]->storage ? ", a view" : "", out);
    put_value(y);
    return y;
}

static void trace_derivative(heed_hook *self, const heed_vjp *vjp)
{
    (void)self;
    const heed_tensor *node = vjp->y;
    fprintf(out, "backward of %s%s", node->op->name, heed_place_text(heed_origin_path(node)).text);
    put_shape(": g", vjp->g);
    put_value(vjp->g);
    for (int i = 0; i < node->input_count; i++) {
        if (vjp->grads[i] != NULL) {
            fprintf(out, "  %s", heed_input_name(node->op, i).text);
            put_shape(node->inputs[i]->op == NULL ? ", a leaf:" : ":", vjp->grads[i]);
            put_value(vjp->grads[i]);
        }
    }
}

FILE *heed_trace(FILE *stream)
{
    static _Thread_local heed_hook hook = {.result = trace_result, .derivative = trace_derivative};
    FILE *before = out;
    out = stream;
    (stream != NULL ? heed_hook_add : heed_hook_remove)(&hook);
    return before;
}
