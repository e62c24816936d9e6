// What is computed: the example, the head, the mask, the weights; and how large matrices are shown.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { state, setState } from "../../state.js";
import { run, goTo, STEPS } from "../../run.js";
import { chosenSentence } from "../../example.js";
import { codeLines, stepsOf } from "../../lines.js";

/** The head that is shown, which the example has. */
export const headNow = () => Math.min(Math.max(0, Math.trunc(state.head)), (chosenSentence().heads ?? 1) - 1);

/** others: labels that follow the choices. Returns {element, draw()}. */
export function choicesOf(view, others) {
  const element = h("span.toolbar");
  const choose = (changes) => setState({ line: 0, phase: "forward", cell: "", ...changes });
  /** The same line again, if it exists with the mask and without. */
  const toggleMask = (masked) => {
    const there = stepsOf(codeLines({ example: state.example, masked })).map(({ id }) => id);
    const line = there.indexOf(view.line.id);
    choose({ masked, phase: state.phase, line: line >= 0 ? line : there.indexOf("scaled_sims") });
  };
  const draw = () => {
    const heads = chosenSentence().heads ?? 1, tutorial = state.example === "tutorial";
    const example = h("select", { "data-key": "example", onchange: (event) => choose({ example: event.target.value }) },
      ["tutorial", "pizza", "own"].map((name) =>
        h("option", { value: name, selected: name === state.example }, t(`class.${name}`))));
    const toHead = (event) => setState({ head: Number(event.target.value) });
    const head = h("select", { "data-key": "head", onchange: toHead },
      Array.from({ length: heads }, (_, i) => h("option", { value: i, selected: i === headNow() }, String(i))));
    const masked = h("input", { type: "checkbox", "data-key": "masked", checked: state.masked,
      onchange: (event) => toggleMask(event.target.checked) });
    const toStep = (step) => h("button", { type: "button", "data-key": `step${step}`,
      "aria-pressed": String(run.step === step), onclick: () => goTo(step) }, String(step));
    fill(element, h("label", {}, t("class.example"), example),
      heads > 1 ? h("label", {}, t("class.head"), head) : null,
      tutorial ? h("label", {}, masked, t("class.mask"))
        : h("span.group", { role: "group", "aria-label": t("class.train_to") },
          h("span.group-label", {}, t("class.train_to")), [0, 100, 500, STEPS].map(toStep)),
      others);
  };
  return { element, draw };
}

/** Choices for large matrices. Returns {element, draw()}. */
export function largeMatrices(view) {
  const element = h("div.toolbar.not-presented");
  const checkbox = (key, name) => h("label", {},
    h("input", { type: "checkbox", "data-key": key, checked: view[name], onchange: (event) => {
      view[name] = event.target.checked;
      view.rebuild();
    } }), t(`class.${key}`));
  const draw = () => {
    const names = [...view.line.marks, ...view.line.reads];
    const logits = ["logits", "fc_layer.weight", "fc_layer.bias"].some((name) => names.includes(name));
    const rows = h("select", { "data-key": "row", onchange: (event) => {
      view.row = Number(event.target.value);
      view.rebuild();
    } }, view.shown.tokens.map((word, i) => h("option", { value: i, selected: i === view.row }, word)));
    fill(element,
      checkbox("numbers", "numbers"),
      logits || names.includes("we") ? checkbox("all_words", "allWords") : null,
      logits && !view.allWords
        ? [h("label", {}, t("class.row_of"), rows), h("span.faint", {}, t("class.likeliest"))] : null);
    element.hidden = state.example === "tutorial";
  };
  return { element, draw };
}
