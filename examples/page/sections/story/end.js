// The end: the sentence and all steps as one moving picture, the formula, and three doors.

import { h } from "../../dom.js";
import { t } from "../../strings.js";
import { linkTo } from "../../state.js";
import { still, choice, choices, actions } from "./stage.js";
import { sentencePicture } from "./sentence.js";
import { WORDS, IT, NOUNS, largest, percent, signed } from "./words.js";

const STEPS = ["query", "scores", "shares", "mixture"], PAUSE = 2200; // ms
const DOORS = { code: { tab: "class", example: "pizza", step: 500, line: 8, cell: "attention_percents:8:1" },
  training: { tab: "training" }, gpt: { tab: "gpt" } };

export function begin({ ask, pizza: { q, scores, percents } }) {
  const picture = sentencePicture(t("story.it.picture"));
  const above = scores.map((score) => Math.max(0, score)), all = above.reduce((sum, x) => sum + x, 0);
  const reach = above.map((x) => x / all); // of the arcs, before there are shares
  let step = null, timer = 0;
  const part = (of, text) => h("span", { "data-step": of }, text);
  const formula = h("p.end-formula", { role: "img", "aria-label": "softmax(q k^T / sqrt(d)) v" }, part("shares", "softmax("),
    part("query", "q"), " ", part("scores", "kᵀ / √d"), part("shares", ")"), " ", part("mixture", "v"));
  const steps = choices(STEPS, (name) => t(`story.end.${name}`), (name) => {
    clearTimeout(timer);
    go(name);
  });
  const doors = h("ul.story-doors", {}, Object.entries(DOORS).map(([name, to]) => h("li", {},
    h("a", { href: linkTo({ story: 11, ...to }) }, h("b", {}, t(`story.end.${name}`)), h("span", {}, t(`story.end.${name}.is`))))));
  const element = h("div.story-screen", {}, formula, picture.element,
    actions(steps.element, choice(t("story.end.play"), () => play(0))), doors);

  function go(to) {
    step = to;
    steps.mark(step);
    formula.querySelectorAll("span").forEach((span) => span.classList.toggle("now",
      span.dataset.step === step || (step === "scores" && span.dataset.step === "query")));
    const most = largest(percents), mixed = step === "mixture", shares = mixed || step === "shares";
    picture.show({ words: WORDS.map((word, i) => (mixed && i === IT ? WORDS[most] : word)), from: IT,
      heads: shares ? [percents] : step === "scores" ? [reach] : [],
      numbers: step === "scores" ? scores.map((score) => signed(score, 1)) : null,
      classes: { [IT]: "it", ...(shares ? { [most]: "meant" } : {}) } });
    ask(`${step}.is`, signed(q[0], 1), signed(q[1], 1), percent(percents[NOUNS.pizza]), WORDS[most]);
  }
  function play(i) {
    clearTimeout(timer);
    go(STEPS[i]);
    timer = i < STEPS.length - 1 ? setTimeout(() => play(i + 1), PAUSE) : 0;
  }
  const show = () => (step !== null ? go(step) : still() ? go("mixture") : play(0));
  return { element, show, hide: () => clearTimeout(timer) };
}
