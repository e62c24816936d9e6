// The section "class": steps through the lines of the class, forward and backward, and shows the
// matrices that exist at each line. Its parts are in class/.

import { h, fill } from "../dom.js";
import { t } from "../strings.js";
import { state, setState, onState } from "../state.js";
import { run, onRun, STEPS } from "../run.js";
import { chosenSentence, record, named } from "../example.js";
import { codeLines, stepsOf, formulasOf, resultsOf } from "../lines.js";
import { legend } from "../matrix.js";
import { newView, keepingFocus } from "./class/view.js";
import { findMatrices } from "./class/cells.js";
import { panelOf } from "./class/panel.js";
import { equationOf, formulaText } from "./class/equation.js";
import { codeOf } from "./class/code.js";
import { stepsBar } from "./class/steps.js";
import { mapOf } from "./class/map.js";
import { choicesOf, lineChoices, headNow } from "./class/controls.js";

/** How many weights the model learns, and how many of them make queries, keys and values. */
function learned({ leaves, tensors }) {
  const count = (chosen) => chosen.reduce((sum, { tensor }) => sum + tensors[tensor].values.length, 0);
  const written = (number) => number.toLocaleString(document.documentElement.lang);
  const ofAttention = leaves.filter(({ name }) => /W_[qkv]\.weight$/.test(name));
  return t("class.learned", written(count(ofAttention)), written(count(leaves)));
}

/** The first formula that makes a matrix, or else the first that reads it, in this phase, or else in the other one:
 * {phase, line, part}, or undefined. */
function placeOf(name, steps, backward) {
  const all = [backward, !backward].flatMap((back) => steps.flatMap((step, line) => formulasOf(step, back).map((formula, part) =>
    ({ formula, at: { phase: back ? "backward" : "forward", line, part } }))));
  return (all.find(({ formula }) => resultsOf(formula).includes(name)) ?? all.find(({ formula }) => formula.includes(name)))?.at;
}

