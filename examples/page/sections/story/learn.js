// Screen 7: the page's own run: arcs of *it* from random to right, the loss, and one weight with its gradient.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { run, onRun, play, stop, goTo, watched, LEARNING } from "../../run.js";
import { stage } from "./stage.js";
import { sentencePicture } from "./sentence.js";
import { curves } from "./curve.js";
import { rich, signed } from "./words.js";

export const UNTIL = 500;
const WEIGHT = /W_q\.weight$/, TURN = 0.1;

export function begin() {
  const picture = sentencePicture(t("story.learn.picture"));
  const chart = stage(drawChart, t("story.learn.chart"));
  const playButton = h("button.story-choice.primary", { type: "button", onclick: pressed });
  const slider = h("input", { type: "range", min: 0, max: UNTIL, step: 1, value: 0, "aria-label": t("story.learn.step"),
    oninput: () => goTo(Number(slider.value)) });
  const place = h("output.story-place");
  const question = h("div.story-weight", { role: "group", "aria-label": t("story.learn.weight") });
  const element = h("div.story-screen.two", {},
    h("div.story-holder", {}, picture.element, h("div.story-actions", {}, playButton, h("label.story-slider", {},
      slider, place))),
    h("div.story-holder", {}, chart.element, question));
  let seen = false, asked = -1;

  async function pressed() {
    if (run.playing) {
      await stop();
    } else {
      if (run.step >= UNTIL) {
        await goTo(0);
      }
      await play({ until: UNTIL, perSecond: LEARNING.perSecond, slowUntil: LEARNING.slowUntil });
    }
  }
  const measure = () => {
    let best = null;
    for (const [step, data] of run.measures) {
      best = step <= run.step && (best === null || step > best.step) ? data : best;
    }
    return best;
  };
  function drawChart(width, height) {
    fill(chart.back, curves({ x: 34, y: 8, width: width - 50, height: height - 40, steps: UNTIL, most: 5,
      loss: t("story.loss"),
      step: t("story.steps"), at: Math.min(run.step, UNTIL), curves: [{ losses: run.losses.slice(0, Math.min(UNTIL,
        Math.max(run.step, run.losses.length))), name: "closed" }] }));
  }
  function draw() {
    playButton.textContent = t(run.playing ? "story.learn.stop" : run.step >= UNTIL ? "story.learn.again" : "story.learn.play");
    if (document.activeElement !== slider || run.playing) {
      slider.value = Math.min(run.step, UNTIL);
    }
    const loss = run.losses[run.step - 1];
    place.textContent = t("story.learn.at", run.step, loss === undefined ? "–" : signed(loss));
    chart.redraw();
    const data = measure();
    if (data === null || run.language === null) {
      return;
    }
    const { words, it } = run.language, ids = watched().tokens.slice(0, data.seen);
    const at = Math.max(0, watched().prompt.length - 1);
    const rows = Array.from({ length: data.heads }, (_, head) =>
      Array.from(data.weights.subarray((head * data.seen + at) * data.seen, (head * data.seen + at + 1) * data.seen)));
    picture.show({ words: ids.map((id) => words[id]), from: at, heads: rows, curtain: at + 1,
      classes: { [at]: "it", ...(at === it ? { 1: "meant" } : {}) } }, run.playing ? 200 : 500);
    if (!run.playing && !run.busy) {
      weight();
    }
  }

  /** The number of W_q with the largest gradient, here: which way must it go? */
  async function weight() {
    if (asked === run.changes) {
      return;
    }
    const now = (asked = run.changes);
    const pass = await run.engine.pass(watched().tokens);
    const index = pass.leaves.findIndex(({ name }) => WEIGHT.test(name));
    if (now !== run.changes || index < 0) {
      return;
    }
    const leaf = pass.leaves[index], values = pass.tensors[leaf.tensor].values,
      gradient = pass.tensors[leaf.gradient].values;
    const cell = gradient.reduce((best, g, i) => (Math.abs(g) > Math.abs(gradient[best]) ? i : best), 0);
    const answer = (sign) => async () => {
      const before = values[cell];
      const [least, rest, most] = await run.engine.losses({ leaf: index, cell, values: [before - TURN, before,
        before + TURN] });
      const right = Math.sign(-gradient[cell]) === sign;
      said.textContent = t(right ? "story.learn.right" : "story.learn.wrong", signed(rest, 3),
        signed(sign < 0 ? least : most, 3));
      said.className = right ? "story-verdict right" : "story-verdict wrong";
    };
    const said = h("p.story-verdict", { role: "status" });
    fill(question, h("p", { "data-value": values[cell], "data-gradient": gradient[cell] },
      rich(t("story.learn.number", signed(values[cell], 3), signed(gradient[cell], 3)))),
    h("div.story-actions", {}, h("button.story-choice", { type: "button", onclick: answer(-1) }, t("story.learn.down")),
      h("button.story-choice", { type: "button", onclick: answer(1) }, t("story.learn.up"))), said);
  }

  onRun(() => seen && draw());
  return { element, async show() {
    seen = true;
    while (run.language === null) { // the run of the page begins with it
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    draw();
  }, hide() {
    seen = false;
  } };
}
