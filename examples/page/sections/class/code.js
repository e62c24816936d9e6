// The program beside the matrices, with one highlighted line. It is one stop of the Tab key; the arrow keys go from line to line.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";

/** Half the indentation, as the listing is narrow. */
const narrowed = (text) => text.replace(/^( +)\1/gm, "$1");

/** onchoose(step): a line was pressed. Returns {element, draw(): new lines, mark(): the current line, which is scrolled into view}. */
export function codeOf(view, onchoose) {
  const list = h("ol.code");
  const stopAt = (button) => list.querySelectorAll("button").forEach((other) => (other.tabIndex = other === button ? 0 : -1));
  list.addEventListener("keydown", (event) => {
    const all = [...list.querySelectorAll("button")];
    const next = all[all.indexOf(event.target) + ({ ArrowUp: -1, ArrowDown: 1 }[event.key] ?? NaN)];
    if (next !== undefined) {
      event.preventDefault();
      stopAt(next);
      next.focus();
    }
  });
  const draw = () => fill(list, view.lines.map(({ python }, i) => {
    const step = view.steps.indexOf(view.lines[i]), text = narrowed(python);
    return step < 0 ? h("li", {}, h("span.line", {}, text))
      : h("li", { "data-step": step }, h("button.line", { type: "button", onclick: () => onchoose(step) }, text));
  }));
  const mark = () => {
    for (const item of list.querySelectorAll("[data-step]")) {
      const current = Number(item.dataset.step) === view.at();
      item.classList.toggle("current", current);
      item.firstChild[current ? "setAttribute" : "removeAttribute"]("aria-current", "step");
      if (current) {
        stopAt(item.firstChild);
        const room = list.clientHeight - item.offsetHeight;
        list.scrollTop = item.offsetTop - (room > 2 * item.offsetHeight ? room / 2 : 0);
      }
    }
  };
  new ResizeObserver(mark).observe(list); // what stands below takes its height
  return { element: h("div.listing", {}, h("h2", {}, t("class.python")), list), draw, mark };
}
