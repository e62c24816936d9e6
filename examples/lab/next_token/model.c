/* The next-token model: its layers, its attention, and its files. toy.c trains it. */
#include "examples/lab/next_token/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/common/flags.h"

static const heed_module_kind kind = {.name = "NextToken", .size = sizeof(struct token_model)};

struct token_model *model_new(model_sizes sizes)
{
    struct token_model *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    const int64_t d_model = sizes.d_model;
    m->sizes = sizes;
    HEED_CHILD(m, we, heed_embedding_new(sizes.words, d_model));
    HEED_CHILD(m, pe, heed_position_encoding_new(d_model, sizes.context));
    if (sizes.heads == 1) {
        HEED_CHILD(m, self_attention, heed_self_attention_new(d_model, -2, -1));
    } else {
        HEED_CHILD(
            m, multi_head,
            heed_multi_head_new(d_model, sizes.heads, -2, -1, .head_dim = d_model / sizes.heads));
    }
    HEED_CHILD(m, fc_layer, heed_linear_new(d_model, sizes.words));
    return m;
}

/* tokens (B, T) -> the input of the linear layer (B, T, d_model). */
static heed_tensor *encode(struct token_model *m, heed_tensor *tokens)
{
    heed_tensor *embeddings = heed_embedding_forward(m->we, tokens);
    heed_tensor *encodings = heed_position_encoding_forward(m->pe, embeddings);
    heed_tensor *mask = heed_causal_block_mask(heed_size(tokens, -1)); /* (T, T) */
    heed_tensor *attended = m->multi_head != NULL
                                ? heed_multi_head_forward(m->multi_head, encodings, mask)
                                : heed_self_attention_forward(m->self_attention, encodings, mask);
    return heed_add(encodings, attended);
}

heed_tensor *model_forward(struct token_model *m, heed_tensor *tokens)
{
    return heed_linear_forward(m->fc_layer, encode(m, tokens));
}

heed_tensor *model_loss_of(heed_tensor *logits, heed_tensor *rows)
{
    heed_tensor *targets = heed_slice(rows, 1, 1, INT64_MAX, 1);
    return heed_cross_entropy(heed_reshape(logits, HEED_SHAPE(-1, heed_size(logits, -1))),
                              heed_reshape(targets, HEED_SHAPE(-1)));
}

heed_tensor *model_loss(struct token_model *m, heed_tensor *rows)
{
    return model_loss_of(model_forward(m, heed_slice(rows, 1, 0, -1, 1)), rows);
}

/* ---- inspecting a model ---- */

int model_head_count(const struct token_model *m)
{
    return m->multi_head != NULL ? heed_module_list_count(m->multi_head->heads) : 1;
}

struct heed_self_attention *model_head(struct token_model *m, int head)
{
    return m->multi_head != NULL ? heed_multi_head_head(m->multi_head, head) : m->self_attention;
}

void model_keep_weights(struct token_model *m, bool keep)
{
    for (int head = 0; head < model_head_count(m); head++) {
        model_head(m, head)->keep_weights = keep;
    }
}

heed_tensor *model_attention(struct token_model *m, const int64_t *tokens, int64_t count)
{
    heed_tensor *weights[MODEL_MOST_HEADS];
    const int heads = model_head_count(m);
    HEED_SCOPE_NO_GRAD(scope);
    model_keep_weights(m, true);
    encode(m, heed_from_i64(tokens, HEED_SHAPE(count)));
    model_keep_weights(m, false);
    for (int head = 0; head < heads; head++) {
        weights[head] = heed_unsqueeze(model_head(m, head)->attention_percent, 0);
    }
    return heed_scope_keep(&scope, heed_cat(weights, heads, 0));
}

/* ---- files ---- */

static const char format[] = "heed next_token 1";

model_text model_words(const toy_language *language)
{
    model_text words = {""};
    size_t length = 0;
    for (int id = 0; id < language->word_count; id++) {
        length += (size_t)snprintf(words.text + length, sizeof words.text - length, "%s%s",
                                   id > 0 ? " " : "", language->words[id]);
    }
    return words;
}

/* True if the file's metadata has this value. */
static bool says(const heed_safetensors *file, const char *key, const char *value)
{
    const char *text = heed_safetensors_metadata(file, key);
    return text != NULL && strcmp(text, value) == 0;
}

/* A whole number from 1 to `most`; 0 if invalid. */
static int64_t read_size(const heed_safetensors *file, const char *key, int64_t most)
{
    const char *text = heed_safetensors_metadata(file, key);
    char *end = NULL;
    const int64_t size = text != NULL && *text >= '1' && *text <= '9' ? strtoll(text, &end, 10) : 0;
    return size >= 1 && size <= most && *end == '\0' ? size : 0;
}

model_sizes model_sizes_in(const char *path, const toy_language *language)
{
    model_sizes sizes = {.words = language->word_count};
    heed_safetensors *file = heed_safetensors_open(path);
    if (file == NULL) {
        flags_blame("--load", HEED_ERR_VALUE);
        return sizes;
    }
    sizes.context = read_size(file, "context", 4096);
    sizes.d_model = read_size(file, "d_model", 4096);
    sizes.heads = (int)read_size(file, "heads", MODEL_MOST_HEADS);
    if (!says(file, "format", format) || sizes.context == 0 || sizes.d_model == 0 ||
        sizes.heads == 0) {
        heed_fail(HEED_ERR_VALUE, "--load: %s: not a model written by --save", path);
    } else if (sizes.context != TOY_LENGTH - 1 ||
               !says(file, "vocabulary", model_words(language).text)) {
        heed_fail(HEED_ERR_VALUE, "--load: %s: the model is not of the toy's sentences", path);
    }
    heed_safetensors_close(file);
    return sizes;
}

heed_status model_load(const char *path, struct token_model *m)
{
    heed_load_state_dict(m, path);
    return flags_blame("--load", HEED_ERR_VALUE);
}

heed_status model_save(const char *path, struct token_model *m, const toy_language *language)
{
    char context[24], d_model[24], heads[24];
    const model_text words = model_words(language);
    snprintf(context, sizeof context, "%lld", (long long)m->sizes.context);
    snprintf(d_model, sizeof d_model, "%lld", (long long)m->sizes.d_model);
    snprintf(heads, sizeof heads, "%d", m->sizes.heads);
    const heed_metadata about[] = {{"format", format},   {"task", "toy"},
                                   {"context", context}, {"d_model", d_model},
                                   {"heads", heads},     {"vocabulary", words.text},
                                   {NULL, NULL}};
    heed_save_state_dict(m, path, about);
    return flags_blame("--save", HEED_ERR_FILE);
}
