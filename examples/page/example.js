// The examples of the class: what is computed, and how the rows and columns of its matrices are called.

import { t } from "./strings.js";
import { state } from "./state.js";
import { run } from "./run.js";
import { readSentence } from "./words.js";
import { Engine } from "./engine.js";
import { sizes } from "./matrix.js";

export const TUTORIAL = { words: ["Pizza", "is", "awesome"], encodings: [1.16, 0.23, 0.57, 1.36, 4.41, -2.16] };
const SIMILARITIES = ["sims", "scaled_sims", "masked_sims", "attention_percents"];
const PER_HEAD = new Set(["q", "k", "v", ...SIMILARITIES, "attention_scores"]);
const BETWEEN_WORDS = new Set([...SIMILARITIES, "mask"]);

/** "feature 0", "feature 1", ...; for weights, which lead from features to others, with key "class.to_feature" or
 * "class.from_feature". */
export const feature = (count, key = "class.feature") => Array.from({ length: count }, (_, i) => t(key, i));

/** The names of the rows and columns of a weight matrix, stored as (features of the result, features of the input). */
export const ofWeight = (height, width) =>
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

function pizzaSentence() {
  const { heldOut, train, words } = run.language;
  return [...heldOut, ...train].find((ids) => ids[1] === words.indexOf("pizza")) ?? heldOut[0];
}

/** {words, ids, heads} of the chosen example, or {problem: a sentence}. */
export function chosenSentence() {
  const { words } = run.language;
  if (state.example === "tutorial") {
    return { words: TUTORIAL.words, ids: null, heads: 1 };
  }
  const own = readSentence(state.sentence);
  if (state.example === "own" && own.problem !== null) {
    return { problem: `${own.problem} ${t("own.where", t("tab.training"))}` };
  }
  const ids = state.example === "own" ? own.ids : pizzaSentence();
  return { words: ids.map((id) => words[id]), ids, heads: state.heads };
}

let tutorialEngine = null; // a promise

async function beginTutorial() {
  const engine = await Engine.create();
  await engine.alone({ seed: 42, dModel: 2, heads: 1 });
  return engine;
}

/** The engine that computes the example, or a promise of it. */
const engineOf = (sentence) => (sentence.ids !== null ? run.engine : (tutorialEngine ??= beginTutorial()));

function passOn(engine, sentence) {
  if (sentence.ids !== null) {
    return engine.pass(sentence.ids);
  }
  const blocked = state.masked ? [0, 1, 1, 0, 0, 1, 0, 0, 0] : null;
  return engine.passAlone({ encodings: TUTORIAL.encodings, count: 3, blocked });
}

/** Records a pass over the sentence. */
export async function record(sentence) {
  return passOn(await engineOf(sentence), sentence);
}

/** Names for a recorded pass: {pass, sentence, heads, head: the shown one, tokens: the words that are the model's input,
 * find, names, otherParts}. */
export function named(pass, sentence, chosenHead) {
  const { words } = sentence;
  const heads = 1 + Math.max(...pass.marks.map((mark) => mark.head)), head = Math.min(chosenHead, heads - 1);
  const context = sentence.ids === null ? words.length : Math.min(words.length, run.language.context);
  const tokens = distinct(words.slice(0, context));
  const vocabulary = run.language.words;

  const leafName = (name) => {
    const path = heads > 1 && /^W_[qkv]$/.test(name) ? `heads.${head}.${name}` : name;
    return /^W_|^we$/.test(name) ? `${path}.weight` : path;
  };
  const input = (op, mark) => {
    const made = pass.marks.find((m) => m.name === mark && (m.head === head || !PER_HEAD.has(mark)));
    const entry = made && pass.entries.find((e) => e.op === op && e.result === made.tensor);
    return entry === undefined ? null : { tensor: entry.inputs[1], gradient: -1 };
  };

  /** The result of the entry of backward with this operation whose inputs are these, in any order. */
  const made = (op, ...inputs) => pass.entries.find((e) => e.op === op && e.backward &&
    inputs.every((tensor) => e.inputs.includes(tensor)))?.result ?? -1;

  /** {tensor, gradient} of a matrix of a formula (lines.js). */
  const find = (fullName) => {
    const [, value, part] = /^(.+)\.grad(?:@(\w+))?$/.exec(fullName) ?? [];
    if (part === "residual") {
      return { tensor: find(part).gradient, gradient: -1 };
    }
    if (value !== undefined) {
      return { tensor: part === undefined ? find(value).gradient
        : made("matmul", find(part).gradient, find(`W_${part}`).tensor), gradient: -1 };
    }
    if (fullName.endsWith(".sums")) {
      const { tensor, gradient } = find(fullName.slice(0, -5));
      return { tensor: made("sum", made("mul", tensor, gradient)), gradient: -1 };
    }
    if (fullName === "logits.used") {
      return { tensor: pass.entries.find((e) => e.op === "cross_entropy").inputs[0], gradient: -1 };
    }
    if (fullName === "logits.shares") {
      return { tensor: made("softmax"), gradient: -1 };
    }
    const [name, of] = fullName.split("@");
    const special = { positions: ["add", "token_encodings"], mask: ["masked_fill", "masked_sims"],
      targets: ["cross_entropy", "loss"] }[name];
    if (special !== undefined) {
      return input(...special);
    }
    const inHead = of !== undefined ? Number(of) : PER_HEAD.has(name) ? head : 0;
    const leaf = leafName(name);
    return pass.marks.find((m) => m.name === name && m.head === inHead) ??
      pass.leaves.find((l) => l.name === leaf || l.name.endsWith(`.${leaf}`)) ?? null;
  };
  /** The tensors that the other heads add to the gradient of the encodings. */
  const otherParts = () => Array.from({ length: heads }, (_, of) => of).filter((of) => of !== head)
    .flatMap((of) => ["q", "k", "v"].map((name) => made("matmul",
      pass.marks.find((m) => m.name === name && m.head === of).gradient,
      pass.leaves.find((l) => l.name.endsWith(`heads.${of}.W_${name}.weight`)).tensor)));

  /** The names of rows and columns. */
  const names = (fullName) => {
    const name = fullName.replace(/\.grad(@\w+)?$|\.(shares|used)$/, "").split("@")[0], found = find(fullName);
    const [height, width] = sizes(pass.tensors[found.tensor].shape);
    if (name.endsWith(".sums")) {
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
  return { pass, sentence, heads, head, tokens, find, names, otherParts };
}

/** The losses that queries of Engine.losses ask for, of the pass over the sentence. It is recorded again, as the engine
 * answers for the last pass that anybody asked for. */
export async function losses(sentence, queries) {
  const engine = await engineOf(sentence);
  const [, ...found] = await Promise.all([passOn(engine, sentence), ...queries.map((query) => engine.losses(query))]);
  return found;
}
