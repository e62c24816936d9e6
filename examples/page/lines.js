// The class that the page steps through, as PyTorch and as our C, line by line: what each line makes,
// what it reads, and how a switch of "Break it" changes it.

/** The switches of forward.h. */
export const BREAKS = {
  NO_SCALE: 1,
  WRONG_DIM: 2,
  MASK_INVERTED: 4,
  MASK_AFTER: 8,
  NO_POSITIONS: 16,
  SAME_KEYS: 32,
  NO_ZERO_GRAD: 64,
  LR_100: 128,
  SPLIT_VIEW: 256,
  MERGE_VIEW: 512,
  SCALE_D_MODEL: 1024,
};

/** A line that is no step. whole: shown only in the whole program. */
const context = (python, c, whole = false) => ({ python, c, whole, marks: [], reads: [] });
const whole = (python, c) => context(python, c, true);

/**
 * A step. formula: the result, then how it is made of other matrices: marks of forward.h; "we", "W_q", "W_o",
 * "fc_layer.weight", "fc_layer.bias": weights; "positions", "mask", "targets": inputs; "q@1": that of the second head.
 * A part that begins with ' is a symbol; 'ᵀ belongs to the matrix before it. back: formulas of the gradients:
 * "q.grad"; "x.grad@q": what step q adds to it; "attention_percents.sums", "logits.shares": steps on the way; "logits.used": the rows that have a target.
 * every: [names of results whose formula needs all words of the vocabulary]. order: groups of steps are computed in
 * this order, default 0.
 */
function step(id, python, c, formula, back, { order = 0, broken = false, every = [] } = {}) {
  const names = formula.filter((part) => !part.startsWith("'"));
  return { id, python, c, formula, back, marks: [names[0]], reads: names.slice(1).map((name) => name.replace(/\.used$/, "")), order, broken, every, whole: false };
}

/** The formula of result = x · wᵀ (+ bias), and those of the gradients; into: the name of what x gets. */
function linear(result, x, w, { bias = null, into = `${x}.grad` } = {}) {
  const gradient = `${result}.grad`;
  return [
    [result, "'=", x, "'·", w, ...(bias === null ? ["'ᵀ"] : ["'ᵀ +", bias])],
    [[`${w}.grad`, "'=", gradient, "'ᵀ ·", x],
      ...(bias === null ? [] : [[`${bias}.grad`, "'= Σ↓", gradient]]),
      [into, "'=", gradient, "'·", w]],
  ];
}

const X = "token_encodings";
/** What the step adds to the gradient of the encodings, which several steps read. */
const partOf = (id) => `${X}.grad@${id}`;
/** The gradient of the encodings, complete: the parts of all steps that read them. */
const allParts = (several, others) => [`${X}.grad`, "'=", ...(several ? [partOf("residual"), "'+"] : []),
  partOf("v"), "'+", partOf("k"), "'+", partOf("q"), ...(others > 0 ? [`'+ ${others} …`] : [])];

const blank = context("", "");

// ---- one head ----

