/* Draws the graph of tanh(w x + b), or of SelfAttention with a causal mask, for Graphviz.
 *
 *     build/graph tanh > tanh.dot
 *     build/graph attention | dot -Tsvg > attention.svg
 *     build/graph attention --trace > attention.dot     # also prints each operation to stderr
 */
#include <stdio.h>
#include <string.h>

#include "heed.h"

static void draw_tanh(void)
{
    heed_tensor *w = heed_set_requires_grad(heed_scalar(0.5, HEED_F32), true);
    heed_tensor *x = heed_set_requires_grad(heed_scalar(2, HEED_F32), true);
    heed_tensor *b = heed_set_requires_grad(heed_scalar(-0.4, HEED_F32), true);

    heed_recording *r = heed_recording_begin();
    heed_tensor *y = heed_tanh(heed_add(heed_mul(w, x), b));
    heed_backward(y);

    heed_tensor *tensors[] = {w, x, b, y};
    const char *names[] = {"w", "x", "b", "y"};
    heed_graph_dot(stdout, y, (heed_graph_options){.names = {4, tensors, names}, .recording = r});
    heed_recording_free(r);
}

static heed_tensor *result(const heed_recording *r, const char *path, const char *operation, int n)
{
    return heed_recording_find(r, path, operation, n)->result;
}

static void draw_attention(void)
{
    heed_manual_seed(42);
    struct heed_self_attention *m = heed_self_attention_new(2, 0, 1);
    heed_tensor *token_encodings =
        heed_from_f32((float[]){1.16f, 0.23f, 0.57f, 1.36f, 4.41f, -2.16f}, HEED_SHAPE(3, 2));
    heed_tensor *block_mask = heed_causal_block_mask(3);

    heed_recording *r = heed_recording_begin();
    heed_tensor *scores = heed_self_attention_forward(m, token_encodings, block_mask);
    heed_tensor *loss = heed_sum(heed_square(scores));
    heed_backward(loss);

    heed_tensor *tensors[] = {
        token_encodings,
        block_mask,
        result(r, "SelfAttention.W_q", "linear", 0),
        result(r, "SelfAttention.W_k", "linear", 0),
        result(r, "SelfAttention.W_v", "linear", 0),
        result(r, "SelfAttention", "matmul", 0),
        result(r, "SelfAttention", "div_scalar", 0),
        result(r, "SelfAttention", "safe_softmax", 0),
        scores,
        loss,
    };
    const char *names[] = {
        "token_encodings",   "block_mask",       "q",   "k", "v", "sims", "scaled_sims",
        "attention_percent", "attention_scores", "loss"};
    heed_graph_dot(
        stdout, loss,
        (heed_graph_options){.module = m, .names = {10, tensors, names}, .recording = r});
    heed_recording_free(r);
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
