// Screen 3: a word is a row of numbers, and a table of weights makes an arrow of it; one weight can be changed.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { story } from "./model.js";
import { stage, arrow } from "./stage.js";
import { signed } from "./words.js";

const WORDS = ["it", "pizza", "oven", "good"], TABLES = { q: "query", k: "key", v: "value" };
const REACH = 3.4, MOST = 3; // of the picture; of a changed weight

export function begin({ ask }) {
  let word = "it", table = "q", chosen = 0, model = null, weights = null; // weights: of the table, one of them changed
  const place = stage(draw, t("story.rows.picture"));
  const choice = (text, choose, more = {}) => h("button.story-choice", { type: "button", ...more, onclick: () => {
    choose();
    weights = null;
    show();
  } }, text);
  const words = WORDS.map((name) => choice(name, () => (word = name)));
  const tables = Object.keys(TABLES).map((name) => choice(`W_${name} → ${TABLES[name]}`, () => (table = name)));
  const input = h("input", { type: "range", min: -MOST, max: MOST, step: 0.01, "aria-label": t("story.rows.weight"), oninput: () => {
    weights[chosen] = Number(input.value);
    change();
  } });
  const said = h("output");
  const reset = choice(t("story.compare.reset"), () => {});
  const numbers = h("div.rows-numbers"), spoken = h("p.unseen", { role: "status" });
  const element = h("div.story-screen.two", {},
    h("div.story-holder", {}, h("div.story-actions", {}, words), numbers, h("div.story-actions", {}, tables)),
    h("div.story-holder", {}, place.element, h("div.story-actions", {}, h("label.story-slider", {}, said, input), reset)), spoken);

  /** The row of numbers: of *it* after its first look, of other words as they were learned. */
  const row = () => (word === "it" ? model.it : model.rowOf(word));
  const sums = (of) => [0, 1].map((c) => row().reduce((sum, x, i) => sum + of[c * row().length + i] * x, 0));
  const shade = (value) => `--of:${(Math.min(1, Math.abs(value) / 2) * 70).toFixed(0)}%;--tone:var(${value < 0 ? "--query" : "--key"})`;
  const cell = (value, i) => h("button.rows-cell", { type: "button", "data-weight": value, style: shade(value), "aria-pressed": i === chosen,
    "aria-label": t("story.rows.cell", i < row().length ? "→" : "↑", i % row().length + 1, signed(value)), onclick: () => {
      chosen = i;
      change();
    } }, signed(value, 1));

  function change() {
    const size = row().length, focus = numbers.contains(document.activeElement);
    fill(numbers, h("p", {}, t(word === "it" ? "story.rows.it" : "story.rows.word", word)),
      h("div.rows-row", {}, row().map((x) => h("span.rows-cell", { "data-x": x, style: shade(x) }, signed(x, 1)))),
      [0, 1].flatMap((c) => [h("p", {}, t(`story.rows.${c === 0 ? "across" : "up"}`, `W_${table}`, signed(sums(weights)[c]))),
        h("div.rows-row", {}, Array.from(weights.slice(c * size, (c + 1) * size), (value, i) => cell(value, c * size + i)))]));
    focus && numbers.querySelector("[aria-pressed=true]").focus();
    said.textContent = `${chosen < size ? "→" : "↑"} ${chosen % size + 1}: ${signed(weights[chosen])}`;
    input.value = weights[chosen];
    spoken.textContent = `${TABLES[table]}: ${sums(weights).map((x) => signed(x)).join(", ")}`;
    place.redraw();
  }
  function draw(width, height) {
    if (weights === null) {
      return;
    }
    const learned = sums(model[table]), now = sums(weights), reach = Math.max(REACH, ...learned.map((x) => 1.15 * Math.abs(x)));
    const unit = Math.min(width, height) / 2 / reach, middle = [width / 2, height / 2];
    const at = (p) => [middle[0] + unit * p[0], middle[1] - unit * p[1]];
    const parts = [];
    for (let i = -Math.floor(width / 2 / unit); i <= width / 2 / unit; i++) {
      parts.push(svg("path", { d: `M${at([i, 0])[0]} 0V${height}`, class: i === 0 ? "story-axis" : "story-grid" }));
    }
    for (let i = -Math.floor(height / 2 / unit); i <= height / 2 / unit; i++) {
      parts.push(svg("path", { d: `M0 ${at([0, i])[1]}H${width}`, class: i === 0 ? "story-axis" : "story-grid" }));
    }
    const name = TABLES[table], [x, y] = at(now), end = Math.hypot(...now) || 1;
    parts.push(arrow(middle, at(learned), { class: `${name} rope-before` }),
      arrow(middle, [x, y], { class: name, "data-x": now[0], "data-y": now[1] }),
      svg("text", { x: Math.max(30, Math.min(width - 30, x + 26 * now[0] / end)), y: Math.max(18, Math.min(height - 8, y - 22 * now[1] / end + 6)),
        "text-anchor": "middle", class: `story-label ${name}` }, name));
    fill(place.back, parts);
  }
  async function show() {
    if (model === null) {
      const { call, about, read } = await story(), { embedding, ...learned } = await call("storyWords"), size = embedding.length / about.words.length;
      const rowOf = (name) => embedding.slice(about.words.indexOf(name) * size, (about.words.indexOf(name) + 1) * size);
      model = { ...learned, it: (await read("pizza")).it, rowOf };
    }
    words.forEach((button, i) => button.setAttribute("aria-pressed", WORDS[i] === word));
    tables.forEach((button, i) => button.setAttribute("aria-pressed", Object.keys(TABLES)[i] === table));
    weights ??= [...model[table]];
    ask("do");
    change();
  }
  return { element, show };
}
