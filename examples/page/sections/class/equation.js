// The matrices of the current line, as an equation: what the line makes, and what it is made of.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { state } from "../../state.js";

/** cards: of cards.js. Returns {element, draw(), fit()}. */
export function equationOf(view, cards, stage) {
  const element = h("div.equation");
  const symbol = (text) => {
    const { shown } = view;
    const d = text.includes("√d") ? shown.pass.tensors[shown.find("k").tensor].shape[1] : 0;
    return h("span.symbol", {}, text.slice(1).replace("√d", `√${d}`));
  };
  const draw = () => {
    const { line, steps, backward } = view, index = view.at();
    const freshLayer = (name) => (!backward ? (line.marks.includes(name) ? "value" : null)
      : index === steps.length - 1 && line.marks.includes(name) ? "gradient"
      : line.reads.includes(name) && view.firstReader(name) === index ? "gradient" : null);
    const terms = []; // a symbol stays with the matrix after it
    line.formula.forEach((part) => {
      const last = terms[terms.length - 1], open = last?.lastChild.classList.contains("symbol");
      if (part.startsWith("'ᵀ")) {
        last.append(h("span", { class: "symbol transposed", title: t("class.transposed") }, "ᵀ"));
        part = `'${part.slice(2)}`;
      }
      const added = part === "'" ? null : part.startsWith("'") ? symbol(part)
        : cards.update(cards.of(part), { fresh: freshLayer(part), later: false });
      if (added !== null) {
        open && !last.lastChild.classList.contains("transposed") ? last.append(added)
          : terms.push(h("div.term", {}, added));
      }
    });
    fill(element, terms);
  };
  /** In presenter mode, the matrices of the line become as large as the window allows: all of them together, or, where
   * these do not fit, each alone. */
  const fit = () => {
    const zoom = (factor) => element.style.setProperty("--zoom", factor);
    zoom(1);
    if (!state.present || stage.clientWidth === 0) {
      return;
    }
    const most = innerHeight - (element.getBoundingClientRect().top + scrollY) - 8;
    const boxes = [...element.querySelectorAll(".matrix-box")];
    const isWhole = () => boxes.every((box) => box.scrollWidth <= box.clientWidth);
    const together = () => element.offsetHeight <= most && isWhole();
    const alone = () => [...element.children].every((term) => term.offsetHeight <= most) && isWhole();
    zoom(0.9);
    const fits = together() ? together : alone;
    let [low, high] = fits === together ? [0.9, 3] : [1, 2];
    for (let i = 0; i < 6; i++) {
      const middle = (low + high) / 2;
      zoom(middle);
      fits() ? (low = middle) : (high = middle);
    }
    zoom(low);
  };
  addEventListener("resize", () => state.present && view.shown !== null && fit());
  return { element, draw, fit };
}
