// Screen 6: the new vector of *it* is the mean of the values, weighted with the percentages.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { story, newest } from "./model.js";
import { stage, handle, moving, still } from "./stage.js";
import { SENTENCE, ENDINGS, NOUNS, percent, signed } from "./words.js";

export function begin({ ask }) {
  const words = [...SENTENCE, ...ENDINGS.pizza];
  let about = null, read = null, weights = null, shown = null, unit = 1, at = null;
  const place = stage(draw, t("story.mix.picture"));
  const spoken = h("p.unseen", { role: "status" });
  const reset = h("button.story-choice", { type: "button", onclick: () => motion.to([...read.percents], 500) },
    t("story.mix.reset"));
  const element = h("div.story-screen", {}, place.element, h("div.story-actions", {}, reset), spoken);
  const rest = words.map((_, i) => i).filter((i) => !Object.values(NOUNS).includes(i));

  const compute = newest(async (given) => {
    const { call } = await story();
    return call("storyMix", { weights: given, v: read.v });
  }, (result) => {
    shown = result;
    place.redraw();
    const near = noun(nearest(result.mix));
    ask(Object.hasOwn(NOUNS, near) ? "now" : "between", near);
    spoken.textContent = t("story.mix.said", percent(result.percents[NOUNS.pizza]),
      percent(result.percents[NOUNS.oven]), near);
  });
  const noun = (i) => about.words[about.nouns[0] + i];
  const value = (i) => [read.v[2 * i], read.v[2 * i + 1]];
  const nounAt = (i) => [read.nouns[2 * i], read.nouns[2 * i + 1]];
  /** The noun whose value is nearest, by its number. */
  function nearest([x, y]) {
    const far = Array.from({ length: about.nouns[1] }, (_, i) => Math.hypot(nounAt(i)[0] - x, nounAt(i)[1] - y));
    return far.indexOf(Math.min(...far));
  }
  const motion = moving([], (values) => {
    if (read !== null) {
      weights = values.map((w) => Math.max(0, w));
      compute(weights);
    }
  });
  /** The share of the oven among the two nouns: others keep theirs. */
  const share = () => weights[NOUNS.oven] / (weights[NOUNS.oven] + weights[NOUNS.pizza]);
  function shared(part) {
    const both = 1 - rest.reduce((sum, i) => sum + read.percents[i], 0), next = [...read.percents];
    next[NOUNS.pizza] = both * (1 - part);
    next[NOUNS.oven] = both * part;
    return next;
  }
  const setShare = (part) => motion.jump(shared(Math.max(0, Math.min(1, part))));
  /** Where *it* is when the oven has a share of both: a straight track. */
  const track = (part) => [0, 1].map((c) => shared(part).reduce((sum, p, i) => sum + p * value(i)[c], 0));
  const grip = handle(place, { label: t("story.mix.grip"), min: 0, max: 1, name: "mixed",
    onmove: (x, y) => {
      const [a, b] = [value(NOUNS.pizza), value(NOUNS.oven)].map(at);
      setShare(((x - a[0]) * (b[0] - a[0]) + (y - a[1]) * (b[1] - a[1])) / ((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2));
    },
    onkey: (dx, dy) => setShare(share() + (dx + dy) * 0.02) });

  function draw(width, height) {
    if (shown === null) {
      return;
    }
    const met = Array.from({ length: 21 }, (_, i) => nearest(track(i / 20))); // nouns that have place in the picture
    const points = [...words.map((_, i) => value(i)), ...met.map(nounAt)], box = [0, 1].map((c) => [Math.min(...points.map((p) => p[c])),
      Math.max(...points.map((p) => p[c]))]);
    const wide = width >= 700, edge = wide ? 150 : 60;
    unit = Math.min((width - 2 * edge) / (box[0][1] - box[0][0]), (height - 150) / (box[1][1] - box[1][0]));
    const middle = box.map(([a, b]) => (a + b) / 2);
    at = ([x, y]) => [width / 2 + (x - middle[0]) * unit, height / 2 - (y - middle[1]) * unit];
    const parts = [], mix = shown.mix, now = nearest(mix);
    const ring = ([x, y]) => svg("circle", { cx: x, cy: y, r: 17, class: "story-nearest" });
    const [ox, oy] = at([0, 0]);
    parts.push(svg("path", { d: `M0 ${oy}H${width}M${ox} 0V${height}`, class: "story-axis" }),
      svg("path", { d: `M${at(track(0))}L${at(track(1))}`, class: "story-track" }));
    shown.percents.forEach((p, i) => {
      parts.push(svg("path", { d: `M${at(mix)}L${at(value(i))}`, class: "story-pull", "stroke-width": Math.max(0.7,
        16 * p), "data-percent": p }));
    });
    // Names of the other words, where they have place beside those of the nouns.
    const outside = !Object.hasOwn(NOUNS, noun(now));
    const taken = Object.values(NOUNS).map(value).map(at).map(([x, y]) => [x - 48, y - 36, 96]);
    outside && taken.push([at(nounAt(now))[0] - 30, at(nounAt(now))[1] - 24, 60]);
    rest.forEach((i) => {
      const [x, y] = at(value(i)), long = 9 * words[i].length;
      parts.push(svg("circle", { cx: x, cy: y, r: 4.5, class: "story-value other" }));
      const spot = [[10, 5], [-10 - long, 5], [-long / 2, -12], [-long / 2, 22], [14, 24], [14, -14], [-14 - long, -14],
        [-14 - long, 24]].map(([dx, dy]) => [x + dx, y + dy]).find(([left, low]) => taken.every(([l, b, w]) =>
        left + long < l || left > l + w || Math.abs(low - b) > 17));
      if (spot !== undefined) {
        taken.push([...spot, long]);
        parts.push(svg("text", { x: spot[0], y: spot[1], class: "story-label value" }, words[i]));
      }
    });
    for (const [name, i] of Object.entries(NOUNS)) {
      const [x, y] = at(value(i));
      parts.push(svg("circle", { cx: x, cy: y, r: 8, class: "story-value used" }),
        svg("text", { x, y: y - 36, "text-anchor": "middle", class: "story-label value used" },
          `${name} ${percent(shown.percents[i])}`));
      if (name === noun(now)) {
        parts.push(ring([x, y]));
      }
    }
    if (outside) {
      const [x, y] = at(nounAt(now));
      parts.push(svg("circle", { cx: x, cy: y, r: 6, class: "story-value outside" }), ring([x, y]),
        svg("text", { x, y: y - 24, "text-anchor": "middle", class: "story-label outside" }, noun(now)));
    }
    const [mx, my] = at(mix);
    parts.push(svg("text", { x: mx, y: my + 44, "text-anchor": mx < width / 2 ? "start" : "end",
      class: "story-label mixed", "data-x": mix[0], "data-y": mix[1] }, t("story.mix.new")));
    fill(place.back, parts);
    grip.place(mx, my, share(), `${signed(mix[0])}, ${signed(mix[1])}`);
  }

  return { element, async show() {
    if (read !== null) {
      return;
    }
    const model = await story();
    about = model.about;
    const result = await model.read("pizza");
    read = result;
    weights = [...read.percents];
    if (!still()) {
      motion.jump(words.map(() => 1 / words.length)); // from the plain mean of all words
    }
    motion.to([...read.percents], 1300);
  } };
}
