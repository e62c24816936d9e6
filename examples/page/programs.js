// Programs in C and Python that load the saved weights, check them against a number of the page, and
// train on. Both draw the same batches, so they print the same numbers but for rounding.
//
// facts: {language, tokens: ids of the sentence to check, heads, step, seed, loss, dModel, blocked: 11 x 11
// of 0 and 1, or null for the causal mask}.

const STEPS = 100, BATCH = 32, RATE = 0.005, TOLERANCE = 1e-5;

/** The language as lists from which its sentences are made: see next_token's toy_language.h. */
function grammar({ words, train, heldOut }) {
  const all = [...heldOut, ...train];
  const at = (ids, positions) => positions.map((p) => words[ids[p]]).join(" ");
  const unique = (positions) => [...new Set([...all].sort((a, b) => rank(a, positions) - rank(b, positions))
    .map((ids) => at(ids, positions)))];
  const rank = (ids, positions) => ids[positions[0]];
  const subjects = unique([1, 9, 10]), places = unique([6]), verbs = unique([2, 3, 4]);
  const foods = new Set(all.filter((ids) => at(ids, [2, 3, 4]) === verbs[0] && at(ids, [6]) === places[0]).map((ids) => ids[1]));
  return { subjects, places, verbs, foods: foods.size };
}

/** Items as lines of at most 100 characters. */
function wrapped(items, indent) {
  const lines = [];
  for (const item of items) {
    const last = lines.length - 1;
    if (last >= 0 && indent.length + lines[last].length + item.length < 98) {
      lines[last] += ` ${item},`;
    } else {
      lines.push(`${item},`);
    }
  }
  return lines.map((line) => indent + line).join("\n");
}

const quoted = (texts, indent) => wrapped(texts.map((text) => `"${text}"`), indent);

function rowsOf(blocked, open, close, indent) {
  const size = Math.sqrt(blocked.length);
  return Array.from({ length: size }, (_, i) =>
    indent + open + blocked.slice(i * size, (i + 1) * size).join(", ") + close).join(",\n");
}

const sentenceOf = ({ language, tokens }) => tokens.map((id) => language.words[id]).join(" ");

const headDim = ({ heads, dModel }) => Math.floor(dModel / heads); // as next_token

