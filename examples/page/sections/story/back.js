// Screen 5: two next-token models learn, with the curtain (the causal mask) and without; without, the model cheats.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { train } from "./lab.js";
import { stage } from "./stage.js";
import { sentencePicture } from "./sentence.js";
import { curves } from "./curve.js";
import { signed } from "./words.js";

export const UNTIL = 300; // steps
const KINDS = { closed: "", open: "none" }; // the curtain, and its mask

export function begin({ ask }) {
  const picture = sentencePicture(t("story.back.picture"));
  const losses = { closed: [], open: [] }, trained = {};
  let curtain = "closed", begun = null, words = [], it = 8;
  const chart = stage(drawChart, t("story.back.chart"));
  const spoken = h("p.unseen", { role: "status" });
  const buttons = Object.keys(KINDS).map((kind) => h("button.story-choice", { type: "button", onclick: () => {
    curtain = kind;
    draw();
  } }, t(`story.back.${kind}`)));
  const actions = h("div.story-actions", {}, buttons);
  const element = h("div.story-screen.two", {}, h("div.story-holder", {}, picture.element, actions), chart.element, spoken);

  function drawChart(width, height) {
    fill(chart.back, curves({ x: 34, y: 8, width: width - 50, height: height - 40, steps: UNTIL, most: 5,
      loss: t("story.loss"), step: t("story.steps"), curves: Object.keys(KINDS).map((kind) => ({ losses: losses[kind], name: kind,
        label: trained[kind] === undefined ? undefined : `${t(`story.back.${kind}.short`)} ${signed(trained[kind].measured.score.loss)}` })) }));
  }
  /** The cloth over the words that the curtain hides. */
  function cloth(place, { upright, spots, size, width, height }) {
    const next = spots[it + 1];
    if (curtain === "open" || next === undefined) {
      return;
    }
    const from = upright ? next.y - next.step / 2 : next.x - next.width / 2 - size * 0.22;
    place.back.append(svg("rect", upright ? { x: 0, y: from, width, height: height - from, class: "story-curtain" }
      : { x: from, y: 0, width: width - from, height, class: "story-curtain" }));
  }
  function draw() {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", Object.keys(KINDS)[i] === curtain));
    const now = trained[curtain];
    if (now === undefined) {
      picture.show({ words, heads: [], reserve: true, from: it, after: cloth, curtain: curtain === "closed" ? it + 1 : Infinity, classes: { [it]: "it" } });
      return;
    }
    const { seen, weights } = now.measured;
    const row = Array.from(weights.subarray(it * seen, (it + 1) * seen));
    picture.show({ words, heads: [row], from: it, after: cloth, curtain: curtain === "closed" ? it + 1 : Infinity,
      classes: { [it]: "it", [it + 1]: "next" } });
    if (trained.open !== undefined && trained.closed !== undefined) {
      ask(`${curtain}.loss`, signed(now.measured.score.loss), words[it + 1]);
      spoken.textContent = t("story.back.said", signed(trained.closed.measured.score.loss), signed(trained.open.measured.score.loss));
    }
  }
  async function learn() {
    for (const [kind, mask] of Object.entries(KINDS)) {
      const result = await train({ mask, until: UNTIL, onstep: (list) => {
        losses[kind] = list;
        chart.redraw();
      } });
      trained[kind] = result;
      ({ it } = result.language);
      words = result.tokens.slice(0, result.language.context).map((id) => result.language.words[id]);
      chart.redraw();
      draw();
    }
  }
  return { element, show() {
    if (begun === null) {
      ask("learning");
      words = ["the", "pizza", "came", "out", "of", "the", "oven", "and", "it", "tasted", "good"];
      begun = learn();
    }
    draw();
    return begun;
  } };
}
