// The examples of the class: what is computed, and how the rows and columns of its matrices are called.

import { t } from "./strings.js";
import { state } from "./state.js";
import { run, watched } from "./run.js";
import { Engine } from "./engine.js";
import { sizes } from "./matrix.js";
import { readName } from "./lines.js";

export const TUTORIAL = { words: ["Pizza", "is", "awesome"], encodings: [1.16, 0.23, 0.57, 1.36, 4.41, -2.16] };
const SIMILARITIES = ["sims", "scaled_sims", "masked_sims", "attention_percents"];
const PER_HEAD = new Set(["q", "k", "v", ...SIMILARITIES, "attention_scores"]);
const BETWEEN_WORDS = new Set([...SIMILARITIES, "mask"]);

/** "feature 0", "feature 1", ...; for weights, which lead from features to others, with key "class.to_feature" or
 * "class.from_feature". */
const feature = (count, key = "class.feature") => Array.from({ length: count }, (_, i) => t(key, i));

/** The names of the rows and columns of a weight matrix, stored as (features of the result, features of the input). */
const ofWeight = (height, width) =>
  ({ rows: feature(height, "class.to_feature"), columns: feature(width, "class.from_feature") });

/** Words with a number after each repetition: the, pizza, ..., the (2). */
export function distinct(words) {
  const seen = new Map();
  return words.map((word) => {
    const times = (seen.get(word) ?? 0) + 1;
    seen.set(word, times);
    return times > 1 ? `${word} (${times})` : word;
  });
}

/** {words, ids, heads} of the chosen example: the tutorial's, or the sentence that training watches. */
export function chosenSentence() {
  if (state.example === "tutorial") {
    return { words: TUTORIAL.words, ids: null, heads: 1 };
  }
  const ids = watched().tokens;
  return { words: ids.map((id) => run.language.words[id]), ids, heads: state.heads };
}

let tutorialEngine = null; // a promise

async function beginTutorial() {
  const engine = await Engine.create();
  await engine.alone({ seed: 42, dModel: 2 });
  return engine;
}

/** A pass over the sentence. */
export async function record(sentence) {
  if (sentence.ids !== null) {
    return run.engine.pass(sentence.ids);
  }
  const blocked = state.masked ? [0, 1, 1, 0, 0, 1, 0, 0, 0] : null;
  return (await (tutorialEngine ??= beginTutorial())).passAlone({ encodings: TUTORIAL.encodings, count: 3, blocked });
}

/** A recorded pass by the names of formulas (lines.js): {pass, sentence, heads, head: the shown one, width: of a query, tokens: the words that
 * are the model's input, find(name): {shape, values} that the engine has, or null, others(): what the other heads add to the
 * gradient of the encodings, names(name, shape): of rows and columns}. */
export function named(pass, sentence, chosenHead) {
  const { words, ids } = sentence, { marks, leaves, tensors } = pass;
  const heads = 1 + Math.max(...marks.map((mark) => mark.head)), head = Math.min(chosenHead, heads - 1);
  const count = ids === null ? words.length : Math.min(words.length, run.language.context);
  const tokens = distinct(words.slice(0, count)), vocabulary = run.language.words;

  const made = (name, of) => marks.find((mark) => mark.name === name && mark.head === of) ??
    leaves.find((leaf) => leaf.name.endsWith(heads > 1 && /^W_[qkv]$/.test(name) ? `heads.${of}.${name}.weight` : /^W_|^we$/.test(name) ? `${name}.weight` : name));
  const find = (fullName) => {
    const { base, head: of, gradient, part, step } = readName(fullName);
    if (base === "mask") {
      return { shape: [count, count], values: Uint8Array.from({ length: count ** 2 }, (_, i) => Number(i % count > Math.floor(i / count))) };
    }
    if (base === "targets") {
      return { shape: [Math.min(count, ids.length - 1)], values: ids.slice(1, count + 1) };
    }
    if (part !== undefined || step === "sums" || step === "shares") {
      return null; // explain.js computes it
    }
    const found = made(base, of ?? (PER_HEAD.has(base) || /^W_[qkv]$/.test(base) ? head : 0)), { shape, values } = tensors[gradient ? found.gradient : found.tensor];
    const rows = Math.min(count, (ids?.length ?? 0) - 1);
    return step === "used" ? { shape: [rows, shape[1]], values: values.subarray(0, rows * shape[1]) } : { shape, values };
  };
  const others = () => {
    const { shape: [, width] } = find("token_encodings"), sums = new Float64Array(count * width);
    for (let of = 0; of < heads; of++) {
      for (const name of of === head ? [] : ["q", "k", "v"]) {
        const { shape: [, inner], values: g } = tensors[made(name, of).gradient], { values: W } = tensors[made(`W_${name}`, of).tensor];
        sums.forEach((_, i) => {
          for (let k = 0; k < inner; k++) {
            sums[i] += g[Math.floor(i / width) * inner + k] * W[k * width + (i % width)];
          }
        });
      }
    }
    return sums;
  };

  /** The names of rows and columns. */
  const names = (fullName, shape) => {
    const { base: name, step } = readName(fullName), [height, width] = sizes(shape);
    if (step === "sums") {
      return { rows: tokens, columns: [t("class.sums")] };
    }
    if (BETWEEN_WORDS.has(name)) {
      return { rows: tokens, columns: tokens, corner: t("class.corner") };
    }
    const perHead = heads > 1 ? width / heads : width;
    const byHead = (key) => Array.from({ length: width }, (_, i) => t(key, Math.floor(i / perHead) + 1, i % perHead));
    switch (name) {
      case "W_q": case "W_k": case "W_v": return ofWeight(height, width);
      case "W_o": return { ...ofWeight(height, width), columns: byHead("class.from_head_feature") };
      case "all_heads": return { rows: tokens, columns: byHead("class.head_feature") };
      case "we": case "fc_layer.weight": return { rows: vocabulary, columns: feature(width) };
      case "fc_layer.bias": return { rows: [""], columns: vocabulary };
      case "logits": return { rows: tokens, columns: vocabulary };
      case "targets": return { rows: [""], columns: tokens };
      case "loss": return { rows: [""], columns: [""] };
      default: return { rows: tokens, columns: feature(width) };
    }
  };
  return { pass, sentence, heads, head, width: find("k").shape[1], tokens, find, others, names };
}
