/* Reads and writes GPT files of transformers and nanoGPT: lists views of the model's tensors with
 * the file's names and shapes, and loads or saves that list like any state dict. */

#include "gpt_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../../autograd/ops/view.h"
#include "../../nn/arguments.h"
#include "../../nn/match_tensors.h"
#include "../../nn/module_state.h"
#include "../../nn/named_tensors.h"
#include "../../tensor/create.h"
#include "../../tensor/text.h"
#include "../../tools/files/file_io.h"
#include "../../tools/files/safetensors.h"
#include "../../tools/files/safetensors_file.h"
#include "gpt_config.h"

static const char from_pretrained[] = "gpt_from_pretrained";
static const char save_pretrained[] = "gpt_save_pretrained";

/* ---- the tensors of a model under a file's names ---- */

/* Name prefixes of a file: the first `length` bytes of `prefix` precede wte, wpe, h and ln_f; the
 * first `outer` bytes precede lm_head. */
typedef struct naming {
    const char *prefix;
    int length, outer;
    bool transposed; /* GPT-2's layout */
} naming;

static const char transformer[] = "transformer.";
enum { TRANSFORMER = sizeof transformer - 1, MOST_PREFIX = 200, MOST_NAME = 64 };

static naming usual_naming(bool transposed)
{
    return (naming){transformer, TRANSFORMER, 0, transposed};
}

typedef struct file_name {
    char text[MOST_PREFIX + MOST_NAME];
} file_name;

/* The file's name for a tensor that Heed calls "transformer.h.0..." or "lm_head.weight". */
static file_name name_there(const naming *n, const char *name)
{
    file_name there;
    const bool inside = strncmp(name, transformer, TRANSFORMER) == 0;
    snprintf(there.text, sizeof there.text, "%.*s%s", inside ? n->length : n->outer, n->prefix,
             inside ? name + TRANSFORMER : name);
    return there;
}

static void list_as(heed_named_tensors *named, const naming *n, const char *name, heed_tensor *t)
{
    heed_named_add(named, t, "%s", name_there(n, name).text);
}

/* Lists the tensors to save, or to load from a file, as views in the innermost scope. */
static void list_tensors(heed_named_tensors *named, const naming *n, struct heed_gpt *m,
                         bool saving)
{
    const heed_tensor_list state = heed_state_dict(m);
    const bool gpt2 = saving && n->transposed;
    for (int i = 0; i < state.count && !heed_error_pending(); i++) {
        const char *name = state.names[i];
        heed_tensor *t = state.tensors[i];
        if (gpt2 && heed_gpt_is_tied(m) && strcmp(name, "lm_head.weight") == 0) {
            continue;
        }
        const bool positions = saving && heed_name_ends_in(name, "pe.pe");
        /* transformers' Conv1D has (in, out) where a Linear has (out, in). */
        const bool conv1d = heed_name_ends_in(name, "c_attn.weight") ||
                            heed_name_ends_in(name, "c_fc.weight") ||
                            heed_name_ends_in(name, "c_proj.weight");
        list_as(named, n, positions ? "transformer.wpe.weight" : name,
                conv1d && n->transposed ? heed_transpose(t, 0, 1) : t);
        const bool table = heed_name_ends_in(name, "wte.weight") ||
                           heed_name_ends_in(name, "wpe.weight") || positions ||
                           strcmp(name, "lm_head.weight") == 0;
        if (gpt2 && m->config.no_bias && !table) { /* zeros for this weight's bias */
            char bias[MOST_NAME];
            snprintf(bias, sizeof bias, "%.*sbias", (int)(strlen(name) - strlen("weight")), name);
            list_as(named, n, bias, heed_zeros(HEED_SHAPE(t->shape[0]), t->dtype));
        }
    }
}

/* ---- saving ---- */

static heed_status save(const char *function, struct heed_gpt *m, const char *path,
                        heed_gpt_layout layout)
{
    static const heed_metadata about[] = {{"format", "pt"}, {NULL, NULL}};
    const naming names = usual_naming(layout == HEED_GPT_LAYOUT_GPT2);
    heed_named_tensors named = {0};
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    list_tensors(&named, &names, m, true);
    heed_file_save(function, path, named.list, about);
    heed_named_free(&named);
    return heed_scope_end(&scope);
}

