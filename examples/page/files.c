/* Files that the page opens and saves. */
#include <string.h>

#include "examples/page/parts.h"

/* The number of heads.N.W_q.weight in the file. */
static int count_heads(const heed_safetensors *file)
{
    int heads = 0;
    for (int i = 0; i < heed_safetensors_count(file); i++) {
        const char *name = heed_safetensors_name(file, i);
        heads += strncmp(name, "heads.", 6) == 0 && strstr(name, ".W_q.weight") != NULL;
    }
    return heads;
}

static bool has_tensor(const heed_safetensors *file, const char *name)
{
    for (int i = 0; i < heed_safetensors_count(file); i++) {
        if (strcmp(heed_safetensors_name(file, i), name) == 0) {
            return true;
        }
    }
    return false;
}

/* The attention module of a file. */
static void open_alone(const heed_safetensors *file, const char *path)
{
    const int heads = count_heads(file);
    const char *name = heads > 0 ? "heads.0.W_q.weight" : "W_q.weight";
    if (!has_tensor(file, name)) {
        heed_fail(HEED_ERR_VALUE,
                  "the file has no W_q.weight (SelfAttention), heads.0.W_q.weight (MultiHead) or "
                  "we.weight (a model that this page saved)");
        return;
    }
    const heed_tensor *W_q = heed_safetensors_tensor(file, name);
    if (W_q != NULL && W_q->ndim != 2) {
        heed_fail(HEED_ERR_SHAPE, "%s is %s; it must be (head_dim, d_model)", name,
                  heed_shape_text(W_q->ndim, W_q->shape).text);
    }
    if (heed_error_pending()) {
        return;
    }
    network net = network_of_attention(W_q->shape[1], W_q->shape[0], heads);
    net.concatenates = heads > 0 && !has_tensor(file, "W_o.weight");
    const heed_tensor_list wanted = heed_state_dict(network_module(&net));
    for (int i = 0; i < wanted.count - net.concatenates && !heed_error_pending(); i++) {
        if (!has_tensor(file, wanted.names[i])) {
            heed_fail(HEED_ERR_VALUE, "the file has %s, but no %s", name, wanted.names[i]);
        }
    }
    if (!heed_error_pending()) {
        heed_load_state_dict(network_module(&net), path, .no_strict = net.concatenates);
    }
    set_alone(net);
}

/* The model of a file into the run. */
static void open_model(const char *path)
{
    const model_sizes sizes = model_sizes_in(path, &run.language);
    if (!heed_error_pending() && sizes.d_model != D_MODEL) {
        heed_fail(HEED_ERR_VALUE, "the model in the file is of d_model %lld, not %d",
                  (long long)sizes.d_model, D_MODEL);
    }
    if (!heed_error_pending()) {
        run_load(path, sizes);
    }
}

/* Errors of examples/lab/next_token/model.c begin with next_token's flag for the file. */
static void drop_flag(void)
{
    static const char flag[] = "--load: ";
    const heed_status status = heed_error_pending();
    const char *message = heed_error_message();
    if (status != HEED_OK && strncmp(message, flag, strlen(flag)) == 0) {
        char rest[4096];
        snprintf(rest, sizeof rest, "%s", message + strlen(flag));
        heed_error();
        heed_fail(status, "%s", rest);
    }
}

EXPORT(page_open) const char *page_open(const char *path)
{
    HEED_SCOPE(scope);
    heed_safetensors *file = heed_safetensors_open(path);
    const bool is_model = file != NULL && has_tensor(file, "we.weight");
    if (!is_model) {
        if (file != NULL) {
            open_alone(file, path);
        }
    } else if (run_exists()) {
        open_model(path);
        drop_flag();
    }
    heed_safetensors_close(file);
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    const network *net = is_model ? &run.now.net : &alone;
    const heed_tensor *W_q = network_head(net, 0)->W_q->weight;
    fprintf(json,
            "{\"kind\":\"%s\",\"d_model\":%lld,\"head_dim\":%lld,\"heads\":%d,"
            "\"concatenates\":%s}\n",
            is_model                  ? "model"
            : net->multi_head != NULL ? "multi_head"
                                      : "self_attention",
            (long long)W_q->shape[1], (long long)W_q->shape[0], network_head_count(net),
            net->concatenates ? "true" : "false");
    return end_text(json);
}

EXPORT(page_state) const char *page_state(void)
{
    FILE *json = run_exists() ? begin_text() : NULL;
    if (json == NULL) {
        return NULL;
    }
    const heed_tensor_list state = heed_state_dict(run.now.net.model);
    fprintf(json, "{\"tensors\":[");
    for (int i = 0; i < state.count; i++) {
        const heed_tensor *t = state.tensors[i];
        fprintf(json, "%s\n{\"name\":\"%s\",\"shape\":", i > 0 ? "," : "", state.names[i]);
        write_list(json, t->shape, t->ndim);
        fprintf(json, ",\"at\":%llu}", (unsigned long long)(uintptr_t)t->data);
    }
    fprintf(
        json,
        "],\n\"metadata\":{\"format\":\"heed next_token 1\",\"task\":\"toy\",\"context\":\"%d\","
        "\"d_model\":\"%d\",\"heads\":\"%d\",\"vocabulary\":\"%s\"}}\n",
        CONTEXT, D_MODEL, network_head_count(&run.now.net), model_words(&run.language).text);
    return end_text(json);
}
