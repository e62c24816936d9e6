/* How a GPT is made: its modules in nanoGPT's order, and GPT-2's initialisation. */
#include "gpt_parts.h"

#include <math.h>
#include <string.h>

#include "../../autograd/ops/elementwise.h"
#include "../../tensor/create.h"
#include "../../tensor/random/random.h"
#include "../checks.h"

/* ---- the parts ---- */

static void forget_weights(void *module)
{
    struct heed_gpt_attention *m = module;
    heed_keep_weights(&m->attention_percent, NULL);
}

static const heed_module_kind attention_kind = {.name = "CausalSelfAttention",
                                                .size = sizeof(struct heed_gpt_attention),
                                                .destroy = forget_weights};
static const heed_module_kind mlp_kind = {.name = "MLP", .size = sizeof(struct heed_gpt_mlp)};
static const heed_module_kind block_kind = {.name = "Block", .size = sizeof(struct heed_gpt_block)};
static const heed_module_kind transformer_kind = {.name = "ModuleDict",
                                                  .size = sizeof(struct heed_gpt_transformer)};

static struct heed_linear *new_linear(const heed_gpt_config *c, int64_t in, int64_t out)
{
    return heed_linear_new_with(in, out, (heed_linear_options){.no_bias = c->no_bias});
}

static struct heed_layer_norm *new_norm(const heed_gpt_config *c)
{
    return heed_layer_norm_new_with(
        HEED_SHAPE(c->n_embd),
        (heed_layer_norm_options){.eps = c->layer_norm_eps, .no_bias = c->no_bias});
}

static struct heed_gpt_attention *new_attention(const heed_gpt_config *c)
{
    struct heed_gpt_attention *m = heed_module_new(&attention_kind);
    if (m == NULL) {
        return NULL;
    }
    heed_add_child(m, "c_attn", &m->c_attn, new_linear(c, c->n_embd, 3 * c->n_embd));
    heed_add_child(m, "c_proj", &m->c_proj, new_linear(c, c->n_embd, c->n_embd));
    heed_add_child(m, "attn_dropout", &m->attn_dropout, heed_dropout_new(c->dropout));
    heed_add_child(m, "resid_dropout", &m->resid_dropout, heed_dropout_new(c->dropout));
    m->n_head = c->n_head;
    return heed_module_ready(m);
}

static struct heed_gpt_mlp *new_mlp(const heed_gpt_config *c)
{
    struct heed_gpt_mlp *m = heed_module_new(&mlp_kind);
    if (m == NULL) {
        return NULL;
    }
    heed_add_child(m, "c_fc", &m->c_fc, new_linear(c, c->n_embd, 4 * c->n_embd));
    heed_add_child(m, "c_proj", &m->c_proj, new_linear(c, 4 * c->n_embd, c->n_embd));
    heed_add_child(m, "dropout", &m->dropout, heed_dropout_new(c->dropout));
    m->activation = c->activation;
    return heed_module_ready(m);
}

static struct heed_gpt_block *new_block(const heed_gpt_config *c)
{
    struct heed_gpt_block *m = heed_module_new(&block_kind);
    if (m == NULL) {
        return NULL;
    }
    heed_add_child(m, "ln_1", &m->ln_1, new_norm(c));
    heed_add_child(m, "attn", &m->attn, new_attention(c));
    heed_add_child(m, "ln_2", &m->ln_2, new_norm(c));
    heed_add_child(m, "mlp", &m->mlp, new_mlp(c));
    return heed_module_ready(m);
}

static struct heed_gpt_transformer *new_transformer(const heed_gpt_config *c)
{
    struct heed_gpt_transformer *m = heed_module_new(&transformer_kind);
    if (m == NULL) {
        return NULL;
    }
    heed_add_child(m, "wte", &m->wte, heed_embedding_new(c->vocab_size, c->n_embd));
    if (c->sinusoidal) {
        heed_add_child(m, "pe", &m->pe, heed_position_encoding_new(c->n_embd, c->block_size));
    } else {
        heed_add_child(m, "wpe", &m->wpe, heed_embedding_new(c->block_size, c->n_embd));
    }
    heed_add_child(m, "drop", &m->drop, heed_dropout_new(c->dropout));
    heed_add_child(m, "h", &m->h, heed_module_list_new());
    for (int i = 0; i < c->n_layer && heed_error_pending() == HEED_OK; i++) {
        heed_module_list_append(m->h, new_block(c));
    }
    heed_add_child(m, "ln_f", &m->ln_f, new_norm(c));
    return heed_module_ready(m);
}

