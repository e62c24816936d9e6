// The section "class": steps through the lines of the class, forward and backward, and shows the
// matrices that exist at each line. Its parts are in class/.

import { h, fill } from "../dom.js";
import { t } from "../strings.js";
import { state, setState, onState } from "../state.js";
import { run, onRun, STEPS } from "../run.js";
import { chosenSentence, record, named, maskNote } from "../example.js";
import { codeLines, stepsOf } from "../lines.js";
import { legend } from "../matrix.js";
import { newView, keepingFocus } from "./class/view.js";
import { cellsOf } from "./class/cells.js";
import { explaining } from "./class/explaining.js";
import { cardsOf } from "./class/cards.js";
import { equationOf } from "./class/equation.js";
import { codeOf } from "./class/code.js";
import { stepsBar } from "./class/steps.js";
import { choicesOf, largeMatrices, headNow } from "./class/controls.js";
import { worksheetOf } from "./class/worksheet.js";

/** What is said about the current line. Returns {said, signs: elements, draw()}. */
function textsOf(view, cards) {
  const sentence = h("p.sentence", { "aria-live": "polite" }), partial = h("p.note");
  const direction = h("p.note.not-presented", {}, t("class.direction")), signs = h("p.note.not-presented");
  const draw = () => {
    const { line, steps, backward } = view, index = view.at();
    fill(sentence, t(`line.${line.id}${backward ? ".back" : ""}`));
    const early = !backward ? [] : [...new Set(line.reads)]
      .filter((name) => cards.of(name).tensors.gradient >= 0 && view.firstReader(name) < index);
    fill(partial, early.map((name) => t("class.partial", name, steps[view.firstReader(name)].marks[0])).join(" "));
    partial.hidden = early.length === 0;
    direction.hidden = !backward || index < steps.length - 1; // said once, where backward begins
    const symbols = line.formula.join(" ");
    fill(signs, [["'·", "class.product"], ["'ᵀ", "class.transposed"]].filter(([sign]) => symbols.includes(sign))
      .map(([, key]) => t(key)).join(" "));
  };
  return { said: [sentence, direction, partial], signs, draw };
}

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export function begin(root) {
  const view = newView(), stage = h("div.stage");
  let key = "", pending = 0; // what the pass was computed from; the number of the last request

  const cells = cellsOf(view, (card) => cards.visible(card));
  const explained = explaining(view, cells);
  const cards = cardsOf(view,
    { onpoint: explained.point, onpress: explained.press, onleave: explained.leave }, () => explained.now());
  const equation = equationOf(view, cards, stage);
  /** Goes to a line. The explanation of a number ends, as it belongs to the line before. */
  const goToLine = (changes) => {
    explained.forget();
    setState({ ...changes, cell: "" });
  };
  const code = codeOf(view, (step) => goToLine({ line: step }), equation.fit);
  const stepping = stepsBar(view, goToLine);
  const worksheet = worksheetOf(stage);
  const choices = choicesOf(view, worksheet.label), more = largeMatrices(view), texts = textsOf(view, cards);
  const about = h("p.about"), beforeTitle = h("h2.not-presented", {}, t("class.before"));
  const otherMask = h("p.note"), printedPlace = h("h2.printed"), colours = h("div");
  const problem = h("p.error", { role: "alert" });

  // ---- what is shown at the current line ----

  const draw = () => {
    const { line, steps, backward } = view;
    code.mark();
    stepping.draw();
    texts.draw();
    fill(printedPlace, stepping.place.textContent);
    more.draw();
    equation.draw();
    const current = new Set([...line.marks, ...line.reads]);
    const earlier = steps.slice(0, backward ? steps.length : view.at())
      .flatMap((other) => [...other.reads, ...other.marks]);
    const others = [...new Set(earlier)].filter((name) => !current.has(name));
    cards.showOthers(others);
    beforeTitle.hidden = others.length === 0;
  };
  view.render = () => {
    if (view.shown === null) {
      return;
    }
    keepingFocus(root, draw);
    explained.now();
    requestAnimationFrame(() => code.showC(code.shownC())); // once the layout is known
  };

  document.addEventListener("keydown", (event) => {
    if (state.tab !== "class" || event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey ||
      event.target.closest?.("input, select, textarea, [role=tablist], dialog")) {
      return;
    }
    if (event.key.toLowerCase() === "c") {
      code.toggleC();
    } else if (event.key.toLowerCase() === "m") {
      const { element } = equation;
      (element.querySelector(".changed td[tabindex]") ?? element.querySelector("td[tabindex]"))?.focus();
    }
    if (event.target.closest?.("td")) {
      return;
    }
    const by = { ArrowLeft: -1, ArrowRight: 1, ...(state.present ? { PageUp: -1, PageDown: 1 } : {}) }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      stepping.move(by);
    } else if (event.key === "Escape" && state.cell !== "") {
      event.preventDefault();
      explained.close();
    }
  });

  // ---- computing ----

  const take = (pass, chosen) => {
    const { example } = state, tutorial = example === "tutorial";
    explained.keep(pass);
    view.shown = named(pass, chosen, headNow());
    view.lines = codeLines({ example, heads: view.shown.heads, masked: !tutorial || state.masked, tokens: chosen.ids });
    view.steps = stepsOf(view.lines);
    const last = view.shown.tokens.length - 1;
    view.row = example === view.rowOf && view.row <= last ? view.row : Math.min(last, run.language.it);
    view.rowOf = example;
    view.cards = new Map();
    fill(about, tutorial ? t("class.about.tutorial")
      : t("class.about.model", chosen.words.join(" "), pass.step, STEPS, state.seed));
    fill(otherMask, maskNote());
    fill(colours, legend(["value", "percent", "new", !tutorial || state.masked ? "mask" : ""]));
    code.draw();
    view.render();
  };
  const compute = async () => {
    if (state.tab !== "class") {
      return;
    }
    const chosen = chosenSentence();
    const { example } = state, tutorial = example === "tutorial";
    const wanted = JSON.stringify([example, chosen.ids, state.masked, headNow(),
      tutorial || [run.changes, state.mask]]);
    keepingFocus(root, choices.draw);
    stepping.drawPhase();
    fill(problem, chosen.problem ?? "");
    problem.hidden = chosen.problem === undefined;
    stage.hidden = stepping.element.hidden = chosen.problem !== undefined;
    if (chosen.problem !== undefined) {
      return;
    }
    if (wanted === key && view.shown !== null) {
      view.render();
      return;
    }
    const request = ++pending;
    try {
      const pass = await record(chosen);
      if (request === pending) {
        key = wanted;
        take(pass, chosen);
      }
    } catch (error) {
      fill(problem, error.message);
      problem.hidden = false;
    }
  };

  stage.append(
    h("div.stage-head", {}, code.element, printedPlace, texts.said),
    h("div.stage-body", {}, h("h2.unseen", {}, t("class.now")), more.element, equation.element, texts.signs, colours,
      beforeTitle, h("div.not-presented", {}, cards.element)),
    explained.element);
  root.append(worksheet.title, h("p.intro.not-presented.not-printed", {}, t("class.intro")),
    h("div.toolbar.not-presented", {}, choices.element), h("div.not-presented", {}, about), otherMask, problem,
    stepping.element, stage);
  stage.hidden = stepping.element.hidden = true;

  onState((changed) => {
    if (changed.has("phase")) {
      view.layers = new Map();
    }
    if (["line", "phase", "example"].some((name) => changed.has(name))) {
      explained.forget();
    }
    const inputs = ["example", "sentence", "phase", "line", "head", "masked", "mask", "present"];
    if (inputs.some((name) => changed.has(name))) {
      compute();
    } else if (changed.has("cell")) {
      explained.forget();
      explained.now();
    }
  });
  let refresh = 0;
  onRun((what) => {
    if (what !== "steps" && state.example !== "tutorial") {
      clearTimeout(refresh);
      refresh = setTimeout(compute, run.playing ? 300 : 0);
    }
  });
  return { show: compute };
}
