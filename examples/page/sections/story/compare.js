// Screen 4: the query of *it* and the keys as arrows; the reader of the page drags the query.

import { h } from "../../dom.js";
import { t } from "../../strings.js";
import { newest } from "./model.js";
import { stage, handle, arrow, moving, still, grid, path, rect, circle, label, choice, actions, WIDE } from "./stage.js";
import { WORDS, NOUNS, CLEAR, percent, signed, largest } from "./words.js";

const MOST = 3.4; // of a coordinate: the edge of the picture

export function begin({ ask, say, call, pizza: { q, k, scores, percents } }) {
  const key = (i) => [k[2 * i], k[2 * i + 1]];
  let shown = { query: q, scores, percents }, place = null, unit = 1, centre = [0, 0], seen = false;
  const compute = newest(async (query) => ({ query, ...(await call("storyAttend", { q: query, k })) }), (result) => {
    shown = result;
    place.redraw();
    const best = largest(result.percents), most = result.percents[best];
    ask(most < CLEAR ? "even" : WORDS[best] === "pizza" ? "do" : "now", WORDS[best], percent(most));
    say(t("story.compare.said", Object.entries(NOUNS).map(([noun, i]) => `${noun} ${percent(result.percents[i])}`).join(", ")));
  });
  const motion = moving(q, compute);
  const go = (query) => motion.jump(query.map((value) => Math.max(-MOST, Math.min(MOST, value))));
  place = stage(draw, t("story.compare.picture"));
  const grip = handle(place, { label: t("story.compare.grip"), min: -MOST, max: MOST, name: "query",
    onmove: (x, y) => go([(x - centre[0]) / unit, (centre[1] - y) / unit]),
    onkey: (dx, dy) => go(motion.now().map((value, c) => value + [dx, dy][c] * 0.1)) });
  const element = h("div.story-screen", {}, place.element, actions(choice(t("story.reset"), () => motion.to(q, 500))));

  function draw(width, height) {
    const wide = width >= WIDE, list = wide ? Math.min(430, width * 0.36) : width;
    const plane = wide ? [width - list - 20, height] : [width, height - 11 * 17 - 12];
    unit = Math.min(...plane) / 2 / (MOST + 0.1);
    centre = plane.map((size) => size / 2);
    const at = ([x, y]) => [centre[0] + x * unit, centre[1] - y * unit], parts = [grid(...plane, unit, centre)];
    const { query } = shown, length = Math.hypot(...query), u = query.map((value) => value / Math.max(length, 1e-9));
    if (length > 0.05) { // how far each noun's key reaches along the query
      const far = Math.min(...plane.map((size, c) => size / 2 / unit / Math.max(1e-3, Math.abs(u[c])))); // the edge
      parts.push(path(`M${at(u.map((c) => -far * c))}L${at(u.map((c) => far * c))}`, "story-along"));
      for (const i of Object.values(NOUNS)) {
        const along = key(i)[0] * u[0] + key(i)[1] * u[1], foot = at(u.map((c) => c * along));
        const sign = along < 0 ? "negative" : "";
        parts.push(path(`M${at(key(i))}L${foot}`, "story-drop"), path(`M${centre}L${foot}`, `story-length ${sign}`),
          circle(...foot, 5, `story-foot ${sign}`));
      }
    }
    WORDS.forEach((word, i) => {
      const [x, y] = at(key(i)), noun = Object.hasOwn(NOUNS, word), left = x < centre[0]; // the text is outside of the arrow
      parts.push(arrow(centre, [x, y], { class: `key ${noun ? "" : "small"}` }),
        noun ? label(x + (left ? -12 : 12), y + 6, word, "story-label key", left ? "end" : "start") : []);
    });
    const why = wide ? ` ${t("story.compare.why", t("story.weigh.why"))}` : "";
    [t("story.compare.colours"), t("story.compare.formula") + why].forEach((line, i) =>
      parts.push(label(4, plane[1] - (wide ? 30 - 20 * i : 22 - 16 * i), line, `story-small caption ${wide ? "" : "tight"}`)));
    const [lx, ly] = at(u.map((c) => c * (length + 40 / unit))); // beyond the handle's ring
    const [tx, ty] = [Math.min(plane[0] - 20, Math.max(20, lx)), Math.min(plane[1] - 8, Math.max(18, ly + 6))];
    parts.push(arrow(centre, at(query), { class: "query" }),
      label(tx, ty, "it", "story-label query", "middle", { "data-x": query[0], "data-y": query[1] }));
    grip.place(...at(query), query[0], `${signed(query[0])}, ${signed(query[1])}`);
    return [parts, wide ? listOf(width - list, 0, list, (height - 30) / (WORDS.length + 1))
      : listOf(0, plane[1] + 12, list, 17)];
  }

  /** Score and share of each word; with a head where there is place. */
  function listOf(x, y0, width, step) {
    const head = x > 0 ? 1 : 0, best = largest(shown.percents), more = { "font-size": head ? Math.min(20, step * 0.6) : 14 };
    const [a, b, c] = [x + (head ? 96 : 84), x + (head ? 176 : 142), x + width - 62];
    const heads = [label(b, step * 0.7, t("story.compare.score"), "story-small", "end"),
      label(b + 16, step * 0.7, t("story.compare.share"))];
    return [head ? heads : [],
      WORDS.map((word, i) => {
        const y = y0 + step * (i + head + 0.68), share = shown.percents[i], long = (c - b - 16) * share;
        const bold = i === best ? "best" : "";
        return [label(a, y, word, `story-row ${bold}`, "end", more),
          label(b, y, signed(shown.scores[i]), "story-row number", "end", { ...more, "data-score": shown.scores[i] }),
          rect(b + 16, y - 13, Math.max(1, long), 14, "story-bar head-0", { rx: 3 }),
          label(b + 22 + long, y, percent(share), `story-row number ${bold}`, "start", { ...more, "data-percent": share })];
      })];
  }

  return { element, show() {
    if (seen) {
      return;
    }
    seen = true;
    if (!still()) { // the numbers at rest are there at once; the arrow swings into its place
      const angle = Math.atan2(q[1], q[0]) + 2.2;
      motion.jump([Math.cos(angle), Math.sin(angle)].map((c) => c * Math.hypot(...q)));
    }
    motion.to(q, 1200);
  } };
}
