/* Reads and writes config.json of a GPT-2. Rejects unsupported settings, naming the key, because
 * the weights would load but the model would compute something else. */
#include "gpt_config.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../autograd/ops/elementwise.h"
#include "../../tensor/alloc.h"
#include "../../tensor/text.h"
#include "../../tools/files/file_io.h"
#include "../../tools/files/json.h"

enum { MOST_CONFIG = 16000000 }; /* bytes; typical files have about 1000 */

/* transformers' names; the first name of each function is written. */
static const struct {
    const char *name;
    heed_activation_function *function;
} activations[] = {{"gelu_new", heed_gelu_tanh}, {"gelu_pytorch_tanh", heed_gelu_tanh},
                   {"gelu", heed_gelu},          {"relu", heed_relu},
                   {"silu", heed_silu},          {"swish", heed_silu},
                   {"tanh", heed_tanh},          {"sigmoid", heed_sigmoid}};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

/* ---- the keys ---- */

typedef struct settings {
    int64_t vocab_size, n_positions, n_embd, n_layer, n_head, n_inner; /* n_inner -1: null */
    double layer_norm_epsilon, attn_pdrop, resid_pdrop, embd_pdrop;
    bool scale_attn_weights, scale_by_layer, add_cross_attention, tie_word_embeddings;
    const char *activation_function, *model_type;
} settings;

/* transformers' defaults for missing keys. */
static const settings defaults = {.vocab_size = 50257,
                                  .n_positions = 1024,
                                  .n_embd = 768,
                                  .n_layer = 12,
                                  .n_head = 12,
                                  .n_inner = -1,
                                  .layer_norm_epsilon = 1e-5,
                                  .attn_pdrop = 0.1,
                                  .resid_pdrop = 0.1,
                                  .embd_pdrop = 0.1,
                                  .scale_attn_weights = true,
                                  .tie_word_embeddings = true,
                                  .activation_function = "gelu_new",
                                  .model_type = "gpt2"};

/* reorder_and_upcast_attn is ignored: it only changes the order of two factors. */
static const heed_json_key keys[] = {
#define KEY(name, type, field)                                                                     \
    {                                                                                              \
        name, HEED_JSON_##type, offsetof(settings, field)                                          \
    }
    KEY("vocab_size", NUMBER, vocab_size),
    KEY("n_positions", NUMBER, n_positions),
    KEY("max_position_embeddings", NUMBER, n_positions),
    KEY("n_embd", NUMBER, n_embd),
    KEY("hidden_size", NUMBER, n_embd),
    KEY("n_layer", NUMBER, n_layer),
    KEY("num_hidden_layers", NUMBER, n_layer),
    KEY("n_head", NUMBER, n_head),
    KEY("num_attention_heads", NUMBER, n_head),
    KEY("n_inner", NUMBER_OR_NULL, n_inner),
    KEY("layer_norm_epsilon", REAL, layer_norm_epsilon),
    KEY("attn_pdrop", REAL, attn_pdrop),
    KEY("resid_pdrop", REAL, resid_pdrop),
    KEY("embd_pdrop", REAL, embd_pdrop),
    KEY("scale_attn_weights", BOOL, scale_attn_weights),
    KEY("scale_attn_by_inverse_layer_idx", BOOL, scale_by_layer),
    KEY("add_cross_attention", BOOL, add_cross_attention),
    KEY("tie_word_embeddings", BOOL, tie_word_embeddings),
    KEY("activation_function", STRING, activation_function),
    KEY("model_type", STRING, model_type),
    {NULL, HEED_JSON_STRING, 0},
};

/* ---- reading ---- */

typedef struct reader {
    const char *function, *path;
    settings said;
} reader;

#define FAIL(r, ...)                                                                               \
    (heed_fail_at(HEED_ERR_VALUE, (r)->function, (r)->path, __VA_ARGS__) == HEED_OK)