/** Builds the section once; returns {show(), called whenever its tab is opened, view}. */
export function begin(root) {
  const view = newView(), stage = h("div.stage");
  let key = "", pending = 0; // what the pass was computed from; the number of the last request

  const panel = panelOf(view, () => equation.tables());
  const equation = equationOf(view, { onpoint: panel.point, onpress: panel.press, onleave: panel.leave });
  /** Goes to a line. The explanation of a number ends, as it belongs to the line before. */
  const goToLine = (changes) => {
    panel.forget();
    setState({ part: 0, ...changes, cell: "" });
  };
  const code = codeOf(view, (step) => goToLine({ line: step }));
  const stepping = stepsBar(view, goToLine), map = mapOf(view, goToLine);
  const choices = choicesOf(view), more = lineChoices(view, goToLine);
  const formula = h("p.formula-text"), sentence = h("p.sentence", { "aria-live": "polite" });
  const about = h("p.about"), colours = h("div");
  const blanks = h("input", { type: "checkbox", "data-key": "blanks", onchange: () => stage.classList.toggle("blanks", blanks.checked) });
  const printedPlace = h("h2.printed");
  const problem = h("p.error", { role: "alert" });

  // ---- what is shown at the current line ----

  /** The height from the top of the stage to the end of the window. */
  const measure = () => {
    const room = innerHeight - stage.getBoundingClientRect().top - scrollY - 8;
    stage.style.setProperty("--room", `${Math.max(room, 400)}px`);
  };
  const draw = () => {
    const { line, backward } = view;
    measure();
    code.mark();
    map.mark();
    stepping.draw();
    fill(formula, formulaText(view, equation.formula()));
    fill(sentence, t(`line.${line.id}${backward ? ".back" : ""}`));
    fill(printedPlace, stepping.place.firstChild.textContent);
    more.draw();
    equation.draw(); // takes the height below what is drawn so far
    more.drawRows();
  };
  /** Goes to a formula that has the matrix of #embed=matrix:NAME. */
  const toEmbedded = () => {
    const [kind, name] = state.embed.split(":");
    const place = kind === "matrix" && !equation.formula().includes(name) ? placeOf(name, view.steps, view.backward) : undefined;
    place !== undefined && setState(place);
  };
  view.render = () => {
    if (view.shown === null || stage.clientWidth === 0) {
      return;
    }
    keepingFocus(root, draw);
    panel.now();
  };
  for (const [event, printed] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(event, () => {
      view.printed = printed;
      view.render();
    });
  }
  addEventListener("resize", () => state.tab === "class" && view.render());

  document.addEventListener("keydown", (event) => {
    if (state.tab !== "class" || event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey ||
      event.target.closest?.("input, select, textarea, dialog")) {
      return;
    }
    if (!state.letters && event.key.length === 1) {
      return;
    }
    if (event.key.toLowerCase() === "m") {
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
      panel.close();
    }
  });

  // ---- computing ----

  const take = (pass, chosen) => {
    const { example } = state, tutorial = example === "tutorial";
    panel.forget();
    view.shown = named(pass, chosen, headNow());
    view.lines = codeLines({ example, heads: view.shown.heads, masked: !tutorial || state.masked });
    view.steps = stepsOf(view.lines);
    findMatrices(view);
    const last = view.shown.tokens.length - 1;
    view.row = example === view.rowOf && view.row <= last ? view.row : Math.min(last, run.language.it);
    view.rowOf = example;
    fill(about, tutorial ? t("class.about.tutorial")
      : [t("class.about.model", chosen.words.join(" "), pass.step, STEPS, state.seed), " ", learned(pass)]);
    fill(colours, legend(["value", "percent", "new", !tutorial || state.masked ? "mask" : ""]));
    code.draw();
    map.draw();
    toEmbedded();
    view.render();
    setState({ line: view.at() }); // a link may name a line that the example does not have
  };
  const compute = async () => {
    if (state.tab !== "class") {
      return;
    }
    const chosen = chosenSentence();
    const { example } = state, tutorial = example === "tutorial";
    const wanted = JSON.stringify([example, chosen.ids, state.masked, headNow(),
      tutorial || run.changes]);
    keepingFocus(root, choices.draw);
    stepping.drawPhase();
    if (wanted === key && view.shown !== null) {
      toEmbedded();
      view.render();
      return;
    }
    const request = ++pending;
    try {
      const pass = await record(chosen);
      if (request === pending) {
        key = wanted;
        problem.hidden = true;
        top.hidden = stage.hidden = false;
        take(pass, chosen);
      }
    } catch (error) {
      fill(problem, error.message);
      problem.hidden = false;
    }
  };

  const lead = h("p.class-lead.not-presented.not-printed", {}, h("b", {}, t("class.title")), " ", t("class.lead"));
  const top = h("div.class-top", {}, map.element, stepping.element);
  stage.append(
    h("h2.unseen", {}, t("class.now")),
    h("div.stage-text", {}, code.element, printedPlace, formula, h("p.printed", {}, t("class.rounded")), sentence, panel.element),
    h("div.stage-main", {},
      h("div.toolbar.choices.not-presented", {}, choices.element,
        h("details.about-box", {}, h("summary", { "aria-label": t("class.about") }, "?"),
          h("div.about-text", {}, about, ["intro", "direction", "product", "transposed", "names",
            "rounded"].map((key) => h("p", {}, t(`class.${key}`))), colours, h("label", {}, blanks, t("class.blanks"))))),
      more.element, equation.element));
  top.hidden = stage.hidden = true; // until there is a pass
  root.append(h("p.printed", {}, t("class.worksheet")), lead, problem, top, stage);

  onState((changed) => {
    if (["line", "phase", "part", "example"].some((name) => changed.has(name))) {
      panel.forget();
    }
    const inputs = ["example", "phase", "line", "part", "head", "masked", "present", "embed"];
    if (inputs.some((name) => changed.has(name))) {
      compute();
    } else if (changed.has("cell")) {
      panel.forget();
      panel.now();
    }
  });
  let refresh = 0;
  onRun((what) => {
    if (what !== "steps" && state.example !== "tutorial") {
      clearTimeout(refresh);
      refresh = setTimeout(compute, run.playing ? 300 : 0);
    }
  });
  return { show: compute, view };
}