export function cProgram(facts) {
  const { language, heads, step, seed, loss, dModel, blocked } = facts;
  const { subjects, places, verbs, foods } = grammar(language);
  const one = heads === 1;
  const attention = one ? "self_attention" : "multi_head";
  const create = one
    ? "HEED_CHILD(m, self_attention, heed_self_attention_new(D_MODEL, -2, -1));"
    : `HEED_CHILD(m, multi_head, heed_multi_head_new(D_MODEL, HEADS, -2, -1, .head_dim = ${headDim(facts)}));`;
  return `/* Continues from attention.safetensors, the weights after ${step} steps of training: checks the loss of
 * one sentence, trains ${STEPS} more steps, and prints that loss and the attention of *it*.
 *
 *     cc -std=c11 -Isrc continue.c build/libheed.a -lm -pthread -o continue && ./continue
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "heed.h"

enum { WORDS = ${language.words.length}, CONTEXT = ${language.context}, LENGTH = CONTEXT + 1, D_MODEL = ${dModel}, HEADS = ${heads} };
enum { SUBJECTS = ${subjects.length}, PLACES = ${places.length}, VERBS = ${verbs.length}, FOODS = ${foods}, IT = ${language.it}, STEPS = ${STEPS}, BATCH = ${BATCH} };

static const char checked[] = "${sentenceOf(facts)}";
static const double loss_on_page = ${loss};

static const char *const words[WORDS] = {
${quoted(language.words, "    ")}
};
/* The subjects, each with the words after *it*; sentences are put together from these lists. */
static const char *const subjects[SUBJECTS] = {
${quoted(subjects, "    ")}
};
static const char *const places[PLACES] = {
${quoted(places, "    ")}
};
static const char *const verbs[VERBS] = {
${quoted(verbs, "    ")}
};
${blocked === null ? "" : `
/* The mask edited on the page: true blocks the key of the column for the query of the row. */
static const bool blocked[CONTEXT][CONTEXT] = {
${rowsOf(blocked, "{", "}", "    ")}
};
`}
/* ---- the model ---- */

typedef struct model {
    heed_module module;
    struct heed_embedding *we;
    struct heed_position_encoding *pe;
    struct heed_${attention} *${attention};
    struct heed_linear *fc_layer;
} model;
static const heed_module_kind kind = {.name = "NextToken", .size = sizeof(model)};

static model *new_model(void)
{
    model *m = heed_module_new(&kind);
    HEED_CHILD(m, we, heed_embedding_new(WORDS, D_MODEL));
    HEED_CHILD(m, pe, heed_position_encoding_new(D_MODEL, CONTEXT));
    ${create}
    HEED_CHILD(m, fc_layer, heed_linear_new(D_MODEL, WORDS));
    return m;
}

/* rows (B, LENGTH) -> the mean loss of each word predicted from those before it */
static heed_tensor *loss_of(model *m, heed_tensor *rows)
{
    heed_tensor *inputs = heed_slice(rows, 1, 0, -1, 1);
    heed_tensor *targets = heed_slice(rows, 1, 1, LENGTH, 1);
    heed_tensor *x = heed_position_encoding_forward(m->pe, heed_embedding_forward(m->we, inputs));
    heed_tensor *mask = ${blocked === null ? "heed_causal_block_mask(CONTEXT)" : "heed_from_bool(blocked[0], HEED_SHAPE(CONTEXT, CONTEXT))"};
    heed_tensor *y = heed_add(x, heed_${attention}_forward(m->${attention}, x, mask));
    heed_tensor *logits = heed_linear_forward(m->fc_layer, y);
    return heed_cross_entropy(heed_flatten(logits, 0, 1), heed_flatten(targets, 0, 1));
}

/* ---- the sentences ---- */

static int64_t id_of(const char *word)
{
    int64_t id = 0;
    while (id < WORDS && strcmp(words[id], word) != 0) {
        id++;
    }
    return id;
}

static void read_sentence(const char *text, int64_t ids[LENGTH])
{
    char word[32];
    for (int i = 0, used; i < LENGTH && sscanf(text, "%31s%n", word, &used) == 1; i++) {
        ids[i] = id_of(word);
        text += used;
    }
}

/* Fills the training sentences, without those held out, and returns their number. */
static int64_t make_sentences(int64_t sentences[][LENGTH])
{
    int64_t count = 0;
    for (int s = 0; s < SUBJECTS; s++) {
        for (int p = 0; p < PLACES; p++) {
            for (int v = 0; v < VERBS; v++) {
                /* Only foods come out of the oven. */
                const bool odd = s >= FOODS && p == 0 && v == 0;
                const bool held_out = (s + p + ${seed % places.length}) % PLACES == 0;
                if (odd || held_out) {
                    continue;
                }
                char text[160], subject[32];
                sscanf(subjects[s], "%31s", subject);
                snprintf(text, sizeof text, "the %s %s the %s and it%s <eos>", subject, verbs[v],
                         places[p], subjects[s] + strlen(subject));
                read_sentence(text, sentences[count++]);
            }
        }
    }
    return count;
}

/* ---- the program ---- */

static double check_loss(model *m)
{
    HEED_SCOPE_NO_GRAD(scope);
    int64_t ids[LENGTH];
    read_sentence(checked, ids);
    return heed_item(loss_of(m, heed_from_i64(ids, HEED_SHAPE(1, LENGTH))));
}

static void print_attention(model *m)
{
    for (int head = 0; head < HEADS; head++) {
        HEED_SCOPE_NO_GRAD(scope);
        struct heed_self_attention *a = ${one ? "m->self_attention" : "heed_multi_head_head(m->multi_head, head)"};
        a->keep_weights = true;
        check_loss(m);
        int64_t ids[LENGTH];
        read_sentence(checked, ids);
        printf("attention of *it*, head %d:", head + 1);
        for (int j = 0; j < CONTEXT; j++) {
            printf(" %s %.4f", words[ids[j]], heed_at(a->attention_percent, HEED_SHAPE(0, IT, j)));
        }
        printf("\\n");
    }
}

int main(void)
{
    static int64_t sentences[SUBJECTS * PLACES * VERBS][LENGTH];
    const int64_t count = make_sentences(sentences);
    heed_on_error(heed_die); /* the first error prints a message and ends the program */
    model *m = new_model();
    heed_load_state_dict(m, "attention.safetensors");
    const double before = check_loss(m);
    printf("loss of the sentence: %.6f, on the page: %.6f\\n", before, loss_on_page);
    if (!(fabs(before - loss_on_page) <= ${TOLERANCE} * fmax(1, loss_on_page))) {
        printf("they differ: the weights are not those of the page after ${step} steps\\n");
        return 1;
    }
    heed_manual_seed(${seed}); /* of the batches */
    heed_optimizer *adamw = heed_adamw_new(heed_parameters(m), ${RATE}, 0.1, .eps = 1e-4);
    for (int step = 0; step < STEPS; step++) {
        HEED_SCOPE(scope);
        heed_tensor *which = heed_randint(0, count, HEED_SHAPE(BATCH));
        heed_tensor *all = heed_from_i64(sentences[0], HEED_SHAPE(count, LENGTH));
        heed_tensor *loss = loss_of(m, heed_index_select(all, 0, which));
        heed_optimizer_zero_grad(adamw);
        heed_backward(loss);
        heed_optimizer_step(adamw);
    }
    printf("after %d more steps: %.6f\\n", STEPS, check_loss(m));
    print_attention(m);
    heed_optimizer_free(adamw);
    return heed_module_free(m) != HEED_OK || fflush(stdout) != 0;
}
`;
}

