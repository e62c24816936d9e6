// The quiz: ten questions about attention, whose numbers and answers come from recorded passes.

import { h, fill } from "../dom.js";
import { t } from "../strings.js";
import { Engine } from "../engine.js";
import { TUTORIAL, feature } from "../example.js";
import { matrix, number } from "../matrix.js";
import { explain } from "../explain.js";
import { STEPS } from "../run.js";
import { choose, formulaText, isNear, typed } from "./asking.js";

const TRAINED = 500;   // steps
const CHANGE = 0.01;   // of a weight
const KINDS = { attention_percents: "percent" };
const CAUSAL = [0, 1, 1, 0, 0, 1, 0, 0, 0];

/** The passes that the questions are about. */
async function recordAll() {
  const engine = await Engine.create();
  const language = await engine.start({ seed: 0, heads: 1, lr: 0.02, steps: STEPS, breaks: 0 });
  const pizza = language.words.indexOf("pizza");
  const ids = [...language.heldOut, ...language.train].find((sentence) => sentence[1] === pizza);
  const untrained = await engine.pass(ids);
  await engine.goTo(TRAINED);
  const trained = await engine.pass(ids);
  await engine.alone({ seed: 42, dModel: 2, heads: 1 });
  const alone = (blocked) => engine.passAlone({ encodings: TUTORIAL.encodings, count: 3, blocked });
  const masked = await alone(CAUSAL), plain = await alone(null); // the last one is that of engine.losses
  return { engine, language, ids, untrained, trained, masked, plain };
}

const find = (pass, name) =>
  [...pass.marks, ...pass.leaves].find((x) => x.name === name || x.name === `${name}.weight`);
const tensorOf = (pass, name) => pass.tensors[find(pass, name).tensor];
const shapeText = (shape) => shape.join(" × ");
const percent = (value) => `${number(100 * value, 1)} %`;

/** Whole numbers below a limit that follow from a seed. */
function chooser(seed) {
  let state = (seed + 1) * 2654435761 % 2 ** 32;
  return (limit) => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return Math.floor(state / 2 ** 32 * limit);
  };
}

/** The ten questions: [{id, text, tables: [elements], options and right: the number of the right one, or value: to be
 * typed, why: a sentence}]. round: which numbers they are about. */
export async function questions(data, round) {
  const { engine, language, ids, untrained, trained, masked, plain } = data, any = chooser(round);
  const { words } = TUTORIAL, said = ids.map((id) => language.words[id]);
  const rowsOf = (pass, name, pickRows, columns = null) => {
    const { shape, values } = tensorOf(pass, name);
    return matrix({ tensor: find(pass, name).tensor, name, shape, values, pickRows, rows: words,
      columns: columns ?? feature(shape[1]), kind: KINDS[name] }).element;
  };
  const cell = (pass, name, index) => {
    const { tensor } = find(pass, name);
    return { value: Number(pass.tensors[tensor].values[index]), formula: formulaText(explain(pass, tensor, index)) };
  };
  const query = any(3), key = (query + 1 + any(2)) % 3, at = 3 * query + key;
  const quoted = words.map((word) => t("quiz.word", word)), ask = [];

  const dot = cell(plain, "sims", at);
  ask.push({ id: "dot", text: t("quiz.dot", quoted[query], quoted[key]), value: dot.value,
    tables: [rowsOf(plain, "q", [query]), rowsOf(plain, "k", [key])],
    why: t("quiz.dot.why", dot.formula) });

  const [q, k, sims] = ["q", "k", "sims"].map((name) => tensorOf(plain, name).shape);
  const shapes = [...new Set([q, sims, [k[1], q[1]], [...k].reverse()].map(shapeText))];
  ask.push({ id: "shape", text: t("quiz.shape", shapeText(q), shapeText(k)), options: shapes,
    right: shapes.indexOf(shapeText(sims)), why: t("quiz.shape.why", shapeText(sims)) });

  const scaled = cell(plain, "scaled_sims", at);
  ask.push({ id: "scale", text: t("quiz.scale", quoted[query], quoted[key], number(dot.value), k[1]),
    value: scaled.value, why: t("quiz.scale.why", scaled.formula) });

  const row = any(3), shares = tensorOf(plain, "attention_percents").values;
  const percents = [...shares.slice(3 * row, 3 * row + 3)], largest = percents.indexOf(Math.max(...percents));
  ask.push({ id: "softmax", text: t("quiz.softmax", quoted[row]), tables: [rowsOf(plain, "scaled_sims", [row], words)],
    options: words, right: largest, why: t("quiz.softmax.why", percents.map(percent).join(", ")) });

  const rest = any(3), [a, b] = [0, 1, 2].filter((i) => i !== rest);
  ask.push({ id: "rest", text: t("quiz.rest", quoted[row], quoted[a], percent(percents[a]), quoted[b],
    percent(percents[b]), quoted[rest]), value: 100 * percents[rest],
    why: t("quiz.rest.why", percent(percents[rest])) });

  const own = cell(masked, "attention_percents", 0);
  ask.push({ id: "mask", text: t("quiz.mask", quoted[0]), value: 100 * own.value,
    why: t("quiz.mask.why", percent(own.value)) });

  const mixed = any(3), of = any(2), mix = cell(plain, "attention_scores", 2 * mixed + of);
  ask.push({ id: "mix", text: t("quiz.mix", quoted[mixed], feature(2)[of]),
    tables: [rowsOf(plain, "attention_percents", [mixed], words), rowsOf(plain, "v", [0, 1, 2])],
    value: mix.value, why: t("quiz.mix.why", mix.formula) });

  const { shape: [seen], values: attention } = tensorOf(trained, "attention_percents"), { it } = language;
  const order = Array.from({ length: it + 1 }, (_, i) => i), share = (i) => Number(attention[it * seen + i]);
  const [best, next] = [...order].sort((x, y) => share(y) - share(x));
  const possible = choose(order.filter((i) => i === best || said[i] !== said[best]), best);
  ask.push({ id: "it", text: t("quiz.it", said.slice(0, it + 1).join(" ")), options: possible.map((i) => said[i]),
    right: possible.indexOf(best),
    why: t("quiz.it.why", ...[best, next].flatMap((i) => [percent(share(i)), t("quiz.word", said[i])])) });

  const leaf = any(3), name = ["W_q", "W_k", "W_v"][leaf], place = any(4), { tensor, gradient } = find(plain, name);
  const slope = Number(plain.tensors[gradient].values[place]), weight = Number(plain.tensors[tensor].values[place]);
  const leafAt = plain.leaves.findIndex((x) => x.tensor === tensor);
  const [before, after] = await engine.losses({ leaf: leafAt, cell: place, values: [weight, weight + CHANGE] });
  const size = number(Math.abs(slope * CHANGE), 2);
  const weightName = `${name}[${Math.floor(place / 2)}, ${place % 2}]`;
  ask.push({ id: "gradient", text: t("quiz.gradient", weightName, number(slope), CHANGE),
    options: [t("quiz.gradient.falls", size), t("quiz.gradient.stays"), t("quiz.gradient.grows", size)],
    right: after < before ? 0 : after > before ? 2 : 1,
    why: t("quiz.gradient.why", number(slope * CHANGE), number(before), number(after)) });

  const lossOf = (pass) => Number(pass.tensors[pass.loss].values[0]), count = language.words.length;
  const guesses = [0, 1, Math.log(count), count], nearest = (x) =>
    guesses.reduce((found, guess, i) => (Math.abs(guess - x) < Math.abs(guesses[found] - x) ? i : found), 0);
  ask.push({ id: "loss", text: t("quiz.loss", count),
    options: guesses.map((x) => (Number.isInteger(x) ? String(x) : number(x, 1))), right: nearest(lossOf(untrained)),
    why: t("quiz.loss.why", count,
      ...[Math.log(count), lossOf(untrained), lossOf(trained)].map((x) => number(x, 2))) });
  return ask;
}

