// Screen 10: the page's own run: arcs of *it* from random to right, the loss, and one weight with its gradient.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { run, onRun, play, stop, goTo, watched, LEARNING } from "../../run.js";
import { stage } from "./stage.js";
import { sentencePicture } from "./sentence.js";
import { curves } from "./curve.js";
import { rich, signed, largest, CLEAR } from "./words.js";

export const UNTIL = 500;
const WEIGHT = /W_q\.weight$/, TURN = 0.1;
const FAR = 1, POINTS = 21; // of the picture of the slope: how far from the weight
const WIDTH = 132, HEIGHT = 66, LABELS = 18;

export function begin({ ask }) {
  ask("do");
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
    fill(chart.back, curves({ x: 34, y: 8, width: width - 50, height: height - 40, steps: UNTIL, most: 5.5,
      loss: t("story.loss"),
      step: t("story.steps"), at: Math.min(run.step, UNTIL), curves: [{ losses: run.losses.slice(0, Math.min(UNTIL,
        Math.max(run.step, run.losses.length))), name: "closed" }] }));
  }
  /** A frame around what *it* clearly takes most from. */
  const found = (rows) => Object.fromEntries(rows.filter((row) => Math.max(...row) >= CLEAR).map((row) =>
    [largest(row), "meant"]));
  /** The loss for values of one weight, with the slope at its own value. */
  function slope(losses, gradient) {
    const [low, high] = [Math.min(...losses), Math.max(...losses)], middle = (POINTS - 1) / 2;
    const x = (i) => 6 + (WIDTH - 12) * i / (POINTS - 1);
    const y = (loss) => HEIGHT - 8 - (HEIGHT - 16) * (loss - low) / Math.max(high - low, 1e-9);
    const rise = (i) => y(losses[middle] + gradient * FAR * (i - middle) / middle);
    const curve = losses.map((loss, i) => `${x(i).toFixed(1)} ${y(loss).toFixed(1)}`).join("L");
    const tangent = [middle - 6, middle + 6].map((i) => `${x(i)} ${rise(i)}`).join("L");
    // The losses at both ends say how steep it is: each curve fills its picture.
    const label = (i, anchor) => svg("text", { class: "story-small tight", x: anchor === "start" ? 2 : WIDTH - 2,
      y: HEIGHT + LABELS - 4, "text-anchor": anchor }, signed(losses[i], 3));
    return svg("svg", { class: "story-slope", viewBox: `0 0 ${WIDTH} ${HEIGHT + LABELS}`, width: WIDTH,
      height: HEIGHT + LABELS,
      role: "img", "aria-label": t("story.learn.slope") },
    svg("path", { class: "story-curve", d: `M${curve}` }), svg("path", { class: "story-tangent", d: `M${tangent}` }),
    svg("circle", { class: "story-grip", cx: x(middle), cy: y(losses[middle]), r: 5 }), label(0, "start"),
    label(POINTS - 1, "end"));
  }
  function draw() {
    ask(run.playing ? "playing" : run.step >= UNTIL ? "done" : run.step > 0 ? "paused" : "do");
    playButton.textContent = t(run.playing ? "story.learn.stop" : run.step >= UNTIL ? "story.learn.again" : "story.learn.play");
    if (document.activeElement !== slider || run.playing) {
      slider.value = Math.min(run.step, UNTIL);
    }
    const loss = run.losses[run.step - 1];
    place.textContent = loss === undefined ? t("story.learn.begin") : t("story.learn.at", run.step, signed(loss));
    question.classList.toggle("waiting", run.playing);
    chart.redraw();
    const data = measure();
    if (data === null || run.language === null) {
      return;
    }
    const { words } = run.language, ids = watched().tokens.slice(0, data.seen);
    const at = Math.max(0, watched().prompt.length - 1);
    const rows = Array.from({ length: data.heads }, (_, head) =>
      Array.from(data.weights.subarray((head * data.seen + at) * data.seen, (head * data.seen + at + 1) * data.seen)));
    picture.show({ words: ids.map((id) => words[id]), from: at, heads: rows, curtain: at + 1,
      classes: { [at]: "it", ...found(rows) } }, run.playing ? 200 : 500);
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
    const lossesAt = (cell, given) => run.engine.losses({ leaf: index, cell, values: given });
    const leaf = pass.leaves[index], values = pass.tensors[leaf.tensor].values,
      gradient = pass.tensors[leaf.gradient].values;
    const cell = gradient.reduce((best, g, i) => (Math.abs(g) > Math.abs(gradient[best]) ? i : best), 0);
    const answer = (sign) => async () => {
      const before = values[cell];
      const [rest, moved] = await lossesAt(cell, [before, before + sign * TURN]), right = moved < rest;
      let digits = 3; // as many as show the difference
      while (digits < 8 && signed(rest, digits) === signed(moved, digits)) {
        digits++;
      }
      said.textContent = t(`story.learn.${right ? "right" : "wrong"}`, signed(rest, digits), signed(moved, digits));
      said.className = right ? "story-verdict right" : "story-verdict wrong";
    };
    const said = h("p.story-verdict", { role: "status" });
    const losses = await lossesAt(cell, Array.from({ length: POINTS }, (_, i) =>
      values[cell] + FAR * (2 * i / (POINTS - 1) - 1)));
    if (now !== run.changes) {
      return;
    }
    fill(question, slope(losses, gradient[cell]), h("p", { "data-value": values[cell], "data-gradient": gradient[cell] },
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
