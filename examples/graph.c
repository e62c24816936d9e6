/* Draws the graph of tanh(w x + b), or of SelfAttention with a causal mask, for Graphviz.
 *
 *     build/graph tanh > tanh.dot
 *     build/graph attention | dot -Tsvg > attention.svg
 *     build/graph attention --trace > attention.dot     # also prints each operation to stderr
 *
 * A tensor is its own node: it has an operation, inputs, and, after the backward pass, a gradient.
 * Values and gradients that the pass no longer needs would be freed, so a hook keeps them.
 */
#include <stdio.h>
#include <string.h>

#include "heed.h"

/* ---- keeping values and gradients ---- */

enum { MOST = 64 };

static heed_tensor *results[MOST], *gradients[MOST]; /* gradients[i] of results[i], or NULL */
static int result_count;

static heed_tensor *keep_result(heed_hook *self, const heed_call *call, heed_tensor *y)
{
    (void)self, (void)call;
    if (result_count < MOST) {
        results[result_count++] = heed_retain(y);
    }
    return y;
}

static void keep_gradient(heed_hook *self, const heed_vjp *vjp)
{
    (void)self;
    for (int i = 0; i < result_count; i++) {
        gradients[i] = results[i] == vjp->y ? heed_retain(vjp->g) : gradients[i];
    }
}

static heed_hook hook = {.result = keep_result, .derivative = keep_gradient};

static void release_all(void)
{
    heed_hook_remove(&hook);
    while (result_count > 0) {
        result_count--;
        heed_release(results[result_count]);
        heed_release(gradients[result_count]);
    }
}

/* The n-th result (from 0) of an operation of a module; the program ends if there is none. */
static heed_tensor *result(const char *path, const char *operation, int n)
{
    for (int i = 0; i < result_count; i++) {
        if (strcmp(heed_origin_path(results[i]).text, path) == 0 &&
            strcmp(results[i]->op->name, operation) == 0 && n-- == 0) {
            return results[i];
        }
    }
    heed_fail(HEED_ERR_VALUE, "graph: no %s in %s", operation, path);
    return NULL;
}

/* ---- drawing ---- */

static heed_tensor *drawn[MOST]; /* the tensors of the graph; their indices name the nodes */
static int drawn_count;

static int index_of(const heed_tensor *t)
{
    int i = 0;
    while (i < drawn_count && drawn[i] != t) {
        i++;
    }
    return i;
}

/* The tensors that y was computed from, results before their inputs. */
static void collect(heed_tensor *y)
{
    drawn[0] = y;
    drawn_count = 1;
    for (int i = 0; i < drawn_count; i++) {
        for (int j = drawn[i]->input_count - 1; j >= 0; j--) {
            if (index_of(drawn[i]->inputs[j]) == drawn_count && drawn_count < MOST) {
                drawn[drawn_count++] = drawn[i]->inputs[j];
            }
        }
    }
}

static const char *name_in(heed_tensor_list list, const heed_tensor *t)
{
    for (int i = 0; i < list.count; i++) {
        if (list.tensors[i] == t) {
            return list.names[i];
        }
    }
    return NULL;
}

/* The module that computed t, or that applied the parameter t first. */
static heed_text frame_of(heed_tensor_list parameters, const heed_tensor *t)
{
    for (int i = drawn_count - 1; i >= 0 && name_in(parameters, t) != NULL; i--) {
        for (int j = 0; j < drawn[i]->input_count; j++) {
            if (drawn[i]->inputs[j] == t) {
                return heed_origin_path(drawn[i]);
            }
        }
    }
    return heed_origin_path(t);
}

/* Elements in torch's format, without "tensor(", the dtype and ")". */
static void put_values(const char *title, const char *color, const heed_tensor *t)
{
    enum { BEFORE = sizeof "tensor(" - 1 };
    char text[512];
    if (t == NULL || t->storage == NULL) {
        return;
    }
    heed_tensor plain = *t; /* without its graph */
    plain.op = NULL;
    plain.requires_grad = false;
    heed_snprint(text, sizeof text, &plain, .precision = 3);
    const char *dtype = strstr(text, ", dtype=");
    const size_t end = dtype != NULL ? (size_t)(dtype - text) : strcspn(text, ")");
    const char *gap = memchr(text, '\n', end) != NULL ? "<BR/>" : "&#160;";
    printf("<BR/><FONT COLOR=\"%s\" POINT-SIZE=\"10\">%s%s", color, title,
           *title != '\0' ? gap : "");
    for (size_t i = BEFORE; i < end; i++) {
        if (text[i] == '\n') {
            i += BEFORE; /* the indentation */
            fputs("<BR/>", stdout);
        } else {
            text[i] == ' ' ? fputs("&#160;", stdout) : putchar(text[i]);
        }
    }
    fputs("</FONT>", stdout);
}

