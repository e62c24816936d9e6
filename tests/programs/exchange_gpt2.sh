#!/bin/sh
# Tests that GPTs can be exchanged with transformers in both directions: GPT2LMHeadModel.from_pretrained
# loads what Heed wrote without a warning and gives the same logits; it trains and saves the model, and Heed loads that.
# Needs Python with PyTorch and transformers; not part of `make test`, which uses stored files
# (fixtures/make_gpt2.py).
#   tests/programs/exchange_gpt2.sh [PYTHON]
set -eu
cd "$(dirname "$0")/../.."
python=${1:-python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
make -s build/libheed.a

cat > "$scratch/write.c" << 'END'
#include <heed.h>
#include <string.h>

static const struct {
    const char *name;
    heed_gpt_config config;
    heed_dtype dtype;
} models[] = {{"tied", {.dropout = 0.1}, HEED_F32},
              {"untied", {.untied = true, .activation = heed_gelu}, HEED_F32},
              {"no_bias", {.no_bias = true, .activation = heed_relu, .layer_norm_eps = 1e-3}, HEED_F32},
              {"sinusoidal", {.sinusoidal = true, .activation = heed_silu}, HEED_F32},
              {"double", {.activation = heed_tanh}, HEED_F64}};

static heed_tensor *logits(struct heed_gpt *m)
{
    int64_t tokens[64];
    for (int i = 0; i < 64; i++) {
        tokens[i] = i % 17;
    }
    return heed_detach(heed_gpt_forward(m, heed_from_i64(tokens, HEED_SHAPE(64))));
}

static void save_logits(heed_tensor *x, const char *folder)
{
    const char *name = "logits";
    char path[100];
    snprintf(path, sizeof path, "%s/logits.st", folder);
    heed_save_file((heed_tensor_list){1, &x, &name}, path, NULL);
}

/* A model of some size, with weights that are no longer 0 and 1 anywhere. */
static void write_model(int i)
{
    heed_gpt_config config = models[i].config;
    config.vocab_size = 100;
    config.block_size = 64;
    config.n_layer = config.n_head = 4;
    config.n_embd = 64;
    struct heed_gpt *m = heed_gpt_new(config);
    heed_tensor_list parameters = heed_parameters(m);
    for (int j = 0; j < parameters.count; j++) {
        heed_normal_into(parameters.tensors[j], 0.05, 0.2);
    }
    heed_module_to(m, models[i].dtype);
    heed_eval(m);
    heed_gpt_save_pretrained(m, models[i].name);
    save_logits(logits(m), models[i].name);
    heed_module_free(m);
}

/* nanoGPT's names, for the class in fixtures/make_gpt2.py. */
static void write_nanogpt(void)
{
    struct heed_gpt *m = heed_gpt_new((heed_gpt_config){.vocab_size = 40, .block_size = 12, .n_layer = 2,
        .n_head = 2, .n_embd = 8, .activation = heed_gelu, .no_bias = true});
    int64_t tokens[12];
    for (int i = 0; i < 12; i++) {
        tokens[i] = 3 * i;
    }
    heed_gpt_save(m, "nanogpt.safetensors", HEED_GPT_LAYOUT_NANOGPT);
    save_logits(heed_detach(heed_gpt_forward(m, heed_from_i64(tokens, HEED_SHAPE(12)))), ".");
    heed_module_free(m);
}

/* What they made of it gives their logits. */
static bool read_back(int i)
{
    char folder[100], path[120];
    snprintf(folder, sizeof folder, "%s.back", models[i].name);
    snprintf(path, sizeof path, "%s/logits.st", folder);
    struct heed_gpt *m = heed_gpt_from_pretrained(folder);
    heed_tensor *y = logits(m), *expected;
    heed_safetensors *file = heed_safetensors_open(path);
    expected = heed_safetensors_tensor(file, "logits");
    heed_safetensors_close(file);
    printf("%-10s back: logits differ by at most %.1e\n", models[i].name,
           heed_item(heed_max(heed_abs(heed_sub(y, expected)))));
    const bool same = heed_allclose(y, expected, 1e-5, 1e-4, false);
    heed_module_free(m);
    return same;
}

int main(int argc, char **argv)
{
    bool same = true;
    (void)argv;
    heed_on_error(heed_die);
    heed_manual_seed(1);
    for (int i = 0; i < (int)(sizeof models / sizeof *models); i++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        if (argc == 1) {
            write_model(i);
        } else {
            same = read_back(i) && same;
        }
        if (argc == 1 && i == 0) {
            write_nanogpt();
        }
        heed_scope_end(&scope);
    }
    return same ? 0 : 1;
}
END
${CC:-cc} -std=c11 -Isrc "$scratch/write.c" build/libheed.a -lm -pthread -o "$scratch/write"

cat > "$scratch/exchange.py" << 'END'
import pathlib
import sys
import warnings

import torch
import transformers
from safetensors.torch import load_file, save_file

sys.path.insert(0, sys.argv[1])
import make_gpt2

warnings.simplefilter("error")
transformers.utils.logging.disable_progress_bar()
tokens = (torch.arange(64) % 17)[None]

for folder in sorted(path.parent for path in pathlib.Path().glob("*/config.json")):
    model, told = transformers.GPT2LMHeadModel.from_pretrained(folder, output_loading_info=True)
    assert not any(told.values()), told
    expected = load_file(folder / "logits.st")["logits"]
    logits = model(tokens).logits[0].detach()
    assert logits.dtype == expected.dtype and not model.training
    difference = (logits - expected).abs().max().item()
    print(f"{folder.name:10} logits of up to {expected.abs().max().item():.0f} differ by at most {difference:.1e}")
    assert difference < (1e-4 if logits.dtype == torch.float32 else 1e-10)
    tied = model.lm_head.weight is model.transformer.wte.weight
    assert tied == (folder.name != "untied") == model.config.tie_word_embeddings
    model.generate(tokens[:, :5], max_new_tokens=5, do_sample=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    torch.nn.functional.cross_entropy(model(tokens).logits[0, :-1], tokens[0, 1:]).backward()
    optimizer.step()
    model.save_pretrained(f"{folder}.back")
    save_file({"logits": model(tokens).logits[0].detach()}, f"{folder}.back/logits.st")

model = make_gpt2.NanoGPT(8, 2, 2)
missing, unexpected = model.load_state_dict(load_file("nanogpt.safetensors"), strict=False)
assert not unexpected and all(name.endswith(".attn.bias") for name in missing), (missing, unexpected)
difference = (model(3 * torch.arange(12)[None])[0].detach() - load_file("logits.st")["logits"]).abs().max().item()
print(f"nanoGPT    logits differ by at most {difference:.1e}")
assert difference < 1e-5
END

fixtures=$(pwd)/tests/fixtures
(cd "$scratch" && ./write && "$python" exchange.py "$fixtures" 2> told || { cat told; exit 1; } && ./write back)
grep -v '^$' "$scratch/told" && { echo "^ transformers warns"; exit 1; }
echo "GPTs go to transformers and come back"
