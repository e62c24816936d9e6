// The map of the class: a box for each line, where its numbers come from, and where the reader is.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";

/** Where the boxes stand: [{step: its number, or -1 for the input, name, column, row}], and {columns, rows}. */
function placesOf(steps) {
  const made = new Map(steps.map((line, i) => [line.marks[0], i]));
  const baseOf = (name) => (made.has(name) ? name : name.split("@")[0]);
  const read = steps.map((line) => line.reads.map(baseOf));
  const isInput = (name) => !made.has(name) && read.filter((names) => names.includes(name)).length > 1;
  const inputs = [...new Set(read.flat())].filter(isInput);
  const depth = new Map(inputs.map((name) => [name, 0]));
  steps.forEach((line, i) => depth.set(line.marks[0],
    1 + Math.max(inputs.length > 0 ? 0 : -1, ...read[i].map((name) => depth.get(name) ?? -1))));
  const boxes = [...inputs.map((name) => ({ step: -1, name })), ...steps.map((line, step) => ({ step, name: line.marks[0] }))];
  const columns = 1 + Math.max(...depth.values());
  const alike = Array.from({ length: columns }, (_, c) => boxes.filter(({ name }) => depth.get(name) === c));
  const rows = Math.max(...alike.map((list) => list.length));
  alike.forEach((list, column) => list.forEach((box, i) =>
    Object.assign(box, { column, row: list.length === rows ? i : Math.floor((rows - 1) / 2) })));
  const byName = new Map(boxes.map((box) => [box.name, box]));
  const edges = steps.flatMap((line, i) => read[i].filter((name) => byName.has(name))
    .map((name) => [byName.get(name), byName.get(line.marks[0])]));
  return { boxes, edges, columns, rows };
}

/** goToLine({line}). Returns {element, draw(): new lines, mark(): the current line}. */
export function mapOf(view, goToLine) {
  const element = h("nav.map", { "aria-label": t("map") });
  let buttons = [];
  const draw = () => {
    const { boxes, edges, columns, rows } = placesOf(view.steps);
    const middle = ({ column, row }) => [column + 0.5, row + 0.5];
    const path = ([from, to]) => {
      const [x, y] = middle(from), [x2, y2] = middle(to);
      const beside = from.row === to.row && rows > 1 ? 0.12 : y; // past the boxes between
      return to.column - from.column < 2 ? `M${x},${y}L${x2},${y2}`
        : `M${x},${y}L${x + 0.5},${beside}H${x2 - 0.5}L${x2},${y2}`;
    };
    buttons = [];
    const items = boxes.map(({ step, name, column, row }) => {
      const label = t(`map.${step < 0 ? "words" : view.steps[step].id}`);
      const style = `grid-column:${column + 1};grid-row:${row + 1}`;
      if (step < 0) {
        return h("li", { style }, h("span.box", { title: name }, label));
      }
      const button = h("button.box", { type: "button", title: name, tabindex: -1,
        "aria-label": t("map.box", label, step + 1, view.steps.length),
        onclick: () => goToLine({ line: step }) }, label);
      buttons[step] = button;
      return h("li", { style }, button);
    });
    fill(element, svg("svg", { viewBox: `0 0 ${columns} ${rows}`, preserveAspectRatio: "none", "aria-hidden": true },
      edges.map((edge) => svg("path", { d: path(edge) }))),
    h("ol", { style: `--columns:${columns};--rows:${rows}` }, items));
  };
  const mark = () => {
    const at = view.at(), hadFocus = element.contains(document.activeElement);
    element.classList.toggle("backward", view.backward);
    buttons.forEach((button, step) => {
      button[step === at ? "setAttribute" : "removeAttribute"]("aria-current", "step");
      button.tabIndex = step === at ? 0 : -1;
      button.classList.toggle("done", view.backward ? step > at : step < at);
    });
    if (hadFocus) {
      buttons[at].focus({ preventScroll: true });
    }
  };
  return { element, draw, mark };
}
