/* Reads and writes config.json of a GPT-2. Rejects unsupported settings, naming the key, because
 * the weights would load but the model would compute something else. */
#include "gpt_config.h"

#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../autograd/ops/elementwise.h"
#include "../../tensor/alloc.h"
#include "../files/atomic_file.h"
#include "../files/file_error.h"
#include "../files/file_reader.h"
#include "../files/json.h"

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

typedef enum value_kind { WHOLE, WHOLE_OR_NULL, REAL, TRUTH, TEXT } value_kind;

/* reorder_and_upcast_attn is ignored: it only changes the order of two factors. */
static const struct key {
    const char *name;
    value_kind kind;
    size_t offset; /* in settings; synonyms share one */
} keys[] = {
#define KEY(name, kind, field)                                                                     \
    {                                                                                              \
        name, kind, offsetof(settings, field)                                                      \
    }
    KEY("vocab_size", WHOLE, vocab_size),
    KEY("n_positions", WHOLE, n_positions),
    KEY("max_position_embeddings", WHOLE, n_positions),
    KEY("n_embd", WHOLE, n_embd),
    KEY("hidden_size", WHOLE, n_embd),
    KEY("n_layer", WHOLE, n_layer),
    KEY("num_hidden_layers", WHOLE, n_layer),
    KEY("n_head", WHOLE, n_head),
    KEY("num_attention_heads", WHOLE, n_head),
    KEY("n_inner", WHOLE_OR_NULL, n_inner),
    KEY("layer_norm_epsilon", REAL, layer_norm_epsilon),
    KEY("attn_pdrop", REAL, attn_pdrop),
    KEY("resid_pdrop", REAL, resid_pdrop),
    KEY("embd_pdrop", REAL, embd_pdrop),
    KEY("scale_attn_weights", TRUTH, scale_attn_weights),
    KEY("scale_attn_by_inverse_layer_idx", TRUTH, scale_by_layer),
    KEY("add_cross_attention", TRUTH, add_cross_attention),
    KEY("tie_word_embeddings", TRUTH, tie_word_embeddings),
    KEY("activation_function", TEXT, activation_function),
    KEY("model_type", TEXT, model_type),
};
enum { KEYS = sizeof keys / sizeof *keys };

/* ---- reading ---- */

typedef struct reader {
    heed_json json;
    const char *function, *path;
    const char *name; /* of the key being read, or NULL */
    settings said;
    bool seen[sizeof(settings)]; /* by offset */
} reader;