export function pythonProgram(facts) {
  const { language, heads, step, seed, loss, dModel, blocked } = facts;
  const { subjects, places, verbs, foods } = grammar(language);
  const one = heads === 1;
  const create = one
    ? "self.self_attention = SelfAttention(D_MODEL, D_MODEL)"
    : `self.multi_head = MultiHead(D_MODEL, HEADS, ${headDim(facts)})`;
  return `"""Continues from attention.safetensors, the weights after ${step} steps of training: checks the loss of one
sentence, trains ${STEPS} more steps, and prints that loss and the attention of *it*.

    pip install torch safetensors
    python continue.py
"""
import math
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

CONTEXT, D_MODEL, HEADS, FOODS, IT = ${language.context}, ${dModel}, ${heads}, ${foods}, ${language.it}
CHECKED = "${sentenceOf(facts)}"
LOSS_ON_PAGE = ${loss}

WORDS = [
${quoted(language.words, "    ")}
]
# The subjects, each with the words after *it*; sentences are put together from these lists.
SUBJECTS = [
${quoted(subjects, "    ")}
]
PLACES = [${places.map((place) => `"${place}"`).join(", ")}]
VERBS = [${verbs.map((verb) => `"${verb}"`).join(", ")}]
${blocked === null ? `
BLOCK_MASK = torch.ones(CONTEXT, CONTEXT, dtype=torch.bool).triu(1)
` : `
# The mask edited on the page: 1 blocks the key of the column for the query of the row.
BLOCK_MASK = torch.tensor([
${rowsOf(blocked, "[", "]", "    ")}
]).bool()
`}

class SelfAttention(nn.Module):
    def __init__(self, d_model, head_dim):
        super().__init__()
        self.W_q = nn.Linear(d_model, head_dim, bias=False)
        self.W_k = nn.Linear(d_model, head_dim, bias=False)
        self.W_v = nn.Linear(d_model, head_dim, bias=False)

    def forward(self, x, block_mask):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        scaled_sims = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        scaled_sims = scaled_sims.masked_fill(block_mask, -1e9)
        percents = torch.softmax(scaled_sims, dim=-1)
        # A query whose keys are all blocked attends to nothing, as on the page.
        percents = percents.masked_fill(block_mask.all(dim=-1, keepdim=True), 0)
        self.attention_percents = percents.detach()
        return percents @ v

${one ? "" : `
class MultiHead(nn.Module):
    def __init__(self, d_model, heads, head_dim):
        super().__init__()
        self.heads = nn.ModuleList(SelfAttention(d_model, head_dim) for _ in range(heads))
        self.W_o = nn.Linear(heads * head_dim, d_model, bias=False)

    def forward(self, x, block_mask):
        return self.W_o(torch.cat([head(x, block_mask) for head in self.heads], dim=-1))

`}
class PositionEncoding(nn.Module):
    def __init__(self, d_model, length):
        super().__init__()
        self.register_buffer("pe", torch.zeros(length, d_model))  # loaded from the file

    def forward(self, x):
        return x + self.pe


class NextToken(nn.Module):
    def __init__(self):
        super().__init__()
        self.we = nn.Embedding(len(WORDS), D_MODEL)
        self.pe = PositionEncoding(D_MODEL, CONTEXT)
        ${create}
        self.fc_layer = nn.Linear(D_MODEL, len(WORDS))

    def forward(self, tokens):
        x = self.pe(self.we(tokens))
        return self.fc_layer(x + self.${one ? "self_attention" : "multi_head"}(x, BLOCK_MASK))

    def heads(self):
        return ${one ? "[self.self_attention]" : "self.multi_head.heads"}


def read_sentence(text):
    return [WORDS.index(word) for word in text.split()]


def training_sentences():
    """All without those held out."""
    rows = []
    for s, subject in enumerate(SUBJECTS):
        noun, *after = subject.split()
        for p, place in enumerate(PLACES):
            for v, verb in enumerate(VERBS):
                odd = s >= FOODS and p == 0 and v == 0  # only foods come out of the oven
                held_out = (s + p + ${seed % places.length}) % len(PLACES) == 0
                if not odd and not held_out:
                    rows.append(read_sentence(f"the {noun} {verb} the {place} and it {' '.join(after)} <eos>"))
    return torch.tensor(rows)


def loss_of(model, rows):
    return F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


def check_loss(model):
    with torch.no_grad():
        return loss_of(model, torch.tensor([read_sentence(CHECKED)])).item()


model = NextToken()
model.load_state_dict(load_file("attention.safetensors"))
before = check_loss(model)
print(f"loss of the sentence: {before:.6f}, on the page: {LOSS_ON_PAGE:.6f}")
if not abs(before - LOSS_ON_PAGE) <= ${TOLERANCE} * max(1, LOSS_ON_PAGE):
    raise SystemExit("they differ: the weights are not those of the page after ${step} steps")

torch.manual_seed(${seed})  # of the batches
sentences = training_sentences()
adamw = torch.optim.AdamW(model.parameters(), lr=${RATE}, weight_decay=0.1, eps=1e-4)
for _ in range(${STEPS}):
    loss = loss_of(model, sentences[torch.randint(0, len(sentences), (${BATCH},))])
    adamw.zero_grad()
    loss.backward()
    adamw.step()
print(f"after ${STEPS} more steps: {check_loss(model):.6f}")
for number, head in enumerate(model.heads()):
    row = head.attention_percents[0, IT].tolist()
    print(f"attention of *it*, head {number + 1}:", *(f"{word} {value:.4f}" for word, value in zip(CHECKED.split(), row)))
`;
}
