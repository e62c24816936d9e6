// The class that the page steps through, in PyTorch, line by line: what each line makes and what it reads.

/** A line that is no step. */
const context = (python) => ({ python, marks: [], reads: [] });
const blank = context("");

/**
 * A step. formula: the result, then how it is made of other matrices: marks of forward.h; "we", "W_q", "W_o",
 * "fc_layer.weight", "fc_layer.bias": weights; "positions", "mask", "targets": inputs; "q@1": that of the second head.
 * A part that begins with ' is a symbol; 'ᵀ belongs to the matrix before it. back: formulas of the gradients:
 * "q.grad"; "x.grad@q": what step q adds to it; "attention_percents.sums", "logits.shares": steps on the way; "logits.used": the rows that have a target.
 * every: [names of results whose formula needs all words of the vocabulary]. order: groups of steps are computed in
 * this order, default 0.
 */
function step(id, python, formula, back, { order = 0, every = [] } = {}) {
  const names = formula.filter((part) => !part.startsWith("'"));
  return { id, python, formula, back, marks: [names[0]], reads: names.slice(1).map((name) => name.replace(/\.used$/, "")), order, every };
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

// ---- one head ----

/** forward of SelfAttention without its first and last line. */
function headLines(masked, heads, model) {
  const sims = masked ? "masked_sims" : "scaled_sims";
  return [
    step("q", "        q = self.W_q(token_encodings)",
      ...withTotal(linear("q", X, "W_q", { into: partOf("q") }), allParts(model, 3 * (heads - 1)))),
    step("k", "        k = self.W_k(token_encodings)", ...linear("k", X, "W_k", { into: partOf("k") })),
    step("v", "        v = self.W_v(token_encodings)", ...linear("v", X, "W_v", { into: partOf("v") })),
    step("sims", "        sims = torch.matmul(q,\n            k.transpose(self.row_dim, self.col_dim))", ...linear("sims", "q", "k")),
    step("scaled_sims", "        scaled_sims = sims / k.size(self.col_dim) ** 0.5",
      ["scaled_sims", "'=", "sims", "'÷ √d"], [["sims.grad", "'=", "scaled_sims.grad", "'÷ √d"]]),
    ...(masked ? [step("masked_sims", '        masked_sims = scaled_sims.masked_fill(\n            mask, float("-inf"))',
      ["masked_sims", "'=", "scaled_sims", "'−∞ ←", "mask"],
      [["scaled_sims.grad", "'=", "masked_sims.grad", "'0 ←", "mask"]])] : []),
    step("attention_percents", `        attention_percents = F.softmax(\n            ${sims}, dim=self.col_dim)`,
      ["attention_percents", "'= softmax(", sims, "')"],
      [["attention_percents.sums", "'= Σ→", "attention_percents", "'∘", "attention_percents.grad"],
        [`${sims}.grad`, "'=", "attention_percents", "'∘ (", "attention_percents.grad", "'−", "attention_percents.sums", "')"]]),
    step("attention_scores", "        attention_scores = torch.matmul(\n            attention_percents, v)",
      ["attention_scores", "'=", "attention_percents", "'·", "v"],
      [["attention_percents.grad", "'=", "attention_scores.grad", "'·", "v", "'ᵀ"],
        ["v.grad", "'=", "attention_percents", "'ᵀ ·", "attention_scores.grad"]]),
    context("        return attention_scores"),
  ];
}

/** The formulas of linear(), and one more of backward. */
const withTotal = ([formula, back], total) => [formula, [...back, total]];

const headClass = (masked, heads = 1, model = true) => [
  context("class SelfAttention(nn.Module):"),
  context(`    def forward(self, token_encodings${masked ? ", mask" : ""}):`),
  ...headLines(masked, heads, model)];

// ---- attention alone, as in the tutorial ----

const tutorial = (masked) => [
  ...headClass(masked, 1, false),
  blank,
  step("loss_squares", `loss = (attention(token_encodings${masked ? ", mask" : ""}) ** 2).sum()`,
    ["loss", "'= Σ", "attention_scores", "'²"],
    [["loss.grad", "'= 1"], ["attention_scores.grad", "'= 2 ·", "attention_scores"]]),
  context("loss.backward()")];

// ---- the next-token model ----

function model(heads) {
  const attended = heads > 1 ? "projected" : "attention_scores";
  const last = Array.from({ length: heads }, (_, i) => `attention_scores@${i}`);
  return [
    ...headClass(true, heads), blank,
    ...(heads === 1 ? [] : [
      context("class MultiHead(nn.Module):"),
      context("    def forward(self, token_encodings, mask):"),
      step("all_heads", "        all_heads = torch.cat([\n            head(token_encodings, mask)\n            for head in self.heads], dim=1)",
        ["all_heads", "'= cat(", ...last, "')"],
        [[...last.map((name) => `${name}.grad`), "'= split(", "all_heads.grad", "')"]], { order: 1 }),
      step("projected", "        projected = self.W_o(all_heads)", ...linear("projected", "all_heads", "W_o"), { order: 1 }),
      context("        return projected"),
      blank]),
    context("class NextToken(nn.Module):"),
    context("    def forward(self, tokens, mask):"),
    step("embeddings", "        embeddings = self.we(tokens)", ["embeddings", "'=", "we", "'[tokens]"],
      [["we.grad", "'= Σ by word", "embeddings.grad"]], { order: -1 }),
    step("token_encodings", "        token_encodings = self.pe(embeddings)", ["token_encodings", "'=", "embeddings", "'+", "positions"],
      [["embeddings.grad", "'=", "token_encodings.grad"]], { order: -1 }),
    context(`        ${attended} = self.${heads > 1 ? "multi_head" : "self_attention"}(\n            token_encodings, mask)`),
    step("residual", `        residual = token_encodings + ${attended}`, ["residual", "'=", "token_encodings", "'+", attended],
      [[`${attended}.grad`, "'=", "residual.grad"], [partOf("residual"), "'=", "residual.grad"]], { order: 2 }),
    step("logits", "        logits = self.fc_layer(residual)", ...linear("logits", "residual", "fc_layer.weight", { bias: "fc_layer.bias" }),
      { order: 2, every: ["residual.grad"] }),
    context("        return logits"),
    blank,
    context("logits = model(tokens, mask)"),
    step("loss_cross", "loss = F.cross_entropy(\n    logits[: len(targets)], targets)",
      ["loss", "'= cross_entropy(", "logits.used", "',", "targets", "')"],
      [["loss.grad", "'= 1"], ["logits.shares", "'= softmax(", "logits.used", "')"],
        ["logits.grad", "'= (", "logits.shares", "'− onehot(", "targets", "')) ÷ n"]], { order: 2, every: ["loss"] }),
    context("loss.backward()"),
  ];
}

/**
 * The lines in the order of the listing. example: "tutorial", with or without a mask, "pizza" or "own". Each: {python: text};
 * steps also have {id: their name, marks: the names of what they make, reads, formula, back, every}.
 */
export const codeLines = ({ example, heads = 1, masked }) => (example === "tutorial" ? tutorial(masked) : model(heads));

/** A name of a formula: {base: the matrix, head: from 0, or null, gradient, part: the step that adds it, step: of the way to a
 * gradient}. */
export function readName(name) {
  const [, base, head, gradient, part, step] = /^(.+?)(?:@(\d+))?(?:(\.grad)(?:@(\w+))?|\.(sums|shares|used))?$/.exec(name);
  return { base, head: head === undefined ? null : Number(head), gradient: gradient !== undefined, part, step };
}

/** The formulas of a line, forward or backward. */
export const formulasOf = (line, backward) => (backward ? line.back : [line.formula]);

/** The results of a formula: most have one. */
export function resultsOf(formula) {
  const equals = formula.findIndex((part) => part.startsWith("'="));
  return equals < 0 ? formula : formula.slice(0, equals); // a matrix alone
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
