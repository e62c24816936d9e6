// What is in the opened box: a sentence, its formula, its matrices as colours, and the numbers of the chosen token.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { state, setState } from "../../state.js";
import { heat } from "../../heat.js";
import { matrix, number, percent } from "../../matrix.js";
import { nameOf } from "./map.js";
import { weightsOf, summands, shown, grouped } from "./boxes.js";

/** The rows of a part: one heat for each head, or one. */
function heatsOf(part, kind) {
  const { shape, values } = part, [rows, columns] = shape.slice(-2), heads = shape.length === 3 ? shape[0] : 1;
  return Array.from({ length: heads }, (_, head) => ({ head: heads > 1 || shape.length === 3 ? head : null, shape: [rows, columns], kind,
    values: values.subarray(head * rows * columns, (head + 1) * rows * columns) }));
}

/** A table of what has been added to the stream of the chosen token, and what the model would say after each sum. */
function streamTable(read, stage, at) {
  const parts = summands(stage), norm = (name) => read.parts[`norm.${name}`].values[at];
  const most = Math.max(...parts.map(({ key }) => norm(key)), norm(`stream.${stage}`));
  const bar = (value, strong) => h("td.gpt-length", {}, h("span", { class: strong ? "strong" : "", "aria-hidden": "true",
    style: `width:${(7 * value / most).toFixed(2)}rem` }), number(value, 2));
  const said = (n) => {
    const id = read.parts[`guess.${n}`].values[at];
    return [h("td", {}, h("code", {}, shown(read.vocabulary[id]))), h("td", {}, percent(read.parts[`guess_share.${n}`].values[at]))];
  };
  return [h("div.scroll", { tabindex: 0, role: "region", "aria-label": t("gpt.sum.region") },
    h("table.facts.gpt-sum", {}, h("caption", {}, t("gpt.sum", shown(read.tokens[at]), at + 1)),
      h("thead", {}, h("tr", {}, ["added", "length", "total", "guess", "sure"].map((key) => h("th", { scope: "col" }, t(`gpt.sum.${key}`))))),
      h("tbody", {}, parts.map(({ key, name, block }, i) => h("tr", {},
        h("th", { scope: "row" }, i === 0 ? t("gpt.wte") : i === 1 ? `+ ${t("gpt.wpe")}`
          : `+ ${t("gpt.of_block", t(name === "attn" ? "gpt.attention" : "gpt.feed"), block + 1)}`),
        bar(norm(key), false), ...(i === 0 ? [h("td"), h("td"), h("td")] : [bar(norm(`stream.${i - 1}`), true), said(i - 1)].flat())))))),
  h("p.faint", {}, t("gpt.sum.why"))];
}

/** The tokens with their ids. */
const textTable = (read) => h("div.scroll", { tabindex: 0, role: "region", "aria-label": t("gpt.text") },
  h("table.plain.gpt-ids", {}, h("tbody", {},
    h("tr", {}, h("th", { scope: "row" }, t("gpt.text.token")), read.tokens.map((token) => h("td", {}, h("code", {}, shown(token))))),
    h("tr", {}, h("th", { scope: "row" }, t("gpt.text.id")), read.ids.map((id) => h("td", {}, String(id)))))));

const LEAST = 7; // px of a row of colours in a low window