/** forward of SelfAttention without its first and last line. */
function headLines(masked, has, heads, model) {
  const keys = has("SAME_KEYS") ? "W_q" : "W_k";
  const dim = has("WRONG_DIM") ? "row_dim" : "col_dim";
  const filled = masked && !has("MASK_AFTER");
  const blocked = has("MASK_INVERTED");
  const sims = filled ? "masked_sims" : "scaled_sims";
  const lines = [
    step("q", "        q = self.W_q(token_encodings)",
      "    heed_tensor *q = heed_linear_forward(self->W_q, token_encodings);",
      ...withTotal(linear("q", X, "W_q", { into: partOf("q") }), allParts(model, 3 * (heads - 1)))),
    step("k", `        k = self.${keys}(token_encodings)`,
      `    heed_tensor *k = heed_linear_forward(self->${keys}, token_encodings);`,
      ...linear("k", X, keys, { into: partOf("k") }), { broken: has("SAME_KEYS") }),
    step("v", "        v = self.W_v(token_encodings)",
      "    heed_tensor *v = heed_linear_forward(self->W_v, token_encodings);",
      ...linear("v", X, "W_v", { into: partOf("v") })),
    step("sims", "        sims = torch.matmul(q,\n            k.transpose(self.row_dim, self.col_dim))",
      "    heed_tensor *sims = heed_matmul(q, heed_transpose(k, self->row_dim, self->col_dim));",
      ...linear("sims", "q", "k")),
    has("NO_SCALE")
      ? step("scaled_sims", "        scaled_sims = sims", "    heed_tensor *scaled_sims = sims;",
        ["scaled_sims", "'=", "sims"], [["sims.grad", "'=", "scaled_sims.grad"]], { broken: true })
      : step("scaled_sims", "        scaled_sims = sims / k.size(self.col_dim) ** 0.5",
        "    heed_tensor *scaled_sims = heed_div_scalar(sims, sqrt((double)heed_size(k, self->col_dim)));",
        ["scaled_sims", "'=", "sims", "'÷ √d"], [["sims.grad", "'=", "scaled_sims.grad", "'÷ √d"]]),
  ];
  if (filled) {
    const mask = blocked ? "~mask" : "mask", cMask = blocked ? "heed_logical_not(mask)" : "mask";
    lines.push(step("masked_sims",
      `        masked_sims = scaled_sims.masked_fill(\n            ${mask}, float("-inf"))`,
      `    heed_tensor *masked_sims = heed_masked_fill(scaled_sims, ${cMask}, -HUGE_VAL);`,
      ["masked_sims", "'=", "scaled_sims", "'−∞ ←", "mask"],
      [["scaled_sims.grad", "'=", "masked_sims.grad", "'0 ←", "mask"]], { broken: blocked }));
  }
  const percents = masked && !filled ? "unmasked_percents" : "attention_percents";
  lines.push(step(percents, `        ${percents} = F.softmax(\n            ${sims}, dim=self.${dim})`,
    `    heed_tensor *${percents} = heed_safe_softmax(${sims}, self->${dim});`,
    [percents, "'= softmax(", sims, "')"],
    [[`${percents}.sums`, "'= Σ→", percents, "'∘", `${percents}.grad`],
      [`${sims}.grad`, "'=", percents, "'∘ (", `${percents}.grad`, "'−", `${percents}.sums`, "')"]],
    { broken: has("WRONG_DIM") }));
  if (percents === "unmasked_percents") {
    lines.push(step("attention_percents", "        attention_percents = unmasked_percents.masked_fill(mask, 0)",
      "    heed_tensor *attention_percents = heed_masked_fill(unmasked_percents, mask, 0);",
      ["attention_percents", "'=", "unmasked_percents", "'0 ←", "mask"],
      [["unmasked_percents.grad", "'=", "attention_percents.grad", "'0 ←", "mask"]], { broken: true }));
  }
  lines.push(
    step("attention_scores", "        attention_scores = torch.matmul(\n            attention_percents, v)",
      "    heed_tensor *attention_scores = heed_matmul(attention_percents, v);",
      ["attention_scores", "'=", "attention_percents", "'·", "v"],
      [["attention_percents.grad", "'=", "attention_scores.grad", "'·", "v", "'ᵀ"],
        ["v.grad", "'=", "attention_percents", "'ᵀ ·", "attention_scores.grad"]]),
    context("        return attention_scores", "    return attention_scores;\n}"));
  return lines;
}

/** The formulas of linear(), and one more of backward. */
const withTotal = ([formula, back], total) => [formula, [...back, total]];

function headClass(masked, has, headers, heads = 1, model = true) {
  const argument = masked ? ", mask" : "";
  return [
    whole("import torch", "#include <math.h>"),
    whole("import torch.nn as nn", null),
    whole("import torch.nn.functional as F\n\n", `${headers}\n`),
    context("class SelfAttention(nn.Module):", null),
    whole("    def __init__(self, d_model, head_dim, row_dim=0, col_dim=1):", null),
    whole("        super().__init__()", null),
    whole("        self.W_q = nn.Linear(d_model, head_dim, bias=False)", null),
    whole("        self.W_k = nn.Linear(d_model, head_dim, bias=False)", null),
    whole("        self.W_v = nn.Linear(d_model, head_dim, bias=False)", null),
    whole("        self.row_dim = row_dim  # tokens", null),
    whole("        self.col_dim = col_dim  # features\n", null),
    context(`    def forward(self, token_encodings${argument}):`,
      "heed_tensor *attend(struct heed_self_attention *self, heed_tensor *token_encodings" +
      (masked ? ", heed_tensor *mask" : "") + ")\n{"),
    ...headLines(masked, has, heads, model),
  ];
}

