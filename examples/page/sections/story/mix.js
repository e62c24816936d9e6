// Screen 4: the new vector of *it* is the mean of the values, weighted with the percentages.

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
  const element = h("div.story-screen", {}, place.element, spoken);
  const rest = words.map((_, i) => i).filter((i) => !Object.values(NOUNS).includes(i));

  const compute = newest(async (given) => {
    const { call } = await story();
    return call("storyMix", { weights: given, v: read.v });
  }, (result) => {
    shown = result;
    place.redraw();
    const noun = nearest(result.mix);
    Object.hasOwn(NOUNS, noun) ? ask("now", noun) : ask("between");
    spoken.textContent = t("story.mix.said", percent(result.percents[NOUNS.pizza]),
      percent(result.percents[NOUNS.oven]));
  });
  const noun = (i) => about.words[about.nouns[0] + i];
  const value = (i) => [read.v[2 * i], read.v[2 * i + 1]];
  const nounAt = (i) => [read.nouns[2 * i], read.nouns[2 * i + 1]];
  /** The noun whose value is nearest. */
  function nearest([x, y]) {
    const far = Array.from({ length: about.nouns[1] }, (_, i) => Math.hypot(nounAt(i)[0] - x, nounAt(i)[1] - y));
    return noun(far.indexOf(Math.min(...far)));
  }
  const motion = moving([], (values) => {
    if (read !== null) {
      weights = values.map((w) => Math.max(0, w));
      compute(weights);
    }
  });
  /** The share of the oven among the two nouns: others keep theirs. */
  const share = () => weights[NOUNS.oven] / (weights[NOUNS.oven] + weights[NOUNS.pizza]);
  function setShare(part, ms = 0) {
    const both = 1 - rest.reduce((sum, i) => sum + read.percents[i], 0), clamped = Math.max(0, Math.min(1, part));
    const next = [...read.percents];
    next[NOUNS.pizza] = both * (1 - clamped);
    next[NOUNS.oven] = both * clamped;
    ms > 0 ? motion.to(next, ms) : motion.jump(next);
  }
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
    const points = words.map((_, i) => value(i)), box = [0, 1].map((c) => [Math.min(...points.map((p) => p[c])),
      Math.max(...points.map((p) => p[c]))]);
    const wide = width >= 700, edge = wide ? 150 : 60;
    unit = Math.min((width - 2 * edge) / (box[0][1] - box[0][0]), (height - 150) / (box[1][1] - box[1][0]));
    const middle = box.map(([a, b]) => (a + b) / 2);
    at = ([x, y]) => [width / 2 + (x - middle[0]) * unit, height / 2 - (y - middle[1]) * unit];
    const parts = [], mix = shown.mix, now = nearest(mix);
    const [ox, oy] = at([0, 0]);
    parts.push(svg("path", { d: `M0 ${oy}H${width}M${ox} 0V${height}`, class: "story-axis" }));
    shown.percents.forEach((p, i) => {
      parts.push(svg("path", { d: `M${at(mix)}L${at(value(i))}`, class: "story-pull", "stroke-width": Math.max(0.7,
        16 * p), "data-percent": p }));
    });
    const taken = []; // names of the other words, where they have place
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
      if (name === now) {
        parts.push(svg("circle", { cx: x, cy: y, r: 17, class: "story-nearest" }));
      }
    }
    const [mx, my] = at(mix);
    parts.push(svg("text", { x: mx, y: my + 44, "text-anchor": "middle", class: "story-label mixed", "data-x": mix[0],
      "data-y": mix[1] }, "it"));
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
