/* Writes a graph in the DOT language, with Graphviz's HTML-like labels. A module's frame is a
 * cluster, written again for each of its tensors; Graphviz merges clusters by name. */
#include "graph_dot.h"

#include <limits.h>
#include <string.h>

#include "../../nn/module.h"
#include "../../tensor/alloc.h"
#include "../../tensor/print.h"
#include "../observe/args_text.h"
#include "../observe/tensor_set.h"
#include "picture.h"

enum { VALUES_SHOWN = 9, MOST_VALUES = 100, DIGITS = 3, WIDE = 10000 };

typedef struct drawing {
    FILE *file;
    heed_graph_options options;
    heed_tensor_list state;  /* of options.module */
    heed_tensor_set tensors; /* of the graph; their indices name the nodes */
    const char **paths;      /* the module that frames each tensor, or "" */
} drawing;

/* ---- the graph ---- */

/* How t was computed, according to the recording or else the graph. */
typedef struct origin {
    const heed_op *op; /* NULL: a leaf */
    heed_tensor *const *inputs;
    int count;
    heed_text arguments;
    const char *path;
    heed_tensor *gradient;
} origin;

static origin origin_of(const drawing *d, const heed_tensor *t)
{
    origin o = {.path = "", .gradient = t->grad};
    const heed_recorded *entry = heed_recording_of(d->options.recording, t);
    if (entry != NULL) {
        o.op = entry->op;
        o.inputs = entry->inputs;
        o.count = entry->input_count;
        snprintf(o.arguments.text, sizeof o.arguments.text, "%s", entry->arguments);
        o.path = entry->path;
        o.gradient = entry->gradient != NULL ? entry->gradient : t->grad;
    } else if (t->op != NULL) {
        o.op = t->op;
        o.inputs = t->inputs;
        o.count = t->input_count;
        o.arguments = heed_args_text(t->op, t->args, t->args_size);
    }
    return o;
}

static heed_status collect(drawing *d, heed_tensor *loss)
{
    heed_tensor_set_add(&d->tensors, loss);
    for (int64_t i = 0; i < d->tensors.count && !heed_error_pending(); i++) {
        const origin o = origin_of(d, d->tensors.tensors[i]);
        for (int j = o.count - 1; j >= 0; j--) { /* drawn in reverse, so the first is on the left */
            heed_tensor_set_add(&d->tensors, o.inputs[j]);
        }
    }
    return heed_error_pending();
}

/* The name of t in a list, or NULL. */
static const char *name_in(heed_tensor_list list, const heed_tensor *t)
{
    for (int i = 0; i < list.count && list.names != NULL; i++) {
        if (list.tensors[i] == t) {
            return list.names[i];
        }
    }
    return NULL;
}

/* Parameters and buffers are framed with their first consumer. */
static heed_status place(drawing *d)
{
    d->paths = heed_alloc((size_t)d->tensors.count * sizeof *d->paths);
    for (int64_t i = 0; d->paths != NULL && i < d->tensors.count; i++) {
        d->paths[i] = origin_of(d, d->tensors.tensors[i]).path;
    }
    /* Inputs come after results, so the last consumer found was applied first. */
    for (int64_t i = 0; d->paths != NULL && i < d->tensors.count; i++) {
        const origin o = origin_of(d, d->tensors.tensors[i]);
        for (int j = 0; j < o.count; j++) {
            if (o.inputs[j]->op == NULL && name_in(d->state, o.inputs[j]) != NULL) {
                d->paths[heed_tensor_set_find(&d->tensors, o.inputs[j])] = o.path;
            }
        }
    }
    return heed_error_pending();
}

/* ---- text ---- */

/* Text in a label or an attribute. */
static void put_text(const drawing *d, const char *text)
{
    heed_xml_put(d->file, text, INT_MAX, 0);
}

/* The first `length` bytes of a module's path. */
static void put_part(const drawing *d, const char *path, size_t length)
{
    heed_text part; /* fits any path */
    snprintf(part.text, sizeof part.text, "%.*s", (int)length, path);
    put_text(d, part.text);
}

/* The values of a small tensor in torch's format, without "tensor(", the dtype and ")". */
static void put_values(const drawing *d, const char *title, const char *color, const heed_tensor *t)
{
    enum { BEFORE = sizeof "tensor(" - 1 };
    char text[8192]; /* enough for MOST_VALUES */
    if (t == NULL || t->storage == NULL || t->numel == 0 || t->numel > d->options.values) {
        return;
    }
    heed_tensor plain = *t; /* without its graph, which would be printed too */
    plain.op = NULL;
    plain.requires_grad = false;
    heed_snprint_with(text, sizeof text, &plain,
                      (heed_print_options){.precision = DIGITS, .linewidth = WIDE});
    const char *dtype = strstr(text, ", dtype=");
    const size_t end = dtype != NULL ? (size_t)(dtype - text) : strcspn(text, ")");
    const bool has_lines = memchr(text, '\n', end) != NULL;
    fprintf(d->file, "<BR/><FONT COLOR=\"%s\" POINT-SIZE=\"10\">%s%s", color, title,
            *title == '\0' ? ""
            : has_lines    ? "<BR/>"
                           : "&#160;");
    for (size_t i = BEFORE; i < end; i++) {
        if (text[i] == '\n') {
            i += strspn(text + i, "\n") + BEFORE - 1; /* the indentation */
            fputs("<BR/>", d->file);
        } else {
            text[i] == ' ' ? fputs("&#160;", d->file) : fputc(text[i], d->file);
        }
    }
    fputs("</FONT>", d->file);
}

