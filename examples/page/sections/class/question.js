// Predict, then check: a question about the current line, which its numbers answer. The numbers that the line makes are
// hidden until the reader has answered.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { state, setState } from "../../state.js";
import { run } from "../../run.js";
import { number, sizes } from "../../matrix.js";
import { explain } from "../../explain.js";
import { choose, formulaText, isNear, typed } from "../asking.js";
import { formulasOf, resultsOf } from "./equation.js";
import { written } from "./cells.js";

const FEW = 6; // numbers of a formula that a reader can compute

const range = (count) => Array.from({ length: count }, (_, i) => i);

/** A number of a matrix in a sentence. */
const shown = (kind, value) => (kind === "percent" ? `${number(100 * value, 1)} %` : number(value));

/** Which of several numbers is the largest; null if that cannot be seen. lines: [{place, items: [{name, index}]}]. */
function largestQuestion({ name, kind, values, tensor }, lines) {
  for (const { place, items } of lines) {
    const finite = items.filter(({ index }) => Number.isFinite(values[index]));
    const [first, second] = [...finite].sort((a, b) => values[b.index] - values[a.index]);
    if (second !== undefined && shown(kind, values[first.index]) !== shown(kind, values[second.index])) {
      const options = choose(finite, first);
      return {
        kind: "largest", name, tensor, index: first.index,
        text: place === "" ? t("question.largest", name) : t("question.largest.row", name, place),
        options: options.map((option) => option.name), right: options.indexOf(first),
        answer: t("question.largest.is", first.name, shown(kind, values[first.index]), second.name,
          shown(kind, values[second.index])),
      };
    }
  }
  return null;
}

/** The lines of a matrix whose numbers are compared: the reader's row first; the rows of a column as one line. */
function linesOf({ shape, rows, columns }, view) {
  const [height, width] = sizes(shape), { sentence } = view.shown;
  const nameAt = (list, i) => list?.[i] || String(i);
  if (width === 1 || height === 1) {
    const names = width === 1 ? rows : columns;
    return [{ place: "", items: range(height * width).map((index) => ({ name: nameAt(names, index), index })) }];
  }
  const first = rows.length === run.language.words.length ? sentence.ids[view.row] : Math.min(view.row, height - 1);
  return [first, ...range(height).filter((r) => r !== first)].map((r) => ({ place: nameAt(rows, r),
    items: range(width).map((c) => ({ name: nameAt(columns, c), index: r * width + c })) }));
}

/** What a number is, to be typed; null if its formula is too long. */
function numberQuestion(pass, { name, kind, values, tensor, shape, rows, columns }, turn) {
  const width = sizes(shape)[1];
  const order = range(values.length).map((i) => (i + turn) % values.length);
  const index = order.find((i) => Number.isFinite(values[i]) && (explain(pass, tensor, i)?.sources.length ?? 0) > 1) ??
    order.find((i) => Number.isFinite(values[i]));
  const found = index === undefined ? null : explain(pass, tensor, index);
  if (found === null || !found.known || cellsInParts(found) > FEW) {
    return null;
  }
  const place = [rows?.[Math.floor(index / width)], columns?.[index % width]].filter((x) => x).join(", ");
  const value = kind === "percent" ? 100 * values[index] : Number(values[index]);
  return {
    kind: "number", name, tensor, index, value, text: t(kind === "percent" ? "question.percent" : "question.number",
      place === "" ? name : `${name}[${place}]`),
    answer: t("question.number.is", shown(kind, values[index])),
  };
}

const cellsInParts = (found) => found.parts.filter((part) => typeof part !== "string").length;

/** Is the loss smaller than that of guessing among all words? */
function lossQuestion({ name, values, tensor }, view) {
  const words = run.language.words.length, guess = Math.log(words), loss = values[0];
  return {
    kind: "loss", name, tensor, index: 0, text: t("question.loss", words, number(guess, 2)),
    options: ["smaller", "near", "larger"].map((key) => t(`question.loss.${key}`)),
    right: Math.abs(loss - guess) < 0.1 * guess ? 1 : loss < guess ? 0 : 2,
    answer: t("question.loss.is", number(loss, 2), view.shown.pass.step, number(guess, 2)),
  };
}

