// The end: the sentence and all steps as one moving picture, the formula, and three doors.

import { h } from "../../dom.js";
import { t } from "../../strings.js";
import { linkTo } from "../../state.js";
import { story } from "./model.js";
import { still } from "./stage.js";
import { sentencePicture } from "./sentence.js";
import { SENTENCE, ENDINGS, IT, NOUNS, largest, percent, signed } from "./words.js";

const STEPS = ["query", "scores", "shares", "mixture"], PAUSE = 2200; // ms
const DOORS = { code: { tab: "class", example: "pizza", step: 500, line: 8, cell: "attention_percents:8:1" }, training: { tab: "training" }, gpt: { tab: "gpt" } };

export function begin({ ask }) {
  const words = [...SENTENCE, ...ENDINGS.pizza], picture = sentencePicture(t("story.it.picture"));
  let step = 0, timer = 0, read = null;
  const part = (of, text) => h("span", { "data-step": of }, text);
  const formula = h("p.end-formula", { role: "img", "aria-label": "softmax(q k^T / sqrt(d)) v" }, part("shares", "softmax("),
    part("query", " q"), part("scores", " kᵀ / √d "), part("shares", ")"), part("mixture", " v"));
  const steps = STEPS.map((name, i) => h("button.story-choice", { type: "button", onclick: () => {
    clearTimeout(timer);
    go(i);
  } }, t(`story.end.${name}`)));
  const again = h("button.story-choice", { type: "button", onclick: () => play(0) }, t("story.end.play"));
  const doors = h("ul.story-doors", {}, Object.entries(DOORS).map(([name, to]) => h("li", {}, h("a", { href: linkTo({ story: 11, ...to }) },
    h("b", {}, t(`story.end.${name}`)), h("span", {}, t(`story.end.${name}.is`))))));
  const element = h("div.story-screen", {}, formula, picture.element, h("div.story-actions", {}, steps, again), doors);

  function go(to) {
    step = to;
    const name = STEPS[step];
    steps.forEach((button, i) => button.setAttribute("aria-pressed", i === step));
    formula.querySelectorAll("span").forEach((span) => span.classList.toggle("now", span.dataset.step === name));
    const rows = name === "query" ? [] : name === "scores" ? [words.map(() => 1 / words.length)] : [read.percents];
    const most = largest(read.percents), meant = name === "shares" || name === "mixture";
    picture.show({ words: name === "mixture" ? words.map((word, i) => (i === IT ? words[most] : word)) : words, from: IT, reserve: true,
      heads: rows, numbers: name === "scores" ? read.scores.map((score) => signed(score, 1)) : null,
      classes: { [IT]: "it", ...(meant ? { [most]: "meant" } : {}) } });
    ask(`${name}.is`, signed(read.q[0], 1), signed(read.q[1], 1), percent(read.percents[NOUNS.pizza]), words[most]);
  }
  function play(from) {
    clearTimeout(timer);
    go(from);
    if (from < STEPS.length - 1) {
      timer = setTimeout(() => play(from + 1), PAUSE);
    }
  }
  return { element, async show() {
    const first = read === null;
    read = await (await story()).read("pizza");
    first && !still() ? play(0) : go(first ? STEPS.length - 1 : step);
  }, hide() {
    clearTimeout(timer);
  } };
}
