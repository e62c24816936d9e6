// The boxes of the map, in the order in which the model computes them.

/** {id, kind, block, parts: [name in the box, name of the engine's part (gpt_map.h), kind of its colours], code} of each
 * box of a model. */
export function boxesOf({ layers }) {
  const boxes = [
    { id: "text", kind: "text", parts: [], code: "ids = tokenizer(text)" },
    { id: "wte", kind: "wte", parts: [["wte", "wte"]], code: "wte[ids]" },
    { id: "wpe", kind: "wpe", parts: [["wpe", "wpe"]], code: "wpe[:T]" },
    { id: "stream.0", kind: "stream", stage: 0, parts: [["x", "stream.0"]], code: "x = wte[ids] + wpe[:T]" },
  ];
  for (let i = 0; i < layers; i++) {
    const part = (name) => `h.${i}.${name}`;
    boxes.push(
      { id: part("ln_1"), kind: "norm", block: i, parts: [["ln_1(x)", part("ln_1")]],
        code: "ln_1(x) = (x − mean) / √(variance + 0.00001) · weight + bias" },
      { id: part("attn"), kind: "attention", block: i, parts: [["percent", part("percent"), "causal"], ["q", part("q")],
        ["k", part("k")], ["v", part("v")], ["heads", part("mixed")], ["attn", part("attn")]],
        code: "attn = c_proj(heads),  heads = percent · v,  percent = softmax(mask(q · kᵀ / √width))" },
      { id: `stream.${2 * i + 1}`, kind: "stream", stage: 2 * i + 1, parts: [["x", `stream.${2 * i + 1}`]],
        code: "x = x + attn(ln_1(x))" },
      { id: part("ln_2"), kind: "norm", block: i, parts: [["ln_2(x)", part("ln_2")]],
        code: "ln_2(x) = (x − mean) / √(variance + 0.00001) · weight + bias" },
      { id: part("mlp"), kind: "feed", block: i, parts: [["hidden", part("act")], ["c_fc", part("fc")], ["mlp", part("mlp")]],
        code: "mlp = c_proj(hidden),  hidden = gelu_tanh(c_fc(ln_2(x)))" },
      { id: `stream.${2 * i + 2}`, kind: "stream", stage: 2 * i + 2, parts: [["x", `stream.${2 * i + 2}`]],
        code: "x = x + mlp(ln_2(x))" });
  }
  boxes.push({ id: "ln_f", kind: "norm", parts: [["ln_f(x)", "ln_f"]],
    code: "ln_f(x) = (x − mean) / √(variance + 0.00001) · weight + bias" },
  { id: "logits", kind: "logits", parts: [["percent", "shares", "percent"], ["logits", "logits"]],
    code: "percent = softmax(logits),  logits = lm_head(ln_f(x))" });
  return boxes;
}

/** How many learned numbers a box has: [formula, number], or null. */
export function weightsOf({ kind }, { vocab, context, width: C }) {
  return {
    wte: [`${vocab} × ${C}`, vocab * C],
    wpe: [`${context} × ${C}`, context * C],
    norm: [`${C} + ${C}`, 2 * C],
    attention: [`${C} × ${3 * C} + ${3 * C} + ${C} × ${C} + ${C}`, 4 * C * C + 4 * C],
    feed: [`${C} × ${4 * C} + ${4 * C} + ${4 * C} × ${C} + ${C}`, 8 * C * C + 5 * C],
  }[kind] ?? null;
}

/** The parts that add up to the residual stream after n additions: {norm: the engine's part, name, block}. */
export function summands(n) {
  const parts = [{ key: "wte" }, { key: "wpe" }];
  for (let i = 0; i < n; i++) {
    const name = i % 2 === 0 ? "attn" : "mlp", block = Math.floor(i / 2);
    parts.push({ key: `h.${block}.${name}`, name, block });
  }
  return parts;
}

/** A large number, its digits in groups of three; German would write a point, which reads as a decimal point elsewhere. */
export const grouped = (n) => n.toLocaleString(document.documentElement.lang === "en" ? "en" : "fr");

const SIGNS = { " ": "␣", "\n": "⏎", "\t": "⇥" };

/** A token as it is shown: blanks as signs. */
export const shown = (token) => [...token].map((c) => SIGNS[c] ?? c).join("").slice(0, 12);
