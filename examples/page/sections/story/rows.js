// Screen 3: a word is a row of numbers, and a table of weights makes an arrow of it; one weight can be changed.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { stage, arrow, grid, label, choice, choices, actions, slider } from "./stage.js";
import { signed } from "./words.js";

const TABLES = { q: "query", k: "key", v: "value" }; // their classes, and of their arrows
const REACH = 3.4, MOST = 3; // of the picture; of a changed weight

export function begin({ ask, say, call, about, pizza }) {
  let word = "it", table = "q", chosen = 0, learned = null, weights = null; // weights: of the table, one of them changed
  const place = stage(draw, t("story.rows.picture"));
  const use = (change) => {
    change();
    weights = [...learned[table]];
    show();
  };
  const words = choices(["it", "pizza", "oven", "good"], (name) => name, (name) => use(() => (word = name)));
  const tables = choices(Object.keys(TABLES), (name) => `W_${name} → ${t(`story.${TABLES[name]}`)}`,
    (name) => use(() => (table = name)));
  const weight = slider(t("story.rows.weight"), [-MOST, MOST, 0.01], (value) => {
    weights[chosen] = value;
    update();
  });
  const numbers = h("div.rows-numbers");
  const element = h("div.story-screen.two", {},
    h("div.story-holder", {}, actions(words.element), numbers, actions(tables.element)),
    h("div.story-holder", {}, place.element, actions(weight.element, choice(t("story.reset"), () => use(() => {})))));

  /** The row of numbers: of *it* after its first look, of other words as they were learned. */
  function row() {
    const size = pizza.it.length, at = size * about.words.indexOf(word);
    return word === "it" ? pizza.it : learned.embedding.slice(at, at + size);
  }
  const sums = (of) => [0, 1].map((c) => row().reduce((sum, x, i) => sum + of[c * row().length + i] * x, 0));
  const shade = (value) =>
    `--of:${(Math.min(1, Math.abs(value) / 2) * 70).toFixed(0)}%;--tone:var(${value < 0 ? "--query" : "--key"})`;
  /** What a weight is for: across or up, and its number. */
  const nameOf = (i) => [i < row().length ? "→" : "↑", i % row().length + 1];
  const cell = (value, i) => h("button.rows-cell", { type: "button", style: shade(value), "aria-pressed": i === chosen,
    "aria-label": t("story.rows.cell", ...nameOf(i), signed(value)), onclick: () => {
      chosen = i;
      update();
    } }, signed(value, 1));

  function update() {
    const size = row().length, focus = numbers.contains(document.activeElement);
    fill(numbers, h("p", {}, t(word === "it" ? "story.rows.it" : "story.rows.word", word)),
      h("div.rows-row", {}, row().map((x) => h("span.rows-cell", { "data-x": x, style: shade(x) }, signed(x, 1)))),
      [0, 1].flatMap((c) => [h("p", {}, t(`story.rows.${c === 0 ? "across" : "up"}`, `W_${table}`, signed(sums(weights)[c]))),
        h("div.rows-row", {}, weights.slice(c * size, (c + 1) * size).map((value, i) => cell(value, c * size + i)))]));
    focus && numbers.querySelector("[aria-pressed=true]").focus();
    weight.set(weights[chosen], t("story.rows.cell", ...nameOf(chosen), signed(weights[chosen])));
    say(`${t(`story.${TABLES[table]}`)}: ${sums(weights).map((x) => signed(x)).join(", ")}`);
    place.redraw();
  }
  function draw(width, height) {
    if (weights === null) {
      return [];
    }
    const before = sums(learned[table]), now = sums(weights), reach = Math.max(REACH, ...before.map((x) => 1.15 * Math.abs(x)));
    const unit = Math.min(width, height) / 2 / reach, middle = [width / 2, height / 2];
    const at = (p) => [middle[0] + unit * p[0], middle[1] - unit * p[1]];
    const name = TABLES[table], [x, y] = at(now), end = Math.hypot(...now) || 1;
    return [grid(width, height, unit, middle), arrow(middle, at(before), { class: `${name} before` }),
      arrow(middle, [x, y], { class: name, "data-x": now[0], "data-y": now[1] }),
      label(Math.max(30, Math.min(width - 30, x + 26 * now[0] / end)),
        Math.max(18, Math.min(height - 8, y - 22 * now[1] / end + 6)), t(`story.${name}`), `story-label ${name}`, "middle")];
  }
  async function show() {
    learned ??= await call("storyWords");
    weights ??= [...learned[table]];
    words.mark(word);
    tables.mark(table);
    ask("do");
    update();
  }
  return { element, show };
}
