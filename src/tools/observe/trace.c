/* Prints operations and gradients as they are computed. Nothing here can fail: printing allocates
 * no tensors, and a stream that reports an error is switched off. */
#include "trace.h"

#include <string.h>

#include "../../autograd/module_path.h"
#include "../../autograd/observer.h"
#include "../../tensor/print.h"
#include "../../tensor/shape.h"
#include "args_text.h"

enum { STEP = 2, INPUTS_SHOWN = 8 }; /* STEP: columns of indentation */

static _Thread_local FILE *out;             /* NULL: off */
static _Thread_local heed_text last_module; /* the path printed last */
static _Thread_local heed_observer observer;

static heed_tensor *trace_result(heed_observer *self, const heed_call *call, heed_tensor *y);
static void trace_derivative(heed_observer *self, const heed_derivative *derivative);

FILE *heed_trace(FILE *stream)
{
    FILE *before = out;
    out = stream;
    *last_module.text = '\0';
    if (before == NULL && stream != NULL) {
        observer = (heed_observer){.result = trace_result, .derivative = trace_derivative};
        heed_observer_add(&observer);
    } else if (before != NULL && stream == NULL) {
        heed_observer_remove(&observer);
    }
    return before;
}

static void begin_lines(void)
{
    flockfile(out);
}

static void end_lines(void)
{
    FILE *stream = out;
    if (ferror(stream)) {
        heed_trace(NULL);
    }
    funlockfile(stream);
}

/* ---- tensors ---- */

/* "(2, 3)", "i64 (2)" */
static void put_shape(const heed_tensor *t)
{
    const bool is_default = t->dtype == HEED_F32;
    fprintf(out, "%s%s%s", is_default ? "" : heed_dtype_name(t->dtype), is_default ? "" : " ",
            HEED_TEXT(t));
}

/* Prints small tensors in torch's format, without the graph: on the same line after `before` if one
 * line suffices, else below. Ends the line. */
static void put_values(const heed_tensor *t, const char *before, int indent)
{
    char text[2048];
    heed_tensor plain = *t;
    plain.op = NULL;
    plain.requires_grad = false;
    if (t->storage == NULL || t->numel == 0 || t->numel > HEED_TRACED_VALUES ||
        heed_snprint(text, sizeof text, &plain) == 0) {
        fputc('\n', out);
        return;
    }
    if (strchr(text, '\n') == NULL) {
        fprintf(out, "%s%s\n", before, text);
        return;
    }
    fputc('\n', out);
    for (const char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        fprintf(out, "%*s%.*s\n", length > 0 ? indent : 0, "", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* ---- forward ---- */

/* The number of leading names that both paths share, and their length in a. */
static int count_common(const char *a, const char *b, size_t *length)
{
    int count = 0;
    *length = 0;
    for (size_t i = 0;; i++) {
        const bool ends = (a[i] == '.' || a[i] == '\0') && (b[i] == '.' || b[i] == '\0');
        if (ends && i > 0) {
            count++;
            *length = i;
        }
        if (a[i] != b[i] || a[i] == '\0') {
            return count;
        }
    }
}

/* Prints a line for each module that was entered since the last line. Returns the indentation
 * below the current one. */
static int put_modules(void)
{
    const heed_text path = heed_module_path();
    size_t printed;
    int depth = count_common(path.text, last_module.text, &printed);
    for (const char *name = path.text + printed; *name != '\0'; depth++) {
        name += *name == '.';
        const size_t length = strcspn(name, ".");
        fprintf(out, "%*s%.*s\n", depth * STEP, "", (int)length, name);
        name += length;
    }
    last_module = path;
    return depth * STEP;
}

static void put_inputs(const heed_call *call)
{
    const bool is_product = call->op->kind == HEED_KIND_MATMUL;
    for (int i = 0; i < call->count && i < INPUTS_SHOWN; i++) {
        fputs(i == 0 ? " " : is_product ? " x " : ", ", out);
        if (call->op->names != NULL && call->count > 1) {
            fprintf(out, "%s ", call->op->names[i]);
        }
        put_shape(call->inputs[i]);
    }
    if (call->count > INPUTS_SHOWN) {
        fprintf(out, ", ... (%d inputs)", call->count);
    }
}

static heed_tensor *trace_result(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    (void)self;
    begin_lines();
    const int indent = heed_in_backward() ? STEP : put_modules();
    const heed_text args = heed_args_text(call->op, call->args, call->args_size);
    fprintf(out, "%*s%s", indent, "", call->op->name);
    if (*args.text != '\0') {
        fprintf(out, "(%s)", args.text);
    }
    put_inputs(call);
    if (y == NULL) {
        fprintf(out, " failed: %s\n", heed_status_name(heed_error_pending()));
    } else {
        fputs(" -> ", out);
        put_shape(y);
        fputs(y->storage != NULL && y->storage == call->inputs[0]->storage ? ", a view" : "", out);
        put_values(y, " = ", indent + STEP);
    }
    end_lines();
    return y;
}

/* ---- backward ---- */

static void trace_derivative(heed_observer *self, const heed_derivative *derivative)
{
    (void)self;
    const heed_tensor *node = derivative->node, *g = derivative->g;
    heed_tensor *const *grads = derivative->grads;
    begin_lines();
    *last_module.text = '\0';
    const heed_text path = heed_origin_path(node);
    fprintf(out, "backward of %s%s%s: g ", node->op->name, *path.text != '\0' ? " in " : "",
            path.text);
    put_shape(g);
    const char *before = " -> ";
    for (int i = 0; i < node->input_count; i++) {
        if (grads[i] != NULL) {
            fprintf(out, "%s%s ", before, heed_input_name(node->op, i).text);
            put_shape(grads[i]);
            before = ", ";
        }
    }
    fprintf(out, "\n%*sg", STEP, "");
    put_values(g, " = ", 2 * STEP);
    for (int i = 0; i < node->input_count; i++) {
        if (grads[i] != NULL) {
            const bool is_leaf = node->inputs[i]->op == NULL;
            fprintf(out, "%*s%s%s", STEP, "", heed_input_name(node->op, i).text,
                    !is_leaf                   ? ""
                    : derivative->adds_to_grad ? " (a leaf, added to .grad)"
                                               : " (a leaf)");
            put_values(grads[i], " = ", 2 * STEP);
        }
    }
    end_lines();
}