/* All integers but n_inner are sizes. */
static bool check_sizes(const reader *r)
{
    const settings *s = &r->said;
    for (const heed_json_key *k = keys; k->name != NULL; k++) {
        const int64_t *size = (const void *)((const char *)s + k->offset);
        if (k->type == HEED_JSON_NUMBER && (*size < 1 || *size > INT_MAX)) {
            return FAIL(r, "'%s' is %lld; it must be from 1 to %d", k->name, (long long)*size,
                        INT_MAX);
        }
    }
    if (s->n_embd % s->n_head != 0) {
        return FAIL(r, "'n_head' %lld does not divide n_embd %lld", (long long)s->n_head,
                    (long long)s->n_embd);
    }
    return s->n_inner == -1 || s->n_inner == 4 * s->n_embd ||
           FAIL(r, "'n_inner' is %lld; a heed_gpt supports only 4 n_embd, %lld",
                (long long)s->n_inner, (long long)(4 * s->n_embd));
}

static bool check_numbers(const reader *r)
{
    const settings *s = &r->said;
    if (s->layer_norm_epsilon <= 0) {
        return FAIL(r, "'layer_norm_epsilon' is %g; it must be above 0", s->layer_norm_epsilon);
    }
    if (s->attn_pdrop < 0 || s->attn_pdrop > 1) {
        return FAIL(r, "'attn_pdrop' is %g, which is outside [0, 1]", s->attn_pdrop);
    }
    return (s->attn_pdrop == s->resid_pdrop && s->attn_pdrop == s->embd_pdrop) ||
           FAIL(r,
                "'attn_pdrop' is %g, resid_pdrop %g and embd_pdrop %g; a heed_gpt has a single "
                "dropout: set all three to the same value, which matters only in training",
                s->attn_pdrop, s->resid_pdrop, s->embd_pdrop);
}

/* Of the flags, only tie_word_embeddings may differ from its default. */
static bool check_words(const reader *r)
{
    const settings *s = &r->said;
    for (const heed_json_key *k = keys; k->name != NULL; k++) {
        const bool *flag = (const void *)((const char *)s + k->offset);
        const bool *usual = (const void *)((const char *)&defaults + k->offset);
        if (k->type == HEED_JSON_BOOL && flag != &s->tie_word_embeddings && *flag != *usual) {
            return FAIL(r, "'%s' is %s, which a heed_gpt does not support", k->name,
                        *flag ? "true" : "false");
        }
    }
    return strcmp(s->model_type, "gpt2") == 0 ||
           FAIL(r, "'model_type' is '%s', not 'gpt2'", heed_show_name(s->model_type).text);
}

static bool find_activation(const reader *r, heed_activation_function **function)
{
    char names[200] = "";
    for (int i = 0; i < ACTIVATIONS; i++) {
        if (strcmp(activations[i].name, r->said.activation_function) == 0) {
            *function = activations[i].function;
            return true;
        }
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i > 0 ? ", " : "",
                 activations[i].name);
    }
    return FAIL(r, "'activation_function' is '%s'; Heed supports %s",
                heed_show_name(r->said.activation_function).text, names);
}

static void read_text(const char *function, const char *path, char *text, size_t size,
                      heed_gpt_config *config)
{
    heed_json json = {.start = text, .at = text, .end = text + size};
    reader r = {function, path, defaults};
    const settings *s = &r.said;
    heed_activation_function *activation = NULL;
    if (!heed_json_members(&json, keys, true, &r.said) || !heed_json_end(&json)) {
        heed_json_fail(&json, function, path, json.key, "");
    } else if (check_words(&r) && check_sizes(&r) && check_numbers(&r) &&
               find_activation(&r, &activation)) {
        *config = (heed_gpt_config){.vocab_size = s->vocab_size,
                                    .block_size = s->n_positions,
                                    .n_layer = (int)s->n_layer,
                                    .n_head = (int)s->n_head,
                                    .n_embd = s->n_embd,
                                    .dropout = s->attn_pdrop,
                                    .layer_norm_eps = s->layer_norm_epsilon,
                                    .activation = activation,
                                    .untied = !s->tie_word_embeddings};
    }
}