/* ---- nodes and edges ---- */

/* Opens the frames around a tensor, outermost first, each named by its full path. Returns their
 * number. */
static int open_frames(const drawing *d, const char *path)
{
    int count = 0;
    for (const char *name = path; *name != '\0'; count++) {
        const size_t length = strcspn(name, ".");
        fputs("subgraph \"cluster_", d->file);
        put_part(d, path, (size_t)(name - path) + length);
        fputs("\" { label=<", d->file);
        put_part(d, name, length);
        fputs("> ", d->file);
        name += length + (name[length] == '.');
    }
    return count;
}

static void put_node(const drawing *d, int64_t i)
{
    static const char operation[] = "#EAF1FB", parameter[] = "#E5F4E3", constant[] = "#F2F2F2";
    const heed_tensor *t = d->tensors.tensors[i];
    const origin o = origin_of(d, t);
    const char *name = name_in(d->options.names, t);
    const char *state_name = name_in(d->state, t);
    name = name != NULL ? name : state_name;
    const int frames = open_frames(d, d->paths[i]);
    fprintf(d->file, "n%lld [label=<", (long long)i);
    if (name != NULL) {
        fputs("<B>", d->file);
        put_text(d, name);
        fputs(o.op != NULL ? "</B>&#160;=&#160;" : "</B>", d->file);
    }
    if (o.op != NULL) {
        fputs("<B>", d->file);
        put_text(d, o.op->name);
        fputs(*o.arguments.text != '\0' ? "</B>&#160;" : "</B>", d->file);
        put_text(d, o.arguments.text);
    } else if (name == NULL) {
        fputs(t->requires_grad ? "leaf" : "constant", d->file);
    }
    fprintf(d->file, "<BR/>%s%s%s", t->dtype != HEED_F32 ? heed_dtype_name(t->dtype) : "",
            t->dtype != HEED_F32 ? " " : "", heed_shape_text(t->ndim, t->shape).text);
    put_values(d, "", "#1B4F8C", t);
    put_values(d, "gradient", "#A03030", o.gradient);
    fprintf(d->file, ">, style=\"filled%s\", fillcolor=\"%s\"%s];", o.op != NULL ? ",rounded" : "",
            o.op != NULL       ? operation
            : t->requires_grad ? parameter
                               : constant,
            i == 0 ? ", penwidth=2" : "");
    for (int j = 0; j < frames; j++) {
        fputs(" }", d->file);
    }
    fputc('\n', d->file);
}

/* Arrows from the inputs of tensor i, labelled with their names if the operation has names. */
static void put_edges(const drawing *d, int64_t i)
{
    const origin o = origin_of(d, d->tensors.tensors[i]);
    for (int j = 0; j < o.count; j++) {
        fprintf(d->file, "n%lld -> n%lld",
                (long long)heed_tensor_set_find(&d->tensors, o.inputs[j]), (long long)i);
        if (o.op->names != NULL && o.count > 1) {
            fputs(" [label=<&#160;", d->file);
            put_text(d, o.op->names[j]);
            fputs(">]", d->file);
        }
        fputs(";\n", d->file);
    }
}

static heed_status draw(drawing *d, heed_tensor *loss)
{
    if (d->options.module != NULL) {
        d->state = heed_state_dict(d->options.module);
    }
    if (collect(d, loss) != HEED_OK || place(d) != HEED_OK) {
        return heed_error_pending();
    }
    fputs("digraph heed {\n"
          "graph [fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, labelloc=t, "
          "bgcolor=\"white\", color=\"#9A9A9A\", style=rounded];\n"
          "node [fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, shape=box, "
          "color=\"#5A6B80\", margin=\"0.12,0.06\"];\n"
          "edge [fontname=\"Helvetica,Arial,sans-serif\", fontsize=9, color=\"#5A6B80\", "
          "fontcolor=\"#5A6B80\", arrowsize=0.7];\n",
          d->file);
    if (d->options.title != NULL) {
        fputs("label=<", d->file);
        put_text(d, d->options.title);
        fputs(">;\n", d->file);
    }
    for (int64_t i = d->tensors.count - 1; i >= 0; i--) {
        put_node(d, i);
    }
    for (int64_t i = d->tensors.count - 1; i >= 0; i--) {
        put_edges(d, i);
    }
    fputs("}\n", d->file);
    return heed_picture_end("graph_dot", d->file);
}

heed_status heed_graph_dot(FILE *file, heed_tensor *loss, heed_graph_options options)
{
    if (heed_error_pending() || file == NULL || loss == NULL) {
        return heed_fail(HEED_ERR_NULL, "graph_dot: the file or the loss is NULL");
    }
    drawing d = {.file = file, .options = options};
    d.options.values = options.values > MOST_VALUES ? MOST_VALUES
                       : options.values != 0        ? options.values
                                                    : VALUES_SHOWN;
    const heed_status status = draw(&d, loss);
    heed_tensor_set_free(&d.tensors);
    heed_free(d.paths);
    return status;
}