// ---- attention alone, as in the tutorial ----

function tutorial(masked, has) {
  const python = masked ? "attention(token_encodings, mask)" : "attention(token_encodings)";
  const c = masked ? "attend(attention, token_encodings, heed_causal_block_mask(3))" : "attend(attention, token_encodings)";
  return [
    ...headClass(masked, has, '#include "heed.h"', 1, false),
    blank,
    whole("torch.manual_seed(42)",
      "int main(void)\n{\n    heed_on_error(heed_die);\n    HEED_SCOPE(scope);\n    heed_manual_seed(42);"),
    whole("attention = SelfAttention(d_model=2, head_dim=2).double()",
      "    struct heed_self_attention *attention = heed_self_attention_new(2, 0, 1);\n" +
      "    heed_module_to(attention, HEED_F64);"),
    whole("token_encodings = torch.tensor([[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]]).double()",
      "    heed_tensor *token_encodings = heed_to(\n" +
      "        heed_from_f32((float[]){1.16f, 0.23f, 0.57f, 1.36f, 4.41f, -2.16f}, HEED_SHAPE(3, 2)), HEED_F64);"),
    ...(masked ? [whole("mask = torch.ones(3, 3, dtype=torch.bool).triu(diagonal=1)", null)] : []),
    step("loss_squares", `loss = (${python} ** 2).sum()`, `    heed_tensor *loss = heed_sum(heed_square(${c}));`,
      ["loss", "'= Σ", "attention_scores", "'²"],
      [["loss.grad", "'= 1"], ["attention_scores.grad", "'= 2 ·", "attention_scores"]]),
    context("loss.backward()", "    heed_backward(loss);"),
    whole("print(loss.item(), attention.W_q.weight.grad)",
      "    heed_print(loss);\n    heed_print(attention->W_q->weight->grad);\n    heed_module_free(attention);\n    return 0;\n}"),
  ];
}

// ---- the next-token model ----