/** The question about the current line: {kind, name: of the matrix, tensor, index: its answer's cell, text, answer: a
 * sentence with the numbers; options, right: its number; or value: to be typed}; null: there is none. */
export function questionFor(view) {
  const all = formulasOf(view.line, view.backward), formula = all[Math.min(state.part, all.length - 1)];
  const [result] = resultsOf(formula), found = view.matrices.get(result);
  if (found === undefined) {
    return null;
  }
  const matrix = { ...found, name: written(result) };
  return numberQuestion(view.shown.pass, matrix, view.at()) ??
    (result === "loss" ? lossQuestion(matrix, view) : largestQuestion(matrix, linesOf(matrix, view)));
}

/** Returns {element, draw(): called at each line, cover(): called when its matrices have been drawn}. */
export function questionOf(view) {
  const element = h("div.question.not-printed");
  let asked = "", chosen = null; // the line that is asked about, and the answer
  const equation = () => element.closest("section").querySelector(".equation");
  let isHidden = false; // what the line makes, while it is asked about
  const cover = () => {
    equation().classList.toggle("asking", isHidden);
    equation().querySelectorAll(".changed").forEach((box) => box.toggleAttribute("inert", isHidden));
  };
  const hide = (hidden) => {
    isHidden = hidden;
    cover();
  };
  const keyNow = () => JSON.stringify([state.example, state.phase, view.at(), state.part, state.masked, state.head,
    view.row, view.shown.pass.step, view.shown.sentence.words]);
  const answer = (question, value) => {
    chosen = value;
    drawOpen(question);
    element.querySelector(".answer")?.focus();
  };
  const drawOpen = (question) => {
    const isDone = chosen !== null;
    hide(!isDone);
    const isRight = isDone &&
      (question.options === undefined ? isNear(typed(chosen), question.value) : chosen === question.right);
    const found = explain(view.shown.pass, question.tensor, question.index);
    const field = h("input", { type: "text", inputmode: "decimal", size: 8, autocomplete: "off", value: chosen ?? "",
      disabled: isDone, "aria-label": question.text, "data-key": "answer" });
    fill(element, h("form", { onsubmit: (event) => {
      event.preventDefault();
      if (!Number.isNaN(typed(field.value))) {
        answer(question, field.value);
      }
    } }, h("fieldset", {}, h("legend", {}, question.text),
      question.options === undefined
        ? [field, " ", h("button", { disabled: isDone }, t("question.check")), h("p.faint", {}, t("question.digits"))]
        : question.options.map((option, i) => h("button", { type: "button", disabled: isDone, "data-key": `option${i}`,
          "aria-pressed": isDone ? String(i === chosen) : null, "data-right": isDone && i === question.right,
          onclick: () => answer(question, i) }, option)))),
    !isDone ? null : h("p.answer", { tabindex: -1, role: "status" },
      h("strong", { class: isRight ? "good" : "bad" }, t(isRight ? "question.right" : "question.wrong")), " ",
      question.answer,
      found?.known && cellsInParts(found) <= FEW ? h("span.formula", {}, ` ${formulaText(found)}`) : null),
    h("button.close", { type: "button", "aria-label": t("question.close"), title: t("question.close"), onclick: () => {
      asked = "";
      draw();
      element.querySelector("button").focus();
    } }, "×"));
  };
  const draw = () => {
    const question = questionFor(view), key = keyNow();
    element.hidden = question === null;
    if (question === null || asked !== key) {
      asked = "";
      hide(false);
      fill(element, h("button.small", { type: "button", "data-key": "ask", onclick: () => {
        asked = keyNow();
        chosen = null;
        setState({ cell: "" }); // its explanation might be the answer
        drawOpen(question);
        element.querySelector("input, fieldset button").focus();
      } }, t("question.ask")));
    } else {
      drawOpen(question);
    }
  };
  return { element, draw, cover };
}