/* "function: path: 'key' what is wrong" */
HEED_PRINTF(3, 4)
static bool fail(const reader *r, heed_status status, const char *format, ...)
{
    char what[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    const bool named = r->name != NULL;
    heed_fail_at(status, r->function, r->path, "%s%s%s%s", named ? "'" : "",
                 named ? heed_show_name(r->name).text : "", named ? "' " : "", what);
    return false;
}

static void read_value(heed_json *json, value_kind kind, void *to)
{
    switch (kind) {
    case WHOLE:
    case WHOLE_OR_NULL:
        *(int64_t *)to =
            kind == WHOLE_OR_NULL && heed_json_null(json) ? -1 : heed_json_number(json);
        break;
    case REAL:
        *(double *)to = heed_json_real(json);
        break;
    case TRUTH:
        *(bool *)to = heed_json_bool(json);
        break;
    case TEXT:
        *(const char **)to = heed_json_string(json);
        break;
    }
}

static bool read_member(reader *r)
{
    r->name = heed_json_string(&r->json);
    int i = 0;
    while (r->name != NULL && i < KEYS && strcmp(keys[i].name, r->name) != 0) {
        i++;
    }
    if (!heed_json_take(&r->json, ':')) {
        return false;
    }
    if (i == KEYS) {
        heed_json_skip(&r->json);
        return r->json.wrong == NULL;
    }
    if (r->seen[keys[i].offset]) {
        return fail(r, HEED_ERR_FORMAT, "appears twice, perhaps under a synonym");
    }
    r->seen[keys[i].offset] = true;
    read_value(&r->json, keys[i].kind, (char *)&r->said + keys[i].offset);
    return r->json.wrong == NULL;
}

static bool read_all(reader *r)
{
    heed_json_take(&r->json, '{');
    for (bool first = true; heed_json_more(&r->json, '}', &first);) {
        if (!read_member(r)) {
            break;
        }
        r->name = NULL;
    }
    return !heed_error_pending() &&
           (heed_json_end(&r->json) ||
            fail(r, HEED_ERR_FORMAT, "%sat byte %lld: %s", r->name != NULL ? "is wrong: " : "",
                 (long long)(r->json.at - r->json.start), r->json.wrong));
}

/* ---- checks ---- */

static bool check_sizes(reader *r)
{
    const settings *s = &r->said;
    const struct {
        const char *name;
        int64_t size;
    } sizes[] = {{"vocab_size", s->vocab_size},
                 {"n_positions", s->n_positions},
                 {"n_embd", s->n_embd},
                 {"n_layer", s->n_layer},
                 {"n_head", s->n_head}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        r->name = sizes[i].name;
        if (sizes[i].size < 1 || sizes[i].size > INT_MAX) {
            return fail(r, HEED_ERR_VALUE, "is %lld; it must be from 1 to %d",
                        (long long)sizes[i].size, INT_MAX);
        }
    }
    if (s->n_embd % s->n_head != 0) {
        return fail(r, HEED_ERR_VALUE, "%lld does not divide n_embd %lld", (long long)s->n_head,
                    (long long)s->n_embd);
    }
    r->name = "n_inner";
    return s->n_inner == -1 || s->n_inner == 4 * s->n_embd ||
           fail(r, HEED_ERR_VALUE, "is %lld; a heed_gpt supports only 4 n_embd, %lld",
                (long long)s->n_inner, (long long)(4 * s->n_embd));
}

static bool check_numbers(reader *r)
{
    const settings *s = &r->said;
    r->name = "layer_norm_epsilon";
    if (s->layer_norm_epsilon <= 0) {
        return fail(r, HEED_ERR_VALUE, "is %g; it must be above 0", s->layer_norm_epsilon);
    }
    r->name = "attn_pdrop";
    if (s->attn_pdrop < 0 || s->attn_pdrop > 1) {
        return fail(r, HEED_ERR_VALUE, "is %g, which is outside [0, 1]", s->attn_pdrop);
    }
    return (s->attn_pdrop == s->resid_pdrop && s->attn_pdrop == s->embd_pdrop) ||
           fail(r, HEED_ERR_VALUE,
                "is %g, resid_pdrop %g and embd_pdrop %g; a heed_gpt has a single dropout: set all "
                "three to the same value, which matters only in training",
                s->attn_pdrop, s->resid_pdrop, s->embd_pdrop);
}

static bool check_words(reader *r)
{
    const settings *s = &r->said;
    const struct {
        const char *name;
        bool said, wanted;
    } words[] = {{"scale_attn_weights", s->scale_attn_weights, true},
                 {"scale_attn_by_inverse_layer_idx", s->scale_by_layer, false},
                 {"add_cross_attention", s->add_cross_attention, false}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        r->name = words[i].name;
        if (words[i].said != words[i].wanted) {
            return fail(r, HEED_ERR_VALUE, "is %s, which a heed_gpt does not support",
                        words[i].said ? "true" : "false");
        }
    }
    r->name = "model_type";
    return strcmp(s->model_type, "gpt2") == 0 ||
           fail(r, HEED_ERR_VALUE, "is '%s', not 'gpt2'", heed_show_name(s->model_type).text);
}

static bool find_activation(reader *r, heed_activation_function **function)
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
    r->name = "activation_function";
    return fail(r, HEED_ERR_VALUE, "is '%s'; Heed supports %s",
                heed_show_name(r->said.activation_function).text, names);
}

static void read_text(const char *function, const char *path, char *text, size_t size,
                      heed_gpt_config *config)
{
    reader r = {.json = {.start = text, .at = text, .end = text + size},
                .function = function,
                .path = path,
                .said = defaults};
    const settings *s = &r.said;
    heed_activation_function *activation = NULL;
    if (read_all(&r) && check_words(&r) && check_sizes(&r) && check_numbers(&r) &&
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
 * Python, independent of the locale. */
static heed_text real_text(double x)
{
    heed_text text;
    int digits = 1;
    do {
        snprintf(text.text, sizeof text.text, "%.*g", digits, x);
    } while (strtod(text.text, NULL) != x && ++digits <= 17);
    const size_t whole = strspn(text.text, "-0123456789");
    if (text.text[whole] == '\0') {
        strcat(text.text, ".0");
    } else if (text.text[whole] != 'e') {
        const size_t point = strcspn(text.text + whole, "0123456789");
        text.text[whole] = '.';
        memmove(text.text + whole + 1, text.text + whole + point,
                strlen(text.text + whole + point) + 1);
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
