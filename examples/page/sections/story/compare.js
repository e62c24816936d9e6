// Screen 4: the query of *it* and the keys as arrows; the reader of the page drags the query.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { story, newest } from "./model.js";
import { stage, handle, arrow, moving, still } from "./stage.js";
import { SENTENCE, ENDINGS, NOUNS, CLEAR, percent, signed, largest } from "./words.js";

const MOST = 3.4; // of a coordinate: the edge of the picture

export function begin({ ask }) {
  ask("do");
  const words = [...SENTENCE, ...ENDINGS.pizza];
  let read = null, q = [0, 0], shown = null; // shown: the engine's answer for q
  const place = stage(draw, t("story.compare.picture"));
  const spoken = h("p.unseen", { role: "status" });
  const reset = h("button.story-choice", { type: "button", onclick: () => motion.to([...read.q], 500) },
    t("story.compare.reset"));
  const element = h("div.story-screen", {}, place.element, h("div.story-actions", {}, reset), spoken);
  let unit = 1, centre = [0, 0];
  const compute = newest(async (query) => {
    const { call } = await story();
    return { query, ...(await call("storyAttend", { q: query, k: read.k, v: read.v })) };
  }, (result) => {
    shown = result;
    place.redraw();
    const best = words[largest(result.percents)], most = Math.max(...result.percents);
    most < CLEAR ? ask("even", percent(most)) : best === "pizza" ? ask("do") : ask("now", best, percent(most));
    spoken.textContent = t("story.compare.said", [1,
      6].map((i) => `${words[i]} ${percent(result.percents[i])}`).join(", "));
  });
  const set = (x, y) => {
    q = [x, y].map((value) => Math.max(-MOST, Math.min(MOST, value)));
    return compute(q);
  };
  const grip = handle(place, { label: t("story.compare.grip"), min: -MOST, max: MOST, name: "query",
    onmove: (x, y) => {
      motion.jump([(x - centre[0]) / unit, (centre[1] - y) / unit]);
    },
    onkey: (dx, dy) => motion.jump([q[0] + dx * 0.1, q[1] + dy * 0.1]) });
  const motion = moving([0, 0], ([x, y]) => read !== null && set(x, y));

  function draw(width, height) {
    const wide = width >= 700, list = wide ? Math.min(430, width * 0.36) : width;
    const plane = wide ? [width - list - 20, height] : [width, height - 11 * 17 - 12];
    unit = Math.min(plane[0] / 2, plane[1] / 2) / (MOST + 0.1);
    centre = [wide ? Math.max(plane[0] * 0.5, unit * MOST) : plane[0] / 2, plane[1] / 2];
    const at = ([x, y]) => [centre[0] + x * unit, centre[1] - y * unit];
    const [ex, ey] = [plane[0] / 2 / unit, plane[1] / 2 / unit];
    const parts = [];
    for (let i = -Math.ceil(ex); i <= ex; i++) {
      parts.push(svg("path", { d: `M${at([i, 0])[0]} 0V${plane[1]}`, class: i === 0 ? "story-axis" : "story-grid" }));
    }
    for (let i = -Math.ceil(ey); i <= ey; i++) {
      parts.push(svg("path", { d: `M${wide ? 0 : 0} ${at([0, i])[1]}H${plane[0]}`,
        class: i === 0 ? "story-axis" : "story-grid" }));
    }
    if (read === null || shown === null) {
      fill(place.back, parts);
      return;
    }
    const key = (i) => [read.k[2 * i], read.k[2 * i + 1]];
    const query = shown.query, length = Math.hypot(...query), best = largest(shown.percents);
    // How far each noun's key reaches along the query.
    if (length > 0.05) {
      const u = query.map((value) => value / length);
      const far = Math.min(ex / Math.max(1e-3, Math.abs(u[0])), ey / Math.max(1e-3, Math.abs(u[1]))); // the edge
      parts.push(svg("path", { d: `M${at(u.map((c) => -far * c))}L${at(u.map((c) => far * c))}`,
        class: "story-along" }));
      for (const i of Object.values(NOUNS)) {
        const k = key(i), along = k[0] * u[0] + k[1] * u[1], foot = u.map((c) => c * along);
        parts.push(svg("path", { d: `M${at(k)}L${at(foot)}`, class: "story-drop" }),
          svg("path", { d: `M${at([0, 0])}L${at(foot)}`, class: `story-length ${along < 0 ? "negative" : ""}` }),
          svg("circle", { cx: at(foot)[0], cy: at(foot)[1], r: 5,
            class: `story-foot ${along < 0 ? "negative" : ""}` }));
      }
    }
    for (let i = 0; i < words.length; i++) {
      const noun = i === NOUNS.pizza || i === NOUNS.oven;
      parts.push(arrow(at([0, 0]), at(key(i)), { class: `key ${noun ? "" : "small"}` }));
      if (noun) {
        const [x, y] = at(key(i)), left = key(i)[0] < 0; // outside of the arrow
        parts.push(svg("text", { x: x + (left ? -12 : 12), y: y + 6, "text-anchor": left ? "end" : "start", class: "story-label key" }, words[i]));
      }
    }
    const why = wide ? ` ${t("story.compare.why", t("story.weigh.why"))}` : "";
    [t("story.compare.colours"), t("story.compare.formula") + why].forEach((line, i) => parts.push(svg("text", { x: 4,
      y: plane[1] - (wide ? 30 - 20 * i : 22 - 16 * i), class: `story-small caption ${wide ? "" : "tight"}` }, line)));
    parts.push(arrow(at([0, 0]), at(query), { class: "query" }));
    const [lx, ly] = at(query.map((c) => c * (length > 0 ? 1 + 40 / unit / length : 1))); // beyond the handle's ring
    parts.push(svg("text", { x: Math.min(plane[0] - 20, Math.max(20, lx)), y: Math.min(plane[1] - 8, Math.max(18,
      ly + 6)), "text-anchor": "middle", class: "story-label query", "data-x": query[0], "data-y": query[1] }, "it"));
    // The list: score and percentage of each word.
    const x0 = wide ? width - list : 0, y0 = wide ? 0 : plane[1] + 12;
    const step = wide ? (height - 30) / (words.length + 1) : 17, size = wide ? Math.min(20, step * 0.6) : 14;
    const column = [x0 + (wide ? 96 : 84), x0 + (wide ? 176 : 142), x0 + list - 62];
    if (wide) {
      parts.push(svg("text", { x: column[1], y: y0 + step * 0.7, "text-anchor": "end", class: "story-small" },
        t("story.compare.score")),
        svg("text", { x: column[1] + 16, y: y0 + step * 0.7, class: "story-small" }, t("story.compare.share")));
    }
    words.forEach((word, i) => {
      const y = y0 + step * (i + (wide ? 1 : 0) + 0.68), long = (column[2] - column[1] - 16) * shown.percents[i];
      parts.push(svg("text", { x: column[0], y, "text-anchor": "end", "font-size": size,
        class: `story-row ${i === best ? "best" : ""}` }, word),
        svg("text", { x: column[1], y, "text-anchor": "end", "font-size": size, class: "story-row number",
          "data-score": shown.scores[i] }, signed(shown.scores[i])),
        svg("rect", { x: column[1] + 16, y: y - size * 0.72, width: Math.max(1, long), height: size * 0.8, rx: 3,
          class: "story-bar head-0" }),
        svg("text", { x: column[1] + 22 + long, y, "font-size": size,
          class: `story-row number ${i === best ? "best" : ""}`, "data-percent": shown.percents[i] },
          percent(shown.percents[i])));
    });
    fill(place.back, parts);
    const [gx, gy] = at(query);
    grip.place(gx, gy, query[0], `${signed(query[0])}, ${signed(query[1])}`);
  }

  return { element, async show() {
    if (read !== null) {
      return;
    }
    read = await (await story()).read("pizza");
    const end = [...read.q];
    await compute(end); // the numbers at rest are there at once; the arrow swings into its place
    if (!still()) {
      const angle = Math.atan2(end[1], end[0]) + 2.2, length = Math.hypot(...end);
      motion.jump([length * Math.cos(angle), length * Math.sin(angle)]);
    }
    motion.to(end, 1200);
  } };
}
