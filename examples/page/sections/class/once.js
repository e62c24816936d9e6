// That numbers can be pressed is shown once: at the first visit the page explains one of its numbers by itself.

import { state } from "../../state.js";
import { t } from "../../strings.js";
import { h } from "../../dom.js";

const KEY = "heed.numbers"; // of what the browser remembers
const AFTER = 900;          // ms

/** Has it been shown? Browsers that remember nothing for files show it never. */
function seen() {
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    return true;
  }
}

function remember() {
  try {
    localStorage.setItem(KEY, "shown");
  } catch {
    // it is shown again at the next visit
  }
}

let begun = false;

/** equation: the element with the matrices; explained: of explaining.js. */
export function showOnce(equation, explained) {
  if (begun || seen() || state.cell !== "" || state.present || matchMedia("(prefers-reduced-motion: reduce)").matches) {
    return;
  }
  begun = true;
  const events = ["pointerdown", "keydown", "pointermove", "hashchange"];
  let hint = null;
  const end = () => {
    clearTimeout(timer);
    events.forEach((type) => removeEventListener(type, end, true));
    hint?.remove();
    equation.querySelector(".pressed-once")?.classList.remove("pressed-once");
    remember();
  };
  const timer = setTimeout(() => {
    const cell = equation.querySelector(".changed td[data-index]");
    if (cell === null || state.tab !== "class") {
      end();
      return;
    }
    explained.point(Number(cell.closest("table").dataset.tensor), Number(cell.dataset.index));
    cell.classList.add("pressed-once");
    hint = h("p.note.once", {}, t("panel.once"));
    explained.element.prepend(hint);
    remember();
  }, AFTER);
  events.forEach((type) => addEventListener(type, end, true));
}