/** Returns {element, update(about, boxes, read), choose(at)}; at: the row of the chosen token. */
export function detail() {
  const element = h("section.gpt-detail", { "aria-label": t("gpt.detail"), tabindex: -1 });
  const sums = h("div"), list = h("div"), summary = h("summary");
  const numbers = h("details", { ontoggle: () => writeNumbers() }, summary, list);
  let now = null; // {box, name, part, kind, read, heats, at}

  function heatOf({ head, shape, values, kind }, name, read, names) {
    const square = kind === "causal", choices = kind === "percent", token = (i) => `“${names[i]}” (${i + 1})`;
    const columns = square ? names : choices && shape[1] <= 100 ? read.vocabulary.map(shown) : null;
    return heat({ shape, values, kind, rows: names, columns, wide: square ? Math.max(9.5, Math.min(15, 330 / shape[1])) : choices ? 12 : shape[1] > 64 ? 5 : 14,
      title: `${head === null ? "" : `${t("gpt.head", head + 1)} `}${name} (${shape.join(" × ")})`,
      onrow: (row) => setState({ gpt_at: row + 1 === names.length ? 0 : row + 1 }),
      reading: (r, c, text) => (square ? t("gpt.reading.percent", token(r), token(c), text)
        : choices ? t("gpt.reading.next", token(r), `“${shown(read.vocabulary[c])}”`, text)
        : t("gpt.reading", token(r), c + 1, shape[1], text)) });
  }

  function update(about, boxes, read) {
    const box = boxes.find(({ id }) => id === state.gpt_box) ?? boxes[0];
    const [name, part, kind] = box.parts.find(([each]) => each === state.gpt_part) ?? box.parts[0] ?? [];
    const names = read.tokens.map(shown), weights = weightsOf(box, about), C = about.width;
    const focused = document.activeElement?.closest("[data-part]")?.dataset.part; // which is replaced
    const heats = part === undefined ? [] : heatsOf(read.parts[part], kind).map((each) => heatOf(each, name, read, names));
    fill(element,
      h("div.gpt-about", {}, h("h2", {}, nameOf(box)),
        h("p", {}, t(`gpt.${box.kind}.is`, about.vocab, C, about.heads, C / about.heads, 4 * C, names.length)),
        box.code === undefined ? null : h("p.gpt-code", {}, h("code", {}, box.code)),
        box.kind === "logits" ? h("p.faint", {}, t("gpt.tied")) : null,
        weights === null ? null : h("p.faint", {}, t("gpt.weights", weights[0], grouped(weights[1])))),
      box.kind === "text" ? textTable(read) : null,
      box.parts.length < 2 ? null : h("div.group.small.gpt-parts", { role: "group", "aria-label": t("gpt.parts") },
        box.parts.map(([each]) => h("button", { type: "button", "data-part": each, "aria-pressed": each === name,
          onclick: () => setState({ gpt_part: each }) }, t(`gpt.part.${each}`)))),
      box.kind === "stream" ? sums : null,
      h("div.gpt-heats", {}, heats.map((each) => each.element)),
      part === undefined ? null : [h("p.faint", {}, t("gpt.point"), " ", kind === undefined
        ? t("gpt.shade.value", number(read.parts[part].values.reduce((most, v) => Math.max(most, Math.abs(v)), 0), 2)) : t("gpt.shade.percent")),
      numbers]);
    heats.forEach((each) => each.paint());
    if (focused !== undefined) {
      element.querySelector(`[data-part="${focused}"]`)?.focus({ preventScroll: true });
    }
    now = { box, name, part, kind, read, heats, names };
  }

  /** Rows that are lower where the window ends, as the last one is chosen at first. */
  function fit() {
    const [first] = now?.heats ?? [];
    if (first === undefined || !element.checkVisibility()) {
      return;
    }
    now.heats.forEach((each) => each.setTall(each.tall));
    const lines = new Set(now.heats.map((each) => each.element.offsetTop)).size;
    const over = Math.max(...now.heats.map((each) => each.element.getBoundingClientRect().bottom)) + scrollY + 4 - innerHeight;
    const tall = first.tall - Math.max(0, Math.ceil(over / (lines * first.rows)));
    if (tall >= LEAST) {
      now.heats.forEach((each) => each.setTall(tall));
    }
  }
  new ResizeObserver(fit).observe(element);
  addEventListener("resize", fit);

  function choose(at) {
    now.at = at;
    now.heats.forEach((each) => each.choose(at));
    if (now.box.kind === "stream") {
      fill(sums, streamTable(now.read, now.box.stage, at));
    }
    fill(summary, t("gpt.numbers", now.names[at], at + 1));
    writeNumbers();
  }

  /** The row of the chosen token as numbers, also for those who cannot see colours. */
  function writeNumbers() {
    const { part, name, kind, read, names, at } = now;
    if (part === undefined || !numbers.open) {
      fill(list);
      return;
    }
    const { shape, values } = read.parts[part], [rows, columns] = shape.slice(-2), heads = shape.length === 3 ? shape[0] : 1;
    const seen = kind === "causal" ? at + 1 : Math.min(columns, 256);
    const heading = kind === "causal" ? names : kind === "percent" ? read.vocabulary.map(shown) : Array.from({ length: seen }, (_, i) => i + 1);
    fill(list, Array.from({ length: heads }, (_, head) => {
      const from = (head * rows + at) * columns;
      return matrix({ tensor: 0, name: shape.length === 3 ? `${t("gpt.head", head + 1)} ${name}` : name, shape: [1, seen],
        values: values.subarray(from, from + seen), rows: [names[at]], columns: heading, kind: kind === undefined ? "value" : "percent" }).element;
    }));
  }

  return { element, update, choose, paint: () => now?.heats.forEach((each) => each.paint()) };
}