function model({ heads, masked, has, tokens }) {
  const several = heads > 1;
  const argument = masked ? ", mask" : "";
  const lr = has("LR_100") ? "100 * 0.02" : "0.02";
  const attended = several ? "projected" : "attention_scores";
  const last = Array.from({ length: heads }, (_, i) => `attention_scores@${i}`);
  const result = [...headClass(masked, has, '#include "examples/lab/next_token/model.h"', heads), blank];
  if (several) {
    result.push(
      context("class MultiHead(nn.Module):", null),
      whole("    def __init__(self, d_model, heads):", null),
      whole("        super().__init__()", null),
      whole("        head_dim = d_model // heads", null),
      whole("        self.heads = nn.ModuleList([SelfAttention(d_model, head_dim) for _ in range(heads)])", null),
      whole("        self.W_o = nn.Linear(heads * head_dim, d_model, bias=False)\n", null),
      context(`    def forward(self, token_encodings${argument}):`,
        "heed_tensor *attend_with_heads(struct heed_multi_head *self, heed_tensor *token_encodings" +
        (masked ? ", heed_tensor *mask" : "") +
        `)\n{\n    heed_tensor *scores[${heads}];\n    for (int i = 0; i < ${heads}; i++) {\n` +
        `        scores[i] = attend(heed_multi_head_head(self, i), token_encodings${argument});\n    }`),
      step("all_heads", "        all_heads = torch.cat([\n            " +
        `head(token_encodings${argument})\n            for head in self.heads], dim=1)`,
        `    heed_tensor *all_heads = heed_cat(scores, ${heads}, -1);`,
        ["all_heads", "'= cat(", ...last, "')"],
        [[...last.map((name) => `${name}.grad`), "'= split(", "all_heads.grad", "')"]], { order: 1 }),
      step("projected", "        projected = self.W_o(all_heads)",
        "    heed_tensor *projected = heed_linear_forward(self->W_o, all_heads);",
        ...linear("projected", "all_heads", "W_o"), { order: 1 }),
      context("        return projected", "    return projected;\n}"),
      blank);
  }
  const attention = several ? "multi_head" : "self_attention", attend = several ? "attend_with_heads" : "attend";
  result.push(
    whole("class PositionEncoding(nn.Module):", null),
    whole("    def __init__(self, d_model, context):", null),
    whole("        super().__init__()", null),
    whole("        angles = torch.arange(context).unsqueeze(1) / 10000 ** (torch.arange(0, d_model, 2) / d_model)", null),
    whole('        self.register_buffer("pe", torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1))\n', null),
    whole("    def forward(self, embeddings):", null),
    whole("        return embeddings + self.pe[: len(embeddings)]\n\n", null),
    context("class NextToken(nn.Module):", null),
    whole("    def __init__(self, words, context, d_model, heads):", null),
    whole("        super().__init__()", null),
    whole("        self.we = nn.Embedding(words, d_model)", null),
    whole("        self.pe = PositionEncoding(d_model, context)", null),
    whole(several ? "        self.multi_head = MultiHead(d_model, heads)"
      : "        self.self_attention = SelfAttention(d_model, d_model)", null),
    whole("        self.fc_layer = nn.Linear(d_model, words)\n", null),
    context(`    def forward(self, tokens${argument}):`,
      "heed_tensor *forward(struct token_model *self, heed_tensor *tokens" + (masked ? ", heed_tensor *mask" : "") + ")\n{"),
    step("embeddings", "        embeddings = self.we(tokens)",
      "    heed_tensor *embeddings = heed_embedding_forward(self->we, tokens);",
      ["embeddings", "'=", "we", "'[tokens]"],
      [["we.grad", "'= Σ by word", "embeddings.grad"]], { order: -1 }),
    has("NO_POSITIONS")
      ? step("token_encodings", "        token_encodings = embeddings",
        "    heed_tensor *token_encodings = embeddings;",
        ["token_encodings", "'=", "embeddings"], [["embeddings.grad", "'=", "token_encodings.grad"]],
        { order: -1, broken: true })
      : step("token_encodings", "        token_encodings = self.pe(embeddings)",
        "    heed_tensor *token_encodings = heed_position_encoding_forward(self->pe, embeddings);",
        ["token_encodings", "'=", "embeddings", "'+", "positions"], [["embeddings.grad", "'=", "token_encodings.grad"]],
        { order: -1 }),
    context(`        ${attended} = self.${attention}(\n            token_encodings${argument})`,
      `    heed_tensor *${attended} = ${attend}(self->${attention}, token_encodings${argument});`),
    step("residual", `        residual = token_encodings + ${attended}`,
      `    heed_tensor *residual = heed_add(token_encodings, ${attended});`,
      ["residual", "'=", "token_encodings", "'+", attended],
      [[`${attended}.grad`, "'=", "residual.grad"], [partOf("residual"), "'=", "residual.grad"]], { order: 2 }),
    step("logits", "        logits = self.fc_layer(residual)",
      "    heed_tensor *logits = heed_linear_forward(self->fc_layer, residual);",
      ...linear("logits", "residual", "fc_layer.weight", { bias: "fc_layer.bias" }),
      { order: 2, every: ["residual.grad"] }),
    context("        return logits", "    return logits;\n}"),
    blank,
    whole("from safetensors.torch import load_file\n", null),
    whole(`model = NextToken(words=93, context=11, d_model=32, heads=${heads})`, null),
    whole('model.load_state_dict(load_file("attention.safetensors"))', null),
    whole(`tokens = torch.tensor([${(tokens ?? []).join(", ")}])`, null),
    whole("targets = tokens[1:]  # the word after each word", null),
    ...(masked ? [whole("mask = torch.ones(11, 11, dtype=torch.bool).triu(diagonal=1)[: len(tokens), : len(tokens)]", null)] : []),
    training("optimizer", has("LR_100"),
      `optimizer = torch.optim.AdamW(model.parameters(), lr=${lr}, eps=1e-4, weight_decay=0.1)`, null),
    context(`logits = model(tokens[:11]${argument})`,
      "heed_tensor *train_step(struct token_model *model, heed_optimizer *adamw, heed_tensor *tokens, heed_tensor *targets)\n{"),
    training("optimizer", has("LR_100"), null, `    adamw->lr = ${lr};`),
    context(null, (masked ? "    heed_tensor *mask = heed_causal_block_mask(heed_size(tokens, 0));\n" : "") +
      `    heed_tensor *logits = forward(model, tokens${argument});\n` +
      "    logits = heed_slice(logits, 0, 0, heed_size(targets, 0), 1);"),
    step("loss_cross", "loss = F.cross_entropy(\n    logits[: len(targets)], targets)",
      "    heed_tensor *loss = heed_cross_entropy(logits, targets);",
      ["loss", "'= cross_entropy(", "logits.used", "',", "targets", "')"],
      [["loss.grad", "'= 1"], ["logits.shares", "'= softmax(", "logits.used", "')"],
        ["logits.grad", "'= (", "logits.shares", "'− onehot(", "targets", "')) ÷ n"]], { order: 2, every: ["loss"] }),
    training("zero_grad", has("NO_ZERO_GRAD"), has("NO_ZERO_GRAD") ? "# optimizer.zero_grad()" : "optimizer.zero_grad()",
      has("NO_ZERO_GRAD") ? "    /* heed_optimizer_zero_grad(adamw); */" : "    heed_optimizer_zero_grad(adamw);"),
    context("loss.backward()", "    heed_backward(loss);"),
    whole("optimizer.step()\nprint(loss.item())", "    heed_optimizer_step(adamw);\n    return loss;\n}"));
  return result;
}