static void put_node(int i, heed_tensor_list names, heed_tensor_list parameters)
{
    const heed_tensor *t = drawn[i], *gradient = t->grad;
    const char *name = name_in(names, t) != NULL ? name_in(names, t) : name_in(parameters, t);
    const heed_text path = frame_of(parameters, t);
    int frames = 0;
    for (const char *part = path.text; *part != '\0'; frames++) { /* outermost first */
        const int length = (int)strcspn(part, ".");
        printf("subgraph \"cluster_%.*s\" { label=<%.*s> ", (int)(part - path.text) + length,
               path.text, length, part);
        part += length + (part[length] == '.');
    }
    for (int j = 0; j < result_count; j++) {
        gradient = results[j] == t ? gradients[j] : gradient;
    }
    printf("n%d [label=<", i);
    printf(name != NULL ? "<B>%s</B>" : "%s", name != NULL ? name : "");
    if (t->op != NULL) {
        const heed_text args = heed_args_text(t->op, t->args);
        printf("%s<B>%s</B>%s%s", name != NULL ? "&#160;=&#160;" : "", t->op->name,
               *args.text != '\0' ? "&#160;" : "", args.text);
    }
    printf("<BR/>%s%s%s", t->dtype != HEED_F32 ? heed_dtype_name(t->dtype) : "",
           t->dtype != HEED_F32 ? " " : "", heed_shape_text(t->ndim, t->shape).text);
    put_values("", "#1B4F8C", t);
    put_values("gradient", "#A03030", gradient);
    printf(">, style=\"filled%s\", fillcolor=\"%s\"%s];", t->op != NULL ? ",rounded" : "",
           t->op != NULL      ? "#EAF1FB"
           : t->requires_grad ? "#E5F4E3"
                              : "#F2F2F2",
           i == 0 ? ", penwidth=2" : "");
    while (frames-- > 0) {
        fputs(" }", stdout);
    }
    putchar('\n');
}

/* Writes the graph of y. The parameters of the module (NULL: none) have frames. */
static void draw(heed_tensor *y, void *module, heed_tensor_list names)
{
    const heed_tensor_list none = {0};
    const heed_tensor_list parameters = module != NULL ? heed_state_dict(module) : none;
    collect(y);
    puts("digraph heed {\n"
         "graph [fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, labelloc=t, "
         "bgcolor=\"white\", color=\"#9A9A9A\", style=rounded];\n"
         "node [fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, shape=box, "
         "color=\"#5A6B80\", margin=\"0.12,0.06\"];\n"
         "edge [fontname=\"Helvetica,Arial,sans-serif\", fontsize=9, color=\"#5A6B80\", "
         "fontcolor=\"#5A6B80\", arrowsize=0.7];");
    for (int i = drawn_count - 1; i >= 0; i--) {
        put_node(i, names, parameters);
    }
    for (int i = drawn_count - 1; i >= 0; i--) {
        for (int j = 0; j < drawn[i]->input_count; j++) {
            printf("n%d -> n%d", index_of(drawn[i]->inputs[j]), i);
            if (drawn[i]->op->signature != NULL && drawn[i]->input_count > 1) {
                printf(" [label=<&#160;%s>]", heed_input_name(drawn[i]->op, j).text);
            }
            puts(";");
        }
    }
    puts("}");
}

/* ---- the two graphs ---- */

static void draw_tanh(void)
{
    heed_tensor *w = heed_set_requires_grad(heed_scalar(0.5, HEED_F32), true);
    heed_tensor *x = heed_set_requires_grad(heed_scalar(2, HEED_F32), true);
    heed_tensor *b = heed_set_requires_grad(heed_scalar(-0.4, HEED_F32), true);

    heed_hook_add(&hook);
    heed_tensor *y = heed_tanh(heed_add(heed_mul(w, x), b));
    heed_backward_retain(y);

    heed_tensor *tensors[] = {w, x, b, y};
    const char *names[] = {"w", "x", "b", "y"};
    draw(y, NULL, (heed_tensor_list){4, tensors, names});
    release_all();
}

static void draw_attention(void)
{
    heed_manual_seed(42);
    struct heed_self_attention *m = heed_self_attention_new(2, 0, 1);
    heed_tensor *token_encodings =
        heed_from_f32((float[]){1.16f, 0.23f, 0.57f, 1.36f, 4.41f, -2.16f}, HEED_SHAPE(3, 2));
    heed_tensor *block_mask = heed_causal_block_mask(3);

    heed_hook_add(&hook);
    heed_tensor *scores = heed_self_attention_forward(m, token_encodings, block_mask);
    heed_tensor *loss = heed_sum(heed_square(scores));
    heed_backward_retain(loss);

    heed_tensor *tensors[] = {
        token_encodings,
        block_mask,
        result("SelfAttention.W_q", "linear", 0),
        result("SelfAttention.W_k", "linear", 0),
        result("SelfAttention.W_v", "linear", 0),
        result("SelfAttention", "matmul", 0),
        result("SelfAttention", "div_scalar", 0),
        result("SelfAttention", "safe_softmax", 0),
        scores,
        loss,
    };
    const char *names[] = {
        "token_encodings",   "block_mask",       "q",   "k", "v", "sims", "scaled_sims",
        "attention_percent", "attention_scores", "loss"};
    draw(loss, m, (heed_tensor_list){10, tensors, names});
    release_all();
    heed_module_free(m);
}

static const char help[] =
    "usage: graph tanh|attention [--trace]\n"
    "\n"
    "Draws the graph of tanh(w x + b), or of SelfAttention with a causal mask, for Graphviz.\n"
    "\n"
    "  --trace    print each operation to stderr as it is computed\n"
    "  --help     show this help\n"
    "  --version  print the version, the compiler and the instruction set\n"
    "\n"
    "  graph tanh > tanh.dot\n"
    "  graph attention | dot -Tsvg > attention.svg\n";

int main(int argc, char **argv)
{
    heed_on_error(heed_die);
    HEED_SCOPE(scope);
    const char *which = argc > 1 ? argv[1] : "";
    if (argc > 2 && strcmp(argv[2], "--trace") == 0) {
        heed_trace(stderr);
    }
    if (strcmp(which, "tanh") == 0) {
        draw_tanh();
    } else if (strcmp(which, "attention") == 0) {
        draw_attention();
    } else if (strcmp(which, "--version") == 0) {
        puts(heed_build_info().text);
    } else if (strcmp(which, "--help") == 0) {
        fputs(help, stdout);
    } else {
        fprintf(stderr, "%.*s\n", (int)strcspn(help, "\n"), help);
        return 2;
    }
    return ferror(stdout) || fflush(stdout) != 0;
}
