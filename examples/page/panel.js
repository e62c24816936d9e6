// The panel that explains one number: its name, its value, the formula with the numbers filled in.
// Every number of the formula is a button that leads to that number's own explanation.

import { h, fill } from "./dom.js";
import { t } from "./strings.js";
import { number, sizes } from "./matrix.js";
import { explain, nameOf } from "./explain.js";

/** The gradient of a tensor of the pass, or -1. */
export function gradientOf(pass, tensor) {
  const found = [...pass.marks, ...pass.leaves].find((x) => x.tensor === tensor) ??
    pass.entries.find((entry) => entry.result === tensor);
  return found?.gradient ?? -1;
}

/** The tensor that this one is the gradient of, or -1. */
function valueOf(pass, tensor) {
  const found = [...pass.marks, ...pass.leaves].find((x) => x.gradient === tensor) ??
    pass.entries.find((entry) => entry.gradient === tensor);
  return found?.tensor ?? found?.result ?? -1;
}

/**
 * onvisit(tensor, index): the reader visits this number, or returns to it; onclose(): the panel was
 * closed; words(tensor, index): {title, place}: what the number is in words, and "row, column" by name;
 * either can be null; gradients(): is the gradient of a number shown with it? Returns {element, focus(), clear(),
 * show(pass, tensor, index): shows a number and returns its explanation}.
 */
export function panel({ onvisit, onclose, words, gradients = () => true } = {}) {
  let shown = null;  // {pass, tensor, index}
  let trail = [];    // cells visited before
  let visiting = false;
  const content = h("div.explained", {});
  const said = h("p.unseen", { "aria-live": "polite" });
  const element = h("aside.panel", { "aria-label": t("panel.label") }, content, said);

  const visit = (tensor, index) => {
    visiting = true;
    onvisit?.(tensor, index);
    result.show(shown.pass, tensor, index);
    visiting = false;
    result.focus();
  };
  const goOn = (tensor, index) => {
    trail.push(shown);
    visit(tensor, index);
  };
  const back = () => {
    const last = trail.pop();
    visit(last.tensor, last.index);
  };
  const placeOf = (pass, tensor, index) => {
    const place = words?.(tensor, index)?.place;
    if (place) {
      return place;
    }
    const { shape } = pass.tensors[tensor], width = sizes(shape)[1];
    return shape.length === 0 ? "" : shape.length === 1 ? String(index) : `${Math.floor(index / width)}, ${index % width}`;
  };
  const fullName = (pass, tensor, index) => {
    const { name, isGradient } = nameOf(pass, tensor);
    const place = placeOf(pass, tensor, index);
    const cell = place === "" ? name : `${name}[${place}]`;
    return isGradient ? t("panel.gradient_of", cell) : cell;
  };
  const numberButton = (pass, { tensor, index, value, text = number(value) }) =>
    h("button.number", { type: "button", title: fullName(pass, tensor, index), onclick: () => goOn(tensor, index) },
      text);

  const formula = (pass, found) => found.parts.map((part) =>
    typeof part === "string" ? h("span", {}, part) : numberButton(pass, part));

  const other = (pass, tensor, index) => {
    const gradient = gradientOf(pass, tensor), value = valueOf(pass, tensor);
    const to = gradient >= 0 ? gradient : value;
    const isHidden = gradient >= 0 && !gradients();
    if (to < 0 || isHidden || pass.tensors[to].values.length !== pass.tensors[tensor].values.length) {
      return null;
    }
    const part = { tensor: to, index, value: pass.tensors[to].values[index] };
    return h("p.other", {}, t(gradient >= 0 ? "panel.its_gradient" : "panel.its_value"), " ", numberButton(pass, part),
      gradient >= 0 ? " " + t("panel.slope", number(part.value, 3)) : null);
  };

  const result = {
    element,
    show(pass, tensor, index) {
      const same = shown !== null && shown.tensor === tensor && shown.index === index;
      if (!visiting && !same) {
        trail = [];
      }
      shown = { pass, tensor, index };
      const value = pass.tensors[tensor].values[index];
      const name = fullName(pass, tensor, index);
      const title = words?.(tensor, index)?.title ?? name;
      const found = explain(pass, tensor, index), equals = found?.comesOut ? "=" : "≈";
      fill(content,
        h("div.panel-bar", {},
          h("button", { type: "button", onclick: back, hidden: trail.length === 0 }, t("panel.back")),
          h("button.close", { type: "button", onclick: () => onclose?.(), "aria-label": t("panel.close"), hidden: !onclose },
            "×")),
        h("h3", { tabindex: -1 }, title),
        h("p.value", {}, h("code", {}, name), " = ", h("strong", {}, number(value, 6))),
        found === null ? h("p", {}, t("panel.leaf")) : [
          h("p", {}, found.rule === null ? t(found.key, ...found.args) : t(found.rule.key, ...found.rule.args)),
          h("p.formula", {}, formula(pass, found), h("span", {}, ` ${equals} ${number(found.value)}`)),
          found.comesOut ? null : h("p.note", {}, t("explain.rounded")),
          found.rule === null ? null : h("p.note.not-presented", {}, t("panel.operation", t(found.key, ...found.args))),
          found.note === null ? null : h("p.note", {}, t(found.note, ...found.noteArgs)),
        ],
        other(pass, tensor, index));
      said.textContent = `${title}: ${number(value)}` + (found === null ? "" :
        `. ${found.parts.map((part) => part.text ?? part).join("")} ${equals} ${number(value)}`);
      return found;
    },
    focus() {
      content.querySelector("h3")?.focus({ preventScroll: true });
    },
    clear() {
      shown = null;
      trail = [];
      said.textContent = "";
      fill(content, h("p.empty", {}, t("panel.empty")));
    },
  };
  result.clear();
  return result;
}