/** Builds the section once; returns {show(), now(): the questions, for tests}. */
export function begin(root) {
  let data = null, round = 0, list = [], answers = [];
  const score = h("p.score", { role: "status" }), body = h("ol.quiz");
  const isRight = (question, answer) =>
    (question.options === undefined ? isNear(typed(answer), question.value) : answer === question.right);
  const drawScore = () => {
    const given = answers.filter((answer) => answer !== null).length;
    const right = list.filter((question, i) => answers[i] !== null && isRight(question, answers[i])).length;
    fill(score, given < list.length ? t("quiz.score", given, list.length, right)
      : h("strong", {}, t("quiz.done", right, list.length)));
  };
  const drawQuestion = (question, i) => {
    const answer = answers[i], isDone = answer !== null, isChoice = question.options !== undefined;
    const field = h("input", { type: "text", inputmode: "decimal", size: 8, autocomplete: "off",
      "aria-label": t("quiz.number", i + 1), disabled: isDone, value: isDone ? answer : "" });
    const give = (value) => {
      answers[i] = value;
      const item = drawQuestion(question, i);
      body.children[i].replaceWith(item);
      item.querySelector(".answer").focus({ preventScroll: true });
      drawScore();
    };
    const right = isDone && isRight(question, answer);
    return h("li", { "data-question": question.id },
      h("form", { onsubmit: (event) => {
        event.preventDefault();
        if (!Number.isNaN(typed(field.value))) {
          give(field.value);
        }
      } }, h("fieldset", {}, h("legend", {}, question.text), h("div.quiz-tables", {}, question.tables ?? []),
        isChoice ? question.options.map((option, k) => h("button.option", { type: "button", disabled: isDone,
          onclick: () => give(k), "aria-pressed": isDone ? String(k === answer) : null,
          "data-right": isDone && k === question.right }, option))
          : [field, " ", h("button", { disabled: isDone }, t("question.check")), " ",
            h("span.faint.not-printed", {}, t("question.digits"))])),
      !isDone ? null : h("p.answer", { tabindex: -1 },
        h("strong", { class: right ? "good" : "bad" }, t(right ? "question.right" : "question.wrong")), " ",
        question.why));
  };
  const draw = async () => {
    list = await questions(data, round);
    answers = list.map(() => null);
    fill(body, list.map(drawQuestion));
    drawScore();
  };
  const again = h("button", { type: "button", onclick: () => {
    round++;
    draw();
  } }, t("quiz.again"));
  const toPrint = h("button", { type: "button", onclick: () => print() }, t("quiz.print"));
  const controls = h("div.toolbar.not-printed", {}, again, toPrint);
  root.append(h("h2", {}, t("quiz.title")), h("p.printed", {}, t("quiz.name"), " ", "_".repeat(40)),
    h("p", {}, t("quiz.intro", TRAINED)), score, body, controls);
  controls.hidden = true;
  let begun = null; // a promise
  const beginOnce = async () => {
    fill(score, t("quiz.loading"));
    data = await recordAll();
    await draw();
    controls.hidden = false;
  };
  const show = () => (begun ??= beginOnce().catch((error) => fill(score, h("span.error", {}, error.message))));
  return { show, now: () => list };
}