/* ---- initialisation ---- */

bool heed_ends_in(const char *name, const char *end)
{
    const size_t length = strlen(name), of_end = strlen(end);
    return length >= of_end && strcmp(name + length - of_end, end) == 0;
}

/* Over every name, so that a tied weight is drawn twice, as nanoGPT's apply does. */
static void initialise(struct heed_gpt *m)
{
    const double std = 0.02;
    const heed_tensor_list state = heed_state_dict(m);
    for (int i = 0; i < state.count; i++) {
        heed_tensor *t = state.tensors[i];
        if (heed_ends_in(state.names[i], ".bias")) {
            heed_fill_into(t, 0);
        } else if (t->ndim == 2 && t->requires_grad) {
            heed_normal_into(t, 0, std);
        }
    }
    const heed_tensor_list parameters = heed_parameters(m);
    for (int i = 0; i < parameters.count; i++) {
        if (heed_ends_in(parameters.names[i], "c_proj.weight")) {
            heed_normal_into(parameters.tensors[i], 0, std / sqrt(2.0 * m->config.n_layer));
        }
    }
}

/* ---- the model ---- */

static heed_tensor *forward(void *module, heed_tensor *x)
{
    return heed_gpt_forward(module, x);
}

static const heed_module_kind kind = {
    .name = "GPT", .size = sizeof(struct heed_gpt), .forward = forward};

static heed_status check_config(const heed_gpt_config *c)
{
    if (c->vocab_size < 1 || c->block_size < 1 || c->n_layer < 1 || c->n_head < 1 ||
        c->n_embd < 1) {
        return heed_fail(HEED_ERR_VALUE,
                         "gpt: vocab_size %lld, block_size %lld, n_layer %d, n_head %d, n_embd "
                         "%lld; 1 or more each",
                         (long long)c->vocab_size, (long long)c->block_size, c->n_layer, c->n_head,
                         (long long)c->n_embd);
    }
    if (c->n_embd % c->n_head != 0) {
        return heed_fail(HEED_ERR_VALUE,
                         "gpt: n_head %d does not divide n_embd %lld, which the heads share out "
                         "among them",
                         c->n_head, (long long)c->n_embd);
    }
    const heed_status status = heed_check_probability("gpt", "dropout", c->dropout);
    return status == HEED_OK ? heed_check_not_negative("gpt", "layer_norm_eps", c->layer_norm_eps)
                             : status;
}

struct heed_gpt *heed_gpt_new(heed_gpt_config config)
{
    config.activation = config.activation != NULL ? config.activation : heed_gelu_tanh;
    if (check_config(&config) != HEED_OK) {
        return NULL;
    }
    struct heed_gpt *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    m->config = config;
    heed_add_child(m, "transformer", &m->transformer, new_transformer(&config));
    heed_add_child(m, "lm_head", &m->lm_head,
                   heed_linear_new_with(config.n_embd, config.vocab_size,
                                        (heed_linear_options){.no_bias = true}));
    if (heed_error_pending() == HEED_OK && !config.untied) {
        heed_set_parameter(m->lm_head, "weight", &m->lm_head->weight, m->transformer->wte->weight);
    }
    if (heed_error_pending() == HEED_OK) {
        initialise(m);
    }
    return heed_module_ready(m);
}

bool heed_gpt_is_tied(const struct heed_gpt *m)
{
    return m->lm_head->weight == m->transformer->wte->weight;
}

struct heed_gpt_block *heed_gpt_block_at(struct heed_gpt *m, int i)
{
    return heed_module_check("gpt_block_at", m) == HEED_OK
               ? heed_module_list_at(m->transformer->h, i)
               : NULL;
}
