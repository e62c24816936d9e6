// The panel that explains one number: its name, its value, the formula with the numbers filled in. Every number of the formula is a
// button that leads to that number's own explanation. It is the number under the pointer or with the focus, else that of the URL.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { state, setState } from "../../state.js";
import { number } from "../../matrix.js";
import { readName } from "../../lines.js";
import { written, wordsFor, nameOfCell, cellNamed } from "./cells.js";
import { explain } from "./explain.js";

/** tables(): those that are drawn. Returns {element, now(), point, press, leave: for tables, close(), forget()}. */
export function panelOf(view, tables) {
  let hovered = null; // {name, index}: under the pointer or with the focus
  let from = null;    // the cell that the reader came to the panel from
  let trail = [];     // cells visited before
  const content = h("div.explained", {});
  const said = h("p.unseen", { "aria-live": "polite" });
  const element = h("aside.panel", { "aria-label": t("panel.label") }, content, said);
  const focus = () => content.querySelector("h3")?.focus({ preventScroll: true });

  const visit = ({ name, index }) => {
    hovered = null;
    setState({ cell: nameOfCell(view, name, index) });
    now();
    focus();
  };
  const back = () => visit(trail.pop());
  const close = () => {
    hovered = null;
    setState({ cell: "" });
    now();
    from?.focus();
    from = null;
  };
  const fullName = ({ name, index }) => {
    const { place } = wordsFor(view, name, index);
    return place === "" ? written(name) : `${written(name)}[${place}]`;
  };
  const numberButton = (to, here) => h("button.number", { type: "button", title: fullName(to), onclick: () => {
    trail.push(here);
    visit(to);
  } }, to.text ?? number(to.value));

  /** The gradient of the number, or the number itself. */
  const other = (here) => {
    const { gradient, part, head } = readName(here.name);
    const to = gradient ? here.name.replace(/\.grad(@\w+)?$/, "") : head === null ? `${here.name}.grad` : "", found = view.matrices.get(to);
    if (part !== undefined || found === undefined || !view.backward || found.values.length <= here.index) {
      return null;
    }
    const value = found.values[here.index];
    return h("p.other", {}, t(gradient ? "panel.its_value" : "panel.its_gradient"), " ", numberButton({ name: to, index: here.index, value }, here),
      gradient ? null : ` ${t("panel.slope", number(value, 3))}`);
  };

  const show = (here) => {
    const value = view.matrices.get(here.name).values[here.index], name = fullName(here), { title } = wordsFor(view, here.name, here.index);
    const found = explain(view, here.name, here.index), equals = found?.comesOut ? "=" : "≈";
    fill(content,
      h("div.panel-bar", {},
        h("button", { type: "button", onclick: back, hidden: trail.length === 0 }, t("panel.back")),
        h("button.close", { type: "button", onclick: close, "aria-label": t("panel.close") }, "×")),
      h("h3", { tabindex: -1 }, title),
      h("p.value", {}, h("code", {}, name), " = ", h("strong", {}, number(value, 6))),
      found === null ? h("p", {}, t(readName(here.name).head === null ? "panel.leaf" : "panel.head")) : [
        h("p", {}, t(found.key, ...found.args.map((x) => (typeof x === "string" ? written(x) : x)))),
        h("p.formula", {}, found.parts.map((part) => (typeof part === "string" ? h("span", {}, part) : numberButton(part, here))),
          h("span", {}, ` ${equals} ${number(value)}`)),
        found.comesOut ? null : h("p.note", {}, t("explain.rounded"))],
      other(here));
    said.textContent = `${title}: ${number(value)}` + (found === null ? "" :
      `. ${found.parts.map((part) => part.text ?? part).join("")} ${equals} ${number(value)}`);
    return found;
  };

  const now = () => {
    const here = hovered ?? cellNamed(view, state.cell);
    tables().forEach((table) => table.unmark());
    if (here === null) {
      trail = [];
      said.textContent = "";
      fill(content, h("p.empty", {}, t("panel.empty")));
      return;
    }
    const sources = show(here)?.sources ?? [];
    for (const table of tables()) {
      const own = sources.filter(({ name }) => name === table.name).map(({ index }) => index);
      own.length > 0 && table.mark(own, "source");
      here.name === table.name && table.mark([here.index], "result");
    }
  };
  return {
    element, now, close,
    point(name, index) {
      hovered = { name, index };
      trail = [];
      now();
    },
    leave() {
      if (state.cell !== "" && hovered !== null) {
        hovered = null;
        now();
      }
    },
    press(name, index, byKey) {
      const cell = nameOfCell(view, name, index), again = state.cell === cell;
      hovered = null;
      trail = [];
      setState({ cell: again ? "" : cell });
      again || element.scrollIntoView({ block: "nearest" }); // below the matrices on a phone
      if (byKey && !again) {
        from = document.activeElement;
        focus();
      }
    },
    /** The pointer's cell counts no more. */
    forget() {
      hovered = null;
    },
  };
}
