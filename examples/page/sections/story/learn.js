// Screen 10: the page's own run: arcs of *it* from random to right, the loss, and one weight with its gradient.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { run, onRun, play, stop, goTo, watched, LEARNING } from "../../run.js";
import { newest } from "./model.js";
import { stage, handle, path, label, choice, actions, slider } from "./stage.js";
import { sentencePicture } from "./sentence.js";
import { curves } from "./curve.js";
import { rich, signed, largest, CLEAR } from "./words.js";

const UNTIL = 500;
const WEIGHT = /W_q\.weight$/, FAR = 1, POINTS = 41; // of the hill: how far from the weight, and in how many points

export function begin({ ask }) {
  const picture = sentencePicture(t("story.learn.picture"));
  const chart = stage((width, height) => curves(width, height, UNTIL, [{ name: "closed", losses: run.losses.slice(0, UNTIL) }],
    Math.min(run.step, UNTIL)), t("story.learn.chart"));
  const playButton = choice("", async () => {
    if (run.playing) {
      await stop();
    } else {
      run.step < UNTIL || await goTo(0);
      await play({ until: UNTIL, perSecond: LEARNING.perSecond, slowUntil: LEARNING.slowUntil });
    }
  });
  playButton.classList.add("primary");
  const steps = slider(t("story.learn.step"), [0, UNTIL, 1], (step) => goTo(step));
  const hill = hillPart();
  const element = h("div.story-screen.two", {}, h("div.story-holder", {}, picture.element, actions(playButton, steps.element)),
    h("div.story-holder", {}, chart.element, hill.element));
  let seen = false;

  /** The newest measure before this step. */
  function measure() {
    const known = [...run.measures.keys()].filter((step) => step <= run.step);
    return known.length === 0 ? null : run.measures.get(Math.max(...known));
  }
  function draw() {
    const done = run.step >= UNTIL, data = measure(), loss = run.losses[run.step - 1];
    ask(run.playing ? "playing" : done ? "done" : run.step > 0 ? "paused" : "do");
    playButton.textContent = t(run.playing ? "story.learn.stop" : done ? "story.learn.again" : "story.learn.play");
    const at = loss === undefined ? t("story.learn.begin") : t("story.learn.at", run.step, signed(loss));
    steps.set(Math.min(run.step, UNTIL), at, !run.playing);
    hill.element.classList.toggle("waiting", run.playing);
    chart.redraw();
    if (data === null || run.language === null) {
      return;
    }
    const { words } = run.language, ids = watched().tokens.slice(0, data.seen), it = Math.max(0, watched().prompt.length - 1);
    const rows = Array.from({ length: data.heads }, (_, head) => {
      const first = (head * data.seen + it) * data.seen;
      return Array.from(data.weights.subarray(first, first + data.seen));
    });
    const found = rows.filter((row) => Math.max(...row) >= CLEAR).map((row) => [largest(row), "meant"]);
    picture.show({ words: ids.map((id) => words[id]), from: it, heads: rows, curtain: it + 1,
      classes: { [it]: "it", ...Object.fromEntries(found) } }, run.playing ? 200 : 500);
    run.playing || run.busy || hill.show();
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

/** The loss over one weight, the number of W_q with the largest gradient here, as a hill with a ball: which way is down? */
function hillPart() {
  // hill: {value, gradient, losses: of weights()}; ball: [weight, loss]; aim: the weight where the ball goes
  let asked = -1, hill = null, ball = null, aim = 0, at = null;
  /** Weights around one. */
  const weights = (value) => Array.from({ length: POINTS }, (_, i) => value + FAR * (2 * i / (POINTS - 1) - 1));
  const place = stage(draw, t("story.learn.slope")), text = h("p"), said = h("p.story-verdict", { role: "status" });
  const element = h("div.story-weight", { role: "group", "aria-label": t("story.learn.weight") }, text, place.element, said);
  const go = (weight) => compute(aim = Math.max(hill.value - FAR, Math.min(hill.value + FAR, weight)));
  const compute = newest(async (weight) => [weight, (await hill.lossesAt([weight]))[0]], (found) => {
    ball = found;
    const [rest, now] = [hill.losses[(POINTS - 1) / 2], ball[1]], lower = now < rest;
    let digits = 3; // as many as show the difference
    while (digits < 8 && signed(rest, digits) === signed(now, digits)) {
      digits++;
    }
    const verdict = lower ? "right" : "wrong", texts = [rest, now].map((loss) => signed(loss, digits));
    said.textContent = ball[0] === hill.value ? "" : t(`story.learn.${verdict}`, ...texts);
    said.className = `story-verdict ${verdict}`;
    place.redraw();
  });
  const grip = handle(place, { label: t("story.learn.grip"), min: -FAR, max: FAR, name: "ball",
    onmove: (x) => go(at.weight(x)), onkey: (dx, dy) => go(aim + (dx + dy) * FAR / 20) });

  function draw(width, height) {
    if (hill === null) {
      return [];
    }
    const { value, gradient, losses } = hill, [low, high] = [Math.min(...losses), Math.max(...losses)];
    const half = width / 2 - 12, unit = (height - 44) / Math.max(high - low, 1e-9);
    const x = (weight) => width / 2 + half * (weight - value) / FAR, y = (loss) => height - 30 - unit * (loss - low);
    at = { weight: (px) => value + FAR * (px - width / 2) / half };
    const rest = losses[(POINTS - 1) / 2], long = Math.min(0.3, 40 / unit / Math.max(Math.abs(gradient), 1e-9));
    grip.place(x(ball[0]), y(ball[1]), ball[0], signed(ball[0], 3));
    const points = weights(value).map((weight, i) => `${x(weight).toFixed(1)} ${y(losses[i]).toFixed(1)}`);
    return [path(`M${points.join("L")}`, "story-curve"),
      path(`M${[-long, long].map((by) => `${x(value + by)} ${y(rest + gradient * by)}`).join("L")}`, "story-tangent"),
      label(4, height - 6, `◀ ${t("story.loss")} ${signed(losses[0])}`),
      label(width / 2, height - 6, t("story.learn.grip"), "story-small", "middle"),
      label(width - 4, height - 6, `${t("story.loss")} ${signed(losses[POINTS - 1])} ▶`, "story-small", "end")];
  }
  return { element, async show() {
    if (asked === run.changes) {
      return;
    }
    const now = (asked = run.changes), pass = await run.engine.pass(watched().tokens);
    const leaf = pass.leaves.findIndex(({ name }) => WEIGHT.test(name));
    if (now !== run.changes || leaf < 0) {
      return;
    }
    const [values, gradients] = [pass.leaves[leaf].tensor, pass.leaves[leaf].gradient].map((i) => pass.tensors[i].values);
    const cell = largest(gradients.map(Math.abs)), value = values[cell];
    const lossesAt = (given) => run.engine.losses({ leaf, cell, values: given });
    const losses = await lossesAt(weights(value));
    if (now !== run.changes) {
      return;
    }
    hill = { value, gradient: gradients[cell], losses, lossesAt };
    ball = [value, losses[(POINTS - 1) / 2]];
    text.dataset.gradient = hill.gradient;
    fill(text, rich(t("story.learn.number", signed(value, 3), signed(hill.gradient, 3))));
    await go(value);
  } };
}
