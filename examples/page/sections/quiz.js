// The quiz: why, and what if. Ten questions about attention; what is right is computed from recorded passes where that can be.

import { h, fill } from "../dom.js";
import { t } from "../strings.js";
import { Engine } from "../engine.js";
import { TUTORIAL } from "../example.js";
import { number, percent } from "../matrix.js";
import { STEPS } from "../run.js";
import { largest } from "./story/words.js";

const TRAINED = 500;   // steps

/** The passes that the questions are about. */
async function recordAll() {
  const engine = await Engine.create();
  const language = await engine.start({ seed: 0, heads: 1, lr: 0.02, steps: STEPS, breaks: 0 });
  const pizza = language.words.indexOf("pizza");
  const ids = [...language.heldOut, ...language.train].find((sentence) => sentence[1] === pizza);
  await engine.goTo(TRAINED);
  const trained = await engine.pass(ids);
  await engine.alone({ seed: 42, dModel: 2 });
  return { language, ids, trained, plain: await engine.passAlone({ encodings: TUTORIAL.encodings, count: 3 }) };
}

const find = (pass, name) => [...pass.marks, ...pass.leaves].find((x) => x.name === name || x.name === `${name}.weight`);

function softmax(scores) {
  const powers = scores.map((score) => Math.exp(score - Math.max(...scores))), sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

/** Where the largest share goes if a row of scores changes: 0: up, 1: nowhere, 2: down. */
function changeOf(scores, change) {
  const [before, after] = [scores, scores.map(change)].map((list) => Math.max(...softmax(list)));
  return { right: after > before + 1e-6 ? 0 : after < before - 1e-6 ? 2 : 1, before, after };
}

/** The ten questions: [{id, text, options, right: the number of the right one, why: a sentence}]. */
export function questions({ language, ids, trained, plain }) {
  const scores = Array.from(plain.tensors[find(plain, "scaled_sims").tensor].values.slice(0, 3));
  const of = (id, answers) => ({ id, text: t(`quiz.${id}`), options: Array.from({ length: answers }, (_, i) => t(`quiz.${id}.${i}`)) });
  /** A question whose first option is right; it stands where `at` says. */
  const known = (id, at) => {
    const { options: [right, ...others], ...rest } = of(id, 3);
    return { ...rest, options: others.toSpliced(at, 0, right), right: at, why: t(`quiz.${id}.why`) };
  };
  const shares = ["quiz.share.up", "quiz.share.same", "quiz.share.down"].map((key) => t(key));
  const changed = (id, change) => {
    const { right, before, after } = changeOf(scores, change);
    return { id, text: t(`quiz.${id}`), options: shares, right, why: t(`quiz.${id}.why`, percent(before), percent(after)) };
  };

  const { tensor } = find(trained, "attention_percents"), { shape: [seen], values } = trained.tensors[tensor], { it } = language;
  const said = ids.map((id) => language.words[id]), taken = Array.from(values.slice(it * seen, it * seen + it + 1)), best = largest(taken);
  const possible = ["pizza", "came", "oven", "it"];

  const slope = Math.min(...plain.tensors[find(plain, "W_q").gradient].values);

  return [known("it_twice", 1), changed("longer", (score) => 2 * score), changed("shift", (score) => score + 3),
    known("root", 0), changed("same_keys", () => scores[0]), known("first", 2), known("order", 1), known("cheat", 2),
    { id: "it", text: t("quiz.it", said.slice(0, it + 1).join(" ")), options: possible, right: possible.indexOf(said[best]),
      why: t("quiz.it.why", percent(taken[best]), t("quiz.word", said[best])) },
    { ...of("gradient", 3), text: t("quiz.gradient", number(slope)), right: slope > 0 ? 0 : 2, why: t("quiz.gradient.why") }];
}

/** Builds the section once; returns {show(), now(): the questions, for tests}. */
export function begin(root) {
  let list = [], answers = [];
  const score = h("p.score", { role: "status" }), body = h("ol.quiz");
  const isRight = (question, answer) => answer === question.right;
  const drawScore = () => {
    const given = answers.filter((answer) => answer !== null).length;
    const right = list.filter((question, i) => answers[i] !== null && isRight(question, answers[i])).length;
    fill(score, given < list.length ? t("quiz.score", given, list.length, right)
      : h("strong", {}, t("quiz.done", right, list.length)));
  };
  const drawQuestion = (question, i) => {
    const answer = answers[i], isDone = answer !== null;
    const give = (value) => {
      answers[i] = value;
      const item = drawQuestion(question, i);
      body.children[i].replaceWith(item);
      item.querySelector(".answer").focus({ preventScroll: true });
      drawScore();
    };
    const right = isDone && isRight(question, answer);
    return h("li", { "data-question": question.id },
      h("fieldset", {}, h("legend", {}, question.text),
        question.options.map((option, k) => h("button.option", { type: "button", disabled: isDone,
          onclick: () => give(k), "aria-pressed": isDone ? String(k === answer) : null,
          "data-right": isDone && k === question.right }, option))),
      !isDone ? null : h("p.answer", { tabindex: -1 },
        h("strong", { class: right ? "good" : "bad" }, t(right ? "question.right" : "question.wrong")), " ",
        question.why));
  };
  const begin = () => {
    answers = list.map(() => null);
    fill(body, list.map(drawQuestion));
    drawScore();
  };
  const again = h("button", { type: "button", onclick: begin }, t("quiz.again"));
  const toPrint = h("button", { type: "button", onclick: () => print() }, t("quiz.print"));
  const controls = h("div.toolbar.not-printed", {}, again, toPrint);
  root.append(h("h2", {}, t("quiz.title")), h("p.printed", {}, t("quiz.name"), " ", "_".repeat(40)),
    h("p", {}, t("quiz.intro")), score, body, controls);
  controls.hidden = true;
  let begun = null; // a promise
  const beginOnce = async () => {
    fill(score, t("quiz.loading"));
    list = questions(await recordAll());
    begin();
    controls.hidden = false;
  };
  const show = () => (begun ??= beginOnce().catch((error) => fill(score, h("span.error", {}, error.message))));
  return { show, now: () => list };
}