heed_status heed_gpt_save(struct heed_gpt *m, const char *path, heed_gpt_layout layout)
{
    static const char function[] = "gpt_save";
    if (heed_module_check(function, m) != HEED_OK) {
        return heed_error_pending();
    }
    if (layout != HEED_GPT_LAYOUT_GPT2 && layout != HEED_GPT_LAYOUT_NANOGPT) {
        return heed_fail(
            HEED_ERR_VALUE,
            "%s: unknown layout %d; use HEED_GPT_LAYOUT_GPT2 or HEED_GPT_LAYOUT_NANOGPT", function,
            (int)layout);
    }
    return save(function, m, path, layout);
}

/* ---- loading ---- */

/* Detects a file's names and layout from the first block's c_attn: (C, 3 * C) or (3 * C, C). */
static naming naming_of(const heed_safetensors *file)
{
    static const char first[] = "h.0.attn.c_attn.weight";
    for (int i = 0; i < file->count; i++) {
        const heed_file_tensor *t = &file->tensors[i];
        const size_t length = strlen(t->offer.name) - (sizeof first - 1);
        if (!heed_name_ends_in(t->offer.name, first) || heed_is_of_training(t->offer.name) ||
            length > MOST_PREFIX || (length > 0 && t->offer.name[length - 1] != '.')) {
            continue;
        }
        const bool whole = length >= TRANSFORMER && strncmp(t->offer.name + length - TRANSFORMER,
                                                            transformer, TRANSFORMER) == 0;
        return (naming){.prefix = t->offer.name,
                        .length = (int)length,
                        .outer = (int)length - (whole ? TRANSFORMER : 0),
                        .transposed = t->offer.shape.ndim == 2 &&
                                      t->offer.shape.size[0] < t->offer.shape.size[1]};
    }
    return usual_naming(false);
}

/* The file's tensor for one of Heed's names, or NULL. */
static const heed_file_tensor *find(const heed_safetensors *file, const naming *n, const char *name)
{
    return heed_file_find(file, name_there(n, name).text);
}

/* Attention masks, which some versions of transformers save as buffers, and the optimiser and
 * generator state of a checkpoint. */
static bool is_no_weight(const char *name)
{
    return heed_name_ends_in(name, ".attn.bias") || heed_name_ends_in(name, ".attn.masked_bias") ||
           heed_is_of_training(name);
}

static heed_status load(const char *function, struct heed_gpt *m, const heed_safetensors *file,
                        const naming *n)
{
    const heed_text path = heed_show_path(file->path);
    const heed_match match = {
        .function = function,
        .there = path.text,
        .here = "GPT",
        .passes_over = is_no_weight,
        .if_untied = "create it with .untied (in config.json: tie_word_embeddings false)"};
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    const heed_file_tensor *wpe = find(file, n, "transformer.wpe.weight");
    if (wpe != NULL && m->transformer->wpe == NULL) {
        heed_fail(HEED_ERR_VALUE,
                  "%s: %s has learned positions, %s, but those of this GPT are sinusoidal; create "
                  "it without .sinusoidal",
                  function, path.text, heed_show_name(wpe->offer.name).text);
    }
    heed_named_tensors named = {0};
    list_tensors(&named, n, m, false);
    if (!heed_error_pending()) {
        const heed_offers offers = heed_file_offers(file);
        heed_match_load(&match, &offers, named.list);
    }
    heed_named_free(&named);
    return heed_scope_end(&scope);
}

heed_status heed_gpt_load(struct heed_gpt *m, const char *path)
{
    static const char function[] = "gpt_load";
    if (heed_module_check(function, m) != HEED_OK) {
        return heed_error_pending();
    }
    heed_safetensors *file = heed_file_open(function, path);
    if (file != NULL) {
        const naming names = naming_of(file);
        load(function, m, file, &names);
    }
    heed_safetensors_close(file);
    return heed_error_pending();
}

/* ---- a folder ---- */

typedef struct paths {
    char config[HEED_LONGEST_PATH], weights[HEED_LONGEST_PATH];
} paths;

