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
    ask("now", noun);
    spoken.textContent = t("story.mix.said", percent(result.percents[NOUNS.pizza]),
      percent(result.percents[NOUNS.oven]), noun);
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
    const points = Array.from({ length: about.nouns[1] }, (_, i) => nounAt(i));
    const box = [0, 1].map((c) => [Math.min(0, ...points.map((p) => p[c])), Math.max(0, ...points.map((p) => p[c]))]);
    const wide = width >= 700, edge = wide ? 80 : 44;
    const [ux, uy] = [(width - 2 * edge) / (box[0][1] - box[0][0]), (height - 70) / (box[1][1] - box[1][0])];
    unit = wide ? Math.min(ux, uy * 1.0) : Math.min(ux, uy);
    const middle = box.map(([a, b]) => (a + b) / 2);
    at = ([x, y]) => [width / 2 + (x - middle[0]) * unit, height / 2 - (y - middle[1]) * unit];
    const parts = [];
    const [ox, oy] = at([0, 0]);
    parts.push(svg("path", { d: `M0 ${oy}H${width}M${ox} 0V${height}`, class: "story-axis" }));
    const mix = shown.mix, now = nearest(mix);
    shown.percents.forEach((p, i) => {
      parts.push(svg("path", { d: `M${at(mix)}L${at(value(i))}`, class: "story-pull", "stroke-width": Math.max(0.7,
        16 * p), "data-percent": p }));
    });
    const usedNow = (i) => Object.keys(NOUNS).includes(noun(i));
    points.map((_, i) => i).sort((a, b) => usedNow(a) - usedNow(b)).forEach((i) => { // the two nouns on top
      const [x, y] = at(points[i]), used = usedNow(i), is = noun(i) === now;
      parts.push(svg("circle", { cx: x, cy: y, r: used ? 8 : 4, class: `story-value ${used ? "used" : ""}` }),
        svg("text", { x: used ? Math.max(56, x) : x, y: y - (used ? 36 : 9), "text-anchor": "middle",
          class: `story-label value ${used ? "used" : ""} ${is ? "is" : ""}` },
          used ? `${noun(i)} ${percent(shown.percents[NOUNS[noun(i)]])}` : noun(i)));
    });
    rest.forEach((i) => {
      const [x, y] = at(value(i));
      parts.push(svg("circle", { cx: x, cy: y, r: 3.5, class: "story-value other" }));
    });
    const [tx, ty] = at([0, 0]);
    wide && parts.push(svg("text", { x: tx + 10, y: ty + 30, class: "story-small" }, t("story.mix.others")));
    const nearestAt = at(points[points.findIndex((_, i) => noun(i) === now)]);
    parts.push(svg("circle", { cx: nearestAt[0], cy: nearestAt[1], r: 17, class: "story-nearest" }));
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
