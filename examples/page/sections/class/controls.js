// What is computed: the example, the head, the mask, the weights; and what is shown of a line.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { state, setState } from "../../state.js";
import { run, goTo, STEPS } from "../../run.js";
import { chosenSentence } from "../../example.js";
import { codeLines, stepsOf, formulasOf, resultsOf } from "../../lines.js";
import { written } from "./cells.js";

/** The head that is shown, which the example has. */
export const headNow = () => Math.min(Math.max(0, Math.trunc(state.head)), (chosenSentence().heads) - 1);

/** Returns {element, draw()}. */
export function choicesOf(view) {
  const element = h("span.toolbar");
  const choose = (changes) => setState({ line: 0, phase: "forward", part: 0, cell: "", ...changes });
  /** The same line again, if it exists with the mask and without. */
  const toggleMask = (masked) => {
    const there = stepsOf(codeLines({ example: state.example, masked })).map(({ id }) => id);
    const line = there.indexOf(view.line.id);
    choose({ masked, phase: state.phase, line: line >= 0 ? line : there.indexOf("scaled_sims") });
  };
  const draw = () => {
    const heads = chosenSentence().heads, tutorial = state.example === "tutorial";
    const example = h("select", { "data-key": "example", onchange: (event) => choose({ example: event.target.value }) },
      ["tutorial", "pizza"].map((name) => h("option", { value: name, selected: name === state.example },
        t(name === "pizza" && state.watch !== "" ? "class.watched" : `class.${name}`))));
    const toHead = (event) => setState({ head: Number(event.target.value) });
    // Another number of heads is another model, trained as far as this one.
    const count = h("select", { "data-key": "heads", onchange: (event) => {
      const { step } = run;
      choose({ heads: Number(event.target.value), head: 0 });
      goTo(step);
    } }, [...new Set([1, 2, 4, heads])].map((n) => h("option", { value: n, selected: n === heads }, String(n))));
    const head = h("select", { "data-key": "head", onchange: toHead },
      Array.from({ length: heads }, (_, i) => h("option", { value: i, selected: i === headNow() }, String(i + 1))));
    const masked = h("input", { type: "checkbox", "data-key": "masked", checked: state.masked,
      onchange: (event) => toggleMask(event.target.checked) });
    const toStep = (step) => h("button", { type: "button", "data-key": `step${step}`,
      "aria-pressed": String(run.step === step), onclick: () => goTo(step) }, String(step));
    fill(element, h("label", {}, t("class.example"), example),
      tutorial ? null : h("label", {}, t("class.heads"), count),
      heads > 1 ? h("label", {}, t("class.head"), head) : null,
      tutorial ? h("label", {}, masked, t("class.mask"))
        : h("span.group", { role: "group", "aria-label": t("class.train_to") },
          h("span.group-label", {}, t("class.train_to")), [0, 100, 500, STEPS].map(toStep)));
  };
  return { element, draw };
}

/** What can be chosen at the current line: one of its formulas, a row. Returns {element, draw(): before the formula is drawn, drawRows():
 * after it}. */
export function lineChoices(view, goToLine) {
  const formulas = h("span.group", { role: "group", "aria-label": t("class.formulas") }), rows = h("span");
  const element = h("div.line-choices", {}, formulas, rows);
  const selectOf = (label, names) => h("label", {}, label, h("select", { "data-key": "row", onchange: (event) => {
    view.row = Number(event.target.value);
    view.render();
  } }, names.map((name, i) => h("option", { value: i, selected: i === Math.min(view.row, names.length - 1) }, name))));
  const draw = () => {
    const all = formulasOf(view.line, view.backward), part = Math.min(state.part, all.length - 1);
    fill(formulas, all.length < 2 ? [] : all.map((formula, i) => h("button", { type: "button", "data-key": `part${i}`,
      "aria-pressed": i === part, onclick: () => goToLine({ part: i }) }, resultsOf(formula).map(written).join(", "))));
    const chosen = formulas.children[part]; // in a narrow window, they are scrolled
    element.scrollLeft = chosen === undefined ? 0 : chosen.offsetLeft + chosen.offsetWidth - element.clientWidth + 8;
  };
  const drawRows = () => {
    const { line, backward } = view, names = [...line.marks, ...line.reads];
    const logits = names.some((name) => /^logits|^fc_layer/.test(name)) && !backward && !names.includes("targets");
    fill(rows, view.zoomed !== null ? selectOf(t("class.row"), view.zoomed) : logits ? selectOf(t("class.row_of"), view.shown.tokens) : null);
  };
  return { element, draw, drawRows };
}