static heed_status find_paths(const char *function, const char *folder, paths *p)
{
    if (heed_check_not_null(function, "the folder", folder) != HEED_OK) {
        return heed_error_pending();
    }
    const size_t end = strlen(folder);
    if (end == 0) {
        return heed_fail_file(function, folder, "find it", ENOENT);
    }
    const char *slash = folder[end - 1] == '/' ? "" : "/";
    const int length =
        snprintf(p->weights, sizeof p->weights, "%s%smodel.safetensors", folder, slash);
    if (length >= (int)sizeof p->weights) {
        return heed_fail_file(function, folder, "find it", ENAMETOOLONG);
    }
    snprintf(p->config, sizeof p->config, "%s%sconfig.json", folder, slash);
    return HEED_OK;
}

heed_status heed_gpt_save_pretrained(struct heed_gpt *m, const char *folder)
{
    paths p;
    if (heed_module_check(save_pretrained, m) != HEED_OK ||
        find_paths(save_pretrained, folder, &p) != HEED_OK ||
        heed_gpt_config_check(save_pretrained, m) != HEED_OK) {
        return heed_error_pending();
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return heed_fail_file(save_pretrained, folder, "create this folder", errno);
    }
    return save(save_pretrained, m, p.weights, HEED_GPT_LAYOUT_GPT2) == HEED_OK
               ? heed_gpt_config_write(save_pretrained, p.config, m)
               : heed_error_pending();
}

/* The two files of a folder. */
typedef struct pair {
    const char *config_path;
    const heed_gpt_config *config;
    const heed_safetensors *weights;
    const naming *names;
} pair;

/* Compares the shape of a tensor with the value of `key` in config.json. */
static heed_status check_shape(const pair *p, const char *key, int64_t value, const char *name,
                               int64_t rows, int64_t columns)
{
    const heed_file_tensor *t = find(p->weights, p->names, name);
    if (t != NULL && t->offer.shape.ndim == 2 && t->offer.shape.size[0] == rows &&
        t->offer.shape.size[1] == columns) {
        return heed_error_pending();
    }
    return heed_fail(
        HEED_ERR_VALUE, "%s: %s has %s %lld and n_embd %lld, but %s is %s in model.safetensors",
        from_pretrained, heed_show_path(p->config_path).text, key, (long long)value,
        (long long)p->config->n_embd, name,
        t != NULL ? heed_shape_text(t->offer.shape.ndim, t->offer.shape.size).text : "missing");
}

/* Compares the weights with the sizes in config.json before the model is created: wrong sizes might
 * exhaust memory. Of each block only c_attn is checked. */
static heed_status check_sizes(const pair *p)
{
    const heed_gpt_config *c = p->config;
    const int64_t width = c->n_embd, wide = 3 * width;
    const bool transposed = p->names->transposed;
    check_shape(p, "vocab_size", c->vocab_size, "transformer.wte.weight", c->vocab_size, width);
    check_shape(p, "n_positions", c->block_size, "transformer.wpe.weight", c->block_size, width);
    for (int i = 0; i < c->n_layer && !heed_error_pending(); i++) {
        char name[MOST_NAME];
        snprintf(name, sizeof name, "transformer.h.%d.attn.c_attn.weight", i);
        check_shape(p, "n_layer", c->n_layer, name, transposed ? width : wide,
                    transposed ? wide : width);
    }
    return heed_error_pending();
}

struct heed_gpt *heed_gpt_from_pretrained(const char *folder)
{
    paths p;
    heed_gpt_config config = {0};
    struct heed_gpt *m = NULL;
    if (find_paths(from_pretrained, folder, &p) != HEED_OK ||
        heed_gpt_config_read(from_pretrained, p.config, &config) != HEED_OK) {
        return NULL;
    }
    heed_safetensors *file = heed_file_open(from_pretrained, p.weights);
    const naming names = file != NULL ? naming_of(file) : usual_naming(false);
    if (file != NULL && check_sizes(&(pair){p.config, &config, file, &names}) == HEED_OK) {
        config.no_init = true;
        m = heed_gpt_new(config);
    }
    if (m != NULL) {
        m->config.no_init = false;
        if (find(file, &names, "transformer.wte.weight")->offer.dtype == HEED_F64) {
            heed_module_to(m, HEED_F64);
        }
        if (load(from_pretrained, m, file, &names) != HEED_OK || heed_eval(m) != HEED_OK) {
            heed_module_free(m);
            m = NULL;
        }
    }
    heed_safetensors_close(file);
    return m;
}