heed_status heed_gpt_config_read(const char *function, const char *path, heed_gpt_config *config)
{
    heed_file_reader in;
    if (heed_reader_open(&in, function, path) == HEED_OK && in.size > MOST_CONFIG) {
        heed_fail_at(HEED_ERR_FORMAT, function, path,
                     "it is too long for a config.json (%lld bytes)", (long long)in.size);
    }
    char *text = heed_error_pending() ? NULL : heed_alloc_zeroed((size_t)in.size + 1);
    if (text != NULL) {
        if (heed_reader_read(&in, function, text, in.size, 0) == HEED_OK) {
            read_text(function, path, text, (size_t)in.size, config);
        }
        heed_free(text);
    }
    heed_reader_close(&in);
    return heed_error_pending();
}

/* ---- writing ---- */

/* The shortest decimal that reads back as x, with a decimal point or an exponent as in JSON and
 * Python. */
static heed_text real_text(double x)
{
    HEED_DECIMAL_POINT;
    heed_text text;
    int digits = 1;
    do {
        snprintf(text.text, sizeof text.text, "%.*g", digits, x);
    } while (strtod(text.text, NULL) != x && ++digits <= 17);
    if (text.text[strspn(text.text, "-0123456789")] == '\0') {
        strcat(text.text, ".0");
    }
    return text;
}

static const char *activation_name(heed_activation_function *function)
{
    for (int i = 0; i < ACTIVATIONS; i++) {
        if (activations[i].function == function) {
            return activations[i].name;
        }
    }
    return NULL;
}

/* Keys are sorted, as transformers writes them. */
static int print_config(char *text, size_t size, const struct heed_gpt *m, const char *activation)
{
    const heed_gpt_config *c = &m->config;
    const heed_dtype dtype = m->transformer->wte->weight->dtype;
    const heed_text dropout = real_text(c->dropout), eps = real_text(m->transformer->ln_f->eps);
    return snprintf(text, size,
                    "{\n"
                    "  \"activation_function\": \"%s\",\n"
                    "  \"add_cross_attention\": false,\n"
                    "  \"architectures\": [\n"
                    "    \"GPT2LMHeadModel\"\n"
                    "  ],\n"
                    "  \"attn_pdrop\": %s,\n"
                    "  \"bos_token_id\": null,\n"
                    "  \"dtype\": \"%s\",\n"
                    "  \"embd_pdrop\": %s,\n"
                    "  \"eos_token_id\": null,\n"
                    "  \"initializer_range\": 0.02,\n"
                    "  \"layer_norm_epsilon\": %s,\n"
                    "  \"model_type\": \"gpt2\",\n"
                    "  \"n_embd\": %lld,\n"
                    "  \"n_head\": %d,\n"
                    "  \"n_inner\": null,\n"
                    "  \"n_layer\": %d,\n"
                    "  \"n_positions\": %lld,\n"
                    "  \"reorder_and_upcast_attn\": false,\n"
                    "  \"resid_pdrop\": %s,\n"
                    "  \"scale_attn_by_inverse_layer_idx\": false,\n"
                    "  \"scale_attn_weights\": true,\n"
                    "  \"tie_word_embeddings\": %s,\n"
                    "  \"vocab_size\": %lld\n"
                    "}\n",
                    activation, dropout.text, dtype == HEED_F64 ? "float64" : "float32",
                    dropout.text, eps.text, (long long)c->n_embd, c->n_head, c->n_layer,
                    (long long)c->block_size, dropout.text, heed_gpt_is_tied(m) ? "true" : "false",
                    (long long)c->vocab_size);
}

bool heed_gpt_is_tied(const struct heed_gpt *m)
{
    return m->lm_head->weight == m->transformer->wte->weight;
}

heed_status heed_gpt_config_check(const char *function, const struct heed_gpt *m)
{
    return activation_name(m->config.activation) != NULL
               ? HEED_OK
               : heed_fail(HEED_ERR_VALUE,
                           "%s: the model's activation has no name in transformers; use "
                           "heed_gelu_tanh, heed_gelu, heed_relu, heed_silu, heed_tanh or "
                           "heed_sigmoid",
                           function);
}

heed_status heed_gpt_config_write(const char *function, const char *path, const struct heed_gpt *m)
{
    char text[2000];
    heed_atomic_file file;
    const int length = print_config(text, sizeof text, m, activation_name(m->config.activation));
    heed_atomic_begin(&file, function, path);
    heed_atomic_write(&file, text, (size_t)length);
    return heed_atomic_end(&file);
}