/** A line of training, shown only in the whole program unless a switch has changed it. */
const training = (id, broken, python, c) => ({ ...context(python, c, !broken), id, broken });

// ---- all heads in one matrix, as most code has them ----

const PACKED = { // what a switch of heads changes: [right, wrong] in Python and in C
  SPLIT_VIEW: ["return x.view(len(x), self.heads, -1).transpose(0, 1)",
    "return x.view(self.heads, len(x), -1)",
    "return heed_transpose(heed_reshape(x, HEED_SHAPE(T, heads, -1)), 0, 1);",
    "return heed_reshape(x, HEED_SHAPE(heads, T, -1));"],
  MERGE_VIEW: ["return y.transpose(0, 1).reshape(len(x), -1)",
    "return y.reshape(len(x), -1)",
    "return heed_reshape(heed_transpose(y, 0, 1), HEED_SHAPE(T, -1));", "return heed_reshape(y, HEED_SHAPE(T, -1));"],
  SCALE_D_MODEL: ["scaled_sims = sims / k.size(-1) ** 0.5", "scaled_sims = sims / token_encodings.size(-1) ** 0.5",
    "heed_tensor *scaled_sims = heed_div_scalar(sims, sqrt((double)heed_size(k, -1)));",
    "heed_tensor *scaled_sims = heed_div_scalar(sims, sqrt((double)heed_size(token_encodings, -1)));"],
};

/** The lines with split, merge and scale. */
const packed = (has) => Object.entries(PACKED).map(([name, [right, wrong, c, wrongC]]) =>
  ({ ...context(has(name) ? wrong : right, has(name) ? wrongC : c), broken: has(name) }));

/**
 * The lines in the order of the listing. example: "packed": heads in one matrix; else "tutorial", "pizza" or "own";
 * breaks: a set of BREAKS;
 * masked: whether attention has a mask; tokens: the ids of the sentence. Each: {python, c: text or null,
 * id: its name, if it has one, whole: belongs only to the whole program, broken: a switch has changed it}; steps also
 * have {marks: the names of what they make, reads, formula, back, every}.
 */
export function codeLines({ example, heads = 1, breaks = 0, masked = example !== "tutorial", tokens = null }) {
  const has = (name) => (breaks & BREAKS[name]) !== 0;
  return example === "packed" ? packed(has) : example === "tutorial" ? tutorial(masked, has)
    : model({ heads, masked, has, tokens });
}

/**
 * A formula as terms, in reading order: {before, name, transposed, after}: before and after are symbols, or "". A
 * formula may have several results; the symbol after them begins with "=".
 */
export function termsOf(formula) {
  const terms = [];
  let before = "";
  for (const part of formula) {
    const last = terms[terms.length - 1];
    if (!part.startsWith("'")) {
      terms.push({ before, name: part, transposed: false, after: "" });
      before = "";
      continue;
    }
    if (part.startsWith("'ᵀ")) {
      last.transposed = true;
    }
    before = part.replace(/^'ᵀ? ?/, "");
  }
  if (before !== "") {
    terms[terms.length - 1].after = before;
  }
  return terms;
}

/** The steps among the lines, in the order of computation. */
export function stepsOf(lines) {
  return lines.filter((line) => line.formula !== undefined)
    .map((line, i) => ({ line, key: [line.order, i] }))
    .sort((a, b) => a.key[0] - b.key[0] || a.key[1] - b.key[1])
    .map(({ line }) => line);
}
