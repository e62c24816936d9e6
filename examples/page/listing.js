// The two listings of the class, in Python and in C, with one highlighted line in both. Each is one stop of the Tab
// key; the arrow keys go from line to line.

import { h, fill } from "./dom.js";

/** Text whose "->" and "-" are not broken at the end of a line. */
const unbroken = (text) => text.split(/(\w+->\w+|-\w+)/)
  .map((part, i) => (i % 2 === 1 ? h("span.word", {}, part) : part));

/** Half the indentation, as listings are narrow. */
const narrowed = (text) => text.replace(/^( +)\1/gm, "$1");

/**
 * onchoose(step): a line was pressed. Returns {python, c: elements, draw(lines, steps, whole): new lines (lines.js),
 * mark(step): highlights a step and scrolls it into view within its listing}.
 */
export function listing(onchoose) {
  const lists = { python: h("ol.code"), c: h("ol.code") };
  let now = -1; // the marked step
  const stopAt = (list, button) =>
    list.querySelectorAll("button").forEach((other) => (other.tabIndex = other === button ? 0 : -1));
  for (const list of Object.values(lists)) {
    list.addEventListener("keydown", (event) => {
      const all = [...list.querySelectorAll("button")];
      const next = all[all.indexOf(event.target) + ({ ArrowUp: -1, ArrowDown: 1 }[event.key] ?? NaN)];
      if (next !== undefined) {
        event.preventDefault();
        stopAt(list, next);
        next.focus();
      }
    });
  }
  /** Scrolls a list so that an item is seen, and its first line is whole. */
  const seen = (list, item) => {
    const around = list.clientHeight > 6 * item.offsetHeight ? item.offsetHeight : 0; // lines before and after
    const top = item.offsetTop - 2 * around, bottom = item.offsetTop + item.offsetHeight + 2 * around;
    const least = Math.max(Math.min(list.scrollTop, top), bottom - list.clientHeight);
    const tops = [...list.children].flatMap(({ offsetTop, offsetHeight, firstChild }) => {
      const lines = Math.max(1, Math.round(offsetHeight / parseFloat(getComputedStyle(firstChild).lineHeight)));
      return Array.from({ length: lines }, (_, i) => offsetTop + i * offsetHeight / lines);
    });
    list.scrollTop = least <= 0 ? 0 : Math.ceil(tops.find((at) => at >= least - 0.5) ?? least);
  };
  const again = new ResizeObserver(() => shown.mark(now)); // what stands below takes its height
  Object.values(lists).forEach((list) => again.observe(list));
  const shown = {
    ...lists,
    draw(lines, steps, whole) {
      for (const [language, list] of Object.entries(lists)) {
        const shown = lines.filter((line) => line[language] !== null && (whole || !line.whole));
        fill(list, shown.map((line) => {
          const step = steps.indexOf(line), text = unbroken(narrowed(line[language]));
          return step < 0 ? h("li", {}, h("span.line", {}, text))
            : h("li", { "data-step": step }, h("button.line", { type: "button", onclick: () => onchoose(step) }, text));
        }));
      }
    },
    mark(step) {
      now = step;
      for (const list of Object.values(lists)) {
        for (const item of list.querySelectorAll("[data-step]")) {
          const current = Number(item.dataset.step) === step;
          item.classList.toggle("current", current);
          item.firstChild[current ? "setAttribute" : "removeAttribute"]("aria-current", "step");
          if (current) {
            stopAt(list, item.firstChild);
          }
          if (current && list.clientHeight > 0) {
            seen(list, item);
          }
        }
      }
    },
  };
  return shown;
}
