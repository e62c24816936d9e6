// Screen 6: the new vector of *it* is the mean of the values, weighted with the percentages.

import { h } from "../../dom.js";
import { t } from "../../strings.js";
import { newest } from "./model.js";
import { stage, handle, moving, still, path, circle, label, choice, actions, WIDE } from "./stage.js";
import { WORDS, NOUNS, percent, signed } from "./words.js";

export function begin({ ask, say, call, about, pizza: { v, percents, mix, nouns } }) {
  const value = (i) => [v[2 * i], v[2 * i + 1]], nounAt = (i) => [nouns[2 * i], nouns[2 * i + 1]];
  const others = WORDS.map((_, i) => i).filter((i) => !Object.values(NOUNS).includes(i));
  let shown = { percents, mix }, place = null, at = null, seen = false;
  const noun = (i) => about.words[about.nouns[0] + i];
  /** The noun whose value is nearest, by its number. */
  function nearest([x, y]) {
    const far = Array.from({ length: about.nouns[1] }, (_, i) => Math.hypot(nounAt(i)[0] - x, nounAt(i)[1] - y));
    return far.indexOf(Math.min(...far));
  }
  const compute = newest((weights) => call("storyMix", { weights: weights.map((w) => Math.max(0, w)), v }), (result) => {
    shown = result;
    place.redraw();
    const near = noun(nearest(result.mix));
    ask(Object.hasOwn(NOUNS, near) ? "now" : "between", near);
    say(t("story.mix.said", percent(result.percents[NOUNS.pizza]), percent(result.percents[NOUNS.oven]), near));
  });
  const motion = moving(percents, compute);
  /** The shares of all words when the oven has this part of what both nouns have: others keep theirs. */
  function shared(part) {
    const both = percents[NOUNS.pizza] + percents[NOUNS.oven];
    return percents.map((p, i) => (i === NOUNS.pizza ? both * (1 - part) : i === NOUNS.oven ? both * part : p));
  }
  const partOf = (shares) => shares[NOUNS.oven] / (shares[NOUNS.oven] + shares[NOUNS.pizza]);
  const go = (part) => motion.jump(shared(Math.max(0, Math.min(1, part))));
  /** Where *it* is then: on a straight track. */
  const track = (part) => [0, 1].map((c) => shared(part).reduce((sum, p, i) => sum + p * value(i)[c], 0));
  place = stage(draw, t("story.mix.picture"));
  const grip = handle(place, { label: t("story.mix.grip"), min: 0, max: 1, name: "mixed",
    onmove: (x, y) => {
      const [a, b] = [value(NOUNS.pizza), value(NOUNS.oven)].map(at);
      go(((x - a[0]) * (b[0] - a[0]) + (y - a[1]) * (b[1] - a[1])) / ((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2));
    },
    onkey: (dx, dy) => go(partOf(motion.now()) + (dx + dy) * 0.02) });
  const element = h("div.story-screen", {}, place.element, actions(choice(t("story.reset"), () => motion.to(percents, 500))));

  function draw(width, height) {
    const met = Array.from({ length: 21 }, (_, i) => nearest(track(i / 20))); // nouns that have place in the picture
    const points = [...WORDS.map((_, i) => value(i)), ...met.map(nounAt)];
    const box = [0, 1].map((c) => [Math.min(...points.map((p) => p[c])), Math.max(...points.map((p) => p[c]))]);
    const middle = box.map(([a, b]) => (a + b) / 2), [across, up] = box.map(([a, b]) => b - a);
    const unit = Math.min((width - (width >= WIDE ? 300 : 120)) / across, (height - 150) / up);
    at = ([x, y]) => [width / 2 + (x - middle[0]) * unit, height / 2 - (y - middle[1]) * unit];
    const now = nearest(shown.mix), outside = !Object.hasOwn(NOUNS, noun(now)), [ox, oy] = at([0, 0]), [mx, my] = at(shown.mix);
    const dot = (i, [x, y], r, name, text) => [circle(x, y, r, `story-value ${name}`),
      text === "" ? [] : label(x, y - (r === 6 ? 24 : 36), text, `story-label value ${name}`, "middle"),
      i === now ? circle(x, y, 17, "story-nearest") : []];
    // Names of the other words, where they have place beside those of the nouns.
    const taken = Object.values(NOUNS).map((i) => at(value(i))).map(([x, y]) => [x - 48, y - 36, 96]);
    outside && taken.push([at(nounAt(now))[0] - 30, at(nounAt(now))[1] - 24, 60]);
    const names = others.map((i) => {
      const [x, y] = at(value(i)), long = 9 * WORDS[i].length;
      const spot = [[10, 5], [-10 - long, 5], [-long / 2, -12], [-long / 2, 22], [14, 24], [14, -14], [-14 - long, -14],
        [-14 - long, 24]].map(([dx, dy]) => [x + dx, y + dy]).find(([left, low]) => taken.every(([l, b, w]) =>
        left + long < l || left > l + w || Math.abs(low - b) > 17));
      const fits = spot !== undefined && i === WORDS.indexOf(WORDS[i]); // "the" stands twice
      fits && taken.push([...spot, long]);
      return [dot(-1, [x, y], 4.5, "other", ""), fits ? label(...spot, WORDS[i], "story-label value") : []];
    });
    grip.place(mx, my, partOf(shown.percents), `${signed(shown.mix[0])}, ${signed(shown.mix[1])}`);
    return [path(`M0 ${oy}H${width}M${ox} 0V${height}`, "story-axis"), path(`M${at(track(0))}L${at(track(1))}`, "story-track"),
      shown.percents.map((p, i) => path(`M${mx} ${my}L${at(value(i))}`, "story-pull",
        { "stroke-width": Math.max(0.7, 16 * p), "data-percent": p })),
      names, Object.entries(NOUNS).map(([name, i]) =>
        dot(about.words.indexOf(name) - about.nouns[0], at(value(i)), 8, "used", `${name} ${percent(shown.percents[i])}`)),
      outside ? dot(now, at(nounAt(now)), 6, "outside", noun(now)) : [],
      label(mx, my + 44, t("story.mix.new"), "story-label mixed", mx < width / 2 ? "start" : "end",
        { "data-x": shown.mix[0], "data-y": shown.mix[1] })];
  }

  return { element, show() {
    if (seen) {
      return;
    }
    seen = true;
    still() || motion.jump(WORDS.map(() => 1 / WORDS.length)); // from the plain mean of all words
    motion.to(percents, 1300);
  } };
}
