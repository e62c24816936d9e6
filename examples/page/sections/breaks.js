// Break it: one changed line, a question, and a model that trains with the mistake beside a healthy one.

import { h, fill } from "../dom.js";
import { t } from "../strings.js";
import { state, setState, onState } from "../state.js";
import { STEPS } from "../run.js";
import { lineChart } from "../charts.js";
import { matrix, number } from "../matrix.js";
import { smoothed, LOSSES } from "./training.js";
import { model, forgetUnfinished } from "./breaks/model.js";
import { switches, percent, text, written } from "./breaks/says.js";

const D_MODEL = 32; // of forward.h's models
const ANSWERS = 3;

/** The healthy and the broken model of a switch: {seed, heads, breaks}. */
const modelsOf = ({ seed = 0, heads = 1, bit }) => [0, bit].map((breaks) => ({ seed, breaks, heads }));

/** What the texts say about heads: their number, the width of one, and its last feature. */
const ofHeads = ({ heads = 1 }) => [heads, D_MODEL / heads, D_MODEL / heads - 1];

/** What the section says about a switch: {sentences: [{key, values}], healthy, broken: the results}. For tests. */
export async function verdict(name) {
  const [healthy, broken] = await Promise.all(modelsOf(switches[name]).map((of) => model(of)));
  return { sentences: switches[name].says(healthy, broken), healthy, broken };
}

// ---- the section ----

export function begin(root) {
  let shown = null;     // the name of the switch
  let engines = [];     // that are training
  const menu = h("div.break-menu", { role: "group", "aria-label": t("breaks.menu") });
  const body = h("div");
  root.classList.add("breaks");
  root.append(h("h2.not-presented", {}, t("breaks.title")), h("p.not-presented", {}, t("breaks.intro")), menu, body);

  const buttons = Object.keys(switches).map((name) =>
    h("button", { type: "button", id: `break-${name}`, onclick: () => {
      shown = null; // ask again, even about the same one
      setState({ broken: name });
      show();
    } }, t(`breaks.${name}`)));
  menu.append(...buttons);

  function abandon() {
    engines.forEach((engine) => engine.end());
    engines = [];
    forgetUnfinished();
  }

  function show() {
    const name = state.broken in switches ? state.broken : "no_scale";
    if (name !== shown && !root.hidden) {
      shown = name;
      abandon();
      buttons.forEach((button) => button.setAttribute("aria-pressed", button.id === `break-${name}`));
      ask(name);
    }
  }

  /** The changed line and the question. */
  function ask(name) {
    const { lines: [right, wrong], seed = 0, heads = 1 } = switches[name];
    const changed = (tag, sign, lines) => lines.split("\n").map((line) => h(tag, {}, `${sign} ${line}\n`));
    const after = h("div.break-result", { id: "break-result" });
    const form = h("fieldset.break-question", {}, h("legend", {}, t(`breaks.${name}.question`)),
      Array.from({ length: ANSWERS }, (_, i) => h("label", {},
        h("input", { type: "radio", name: "break-answer", value: i, onchange: () => {
          retrain.disabled = false;
          why.textContent = t("breaks.retrain.why", seed, STEPS, heads);
        } }), " ",
        t(`breaks.${name}.answer.${i}`))));
    const retrain = h("button.primary", { type: "button", id: "break-retrain", disabled: true, onclick: () => {
      const chosen = Number(form.querySelector("input:checked").value);
      retrain.disabled = true;
      why.textContent = "";
      compare(name, chosen, after, form);
    } }, t("breaks.retrain"));
    const why = h("span.faint", {}, t("breaks.first"));
    fill(body, h("h3", {}, t(`breaks.${name}`)), h("p", {}, t(`breaks.${name}.what`, ...ofHeads(switches[name]))),
      h("pre.break-code", { tabindex: 0, role: "region", "aria-label": "PyTorch" }, h("code", {}, changed("del", "−", right), changed("ins", "+", wrong))),
      h("p.faint.not-presented", {}, t("breaks.signs")), form, h("div.toolbar", {}, retrain, why), after);
  }

  /** Trains both models, shows their curves meanwhile, then what is seen. */
  async function compare(name, chosen, after, form) {
    const { right } = switches[name];
    const losses = lineChart({ title: t("breaks.loss"), x: t("train.x"), y: t("train.loss.y"), most: STEPS, log: true,
      ...LOSSES,
      series: [{ name: t("breaks.healthy"), style: 0 }, { name: t("breaks.broken"), style: 1 },
        { name: t("train.least"), short: t("train.least.short"), style: 3 }] });
    const progress = h("p");
    const status = h("p", { role: "status", id: "break-status" });
    const inputs = form.querySelectorAll("input"), labels = form.querySelectorAll("label");
    inputs.forEach((input) => (input.disabled = true));
    form.querySelectorAll("b").forEach((mark) => mark.remove()); // of an earlier answer
    const words = h("div"), rest = h("div.train-grid");
    fill(after, progress, status,
      h("div.train-grid", {}, words, h("div", {}, losses.element, h("p.faint", {}, t("breaks.loss.why")))), rest);
    after.scrollIntoView({ block: "nearest" });
    const curves = [[], [], []];
    let drawn = 0;
    const listen = (i) => (result) => {
      if (performance.now() - drawn > 100 || result.losses.length === STEPS) {
        drawn = performance.now();
        curve(i, result);
        progress.textContent = t("breaks.training", Math.min(...[0, 1].map((k) => curves[k].length)), STEPS);
      }
    };
    const curve = (i, result) => {
      curves[i] = smoothed(result.losses).map((y, x) => [x + 1, y]);
      curves[2] = [[0, result.limit], [STEPS, result.limit]];
      losses.update({ series: [...curves] });
    };
    const begun = (engine) => engines.push(engine);
    let healthy, broken;
    try {
      [healthy, broken] = await Promise.all(modelsOf(switches[name]).map((of, i) => model(of, listen(i), begun).then((result) => {
        curve(i, result); // a model of an earlier mistake is done at once
        return result;
      })));
    } catch (error) {
      status.textContent = t("train.error", error.message);
      return;
    }
    engines = [];
    if (name !== shown) {
      return;
    }
    losses.update({ at: STEPS });
    progress.remove();
    status.textContent = t(chosen === right ? "breaks.right" : "breaks.wrong", t(`breaks.${name}.answer.${right}`));
    status.className = chosen === right ? "break-right" : "break-wrong";
    inputs.forEach((input) => (input.disabled = false));
    if (chosen !== right) {
      labels[chosen].append(h("b.break-wrong", {}, " ✗"));
    }
    labels[right].append(h("b.break-right", {}, " ✓"));
    fill(rest, table(healthy, broken), maps(healthy, broken));
    fill(words, h("h4", {}, t("breaks.seen")), h("p", { id: "break-seen" }, switches[name].says(healthy, broken).map(({ key, values }) => t(key, ...values)).join(" ")),
      h("h4", {}, t("breaks.why")), h("p", {}, t(`breaks.${name}.why`, ...ofHeads(healthy))));
    status.scrollIntoView({ block: "nearest" });
  }

  function table(healthy, broken) {
    const row = (key, value, ...args) => h("tr", {}, h("th", { scope: "row" }, t(key, ...args)),
      [healthy, broken].map((r) => h("td", {}, value(r))));
    return h("div.matrix-box", { tabindex: 0, role: "region", "aria-label": t("breaks.table") },
      h("table.facts", {}, h("caption", {}, t("breaks.table", healthy.seed)),
        h("thead", {}, h("tr", {}, h("td"),
          ["healthy", "broken"].map((which) => h("th", { scope: "col" }, t(`breaks.${which}`))))),
        h("tbody", {},
          row("breaks.row.loss", (r) => number(r.loss, 3), number(healthy.limit, 3)),
          row("breaks.row.accuracy", (r) => percent(r.accuracy)),
          row("breaks.row.attention", (r) => percent(r.attention)),
          row("breaks.row.right", (r) => t("breaks.of", r.right, r.prompts)),
          row("breaks.row.written", (r) => written(r, r.written),
            text(healthy, healthy.sentence.slice(0, healthy.it + 1))))));
  }

  /** The attention of both models on the same sentence. */
  function maps(healthy, broken) {
    const names = healthy.sentence.slice(0, healthy.last.seen).map((id) => healthy.language.words[id]);
    const it = matrix({ tensor: "it", name: t("breaks.of_it"), shape: [2, names.length],
      values: [...healthy.row, ...broken.row], rows: [t("breaks.healthy"), t("breaks.broken")], columns: names,
      kind: "percent" });
    const map = (result, key) => {
      const whole = matrix({ tensor: key, name: t(`breaks.${key}`), shape: [names.length, names.length],
        values: result.last.weights.subarray(0, names.length ** 2), rows: names, columns: names, kind: "percent",
        compact: true });
      whole.element.querySelectorAll("tbody tr")[result.it].classList.add("marked");
      return whole.element;
    };
    return h("div", {}, h("h4", {}, t(healthy.heads > 1 ? "breaks.maps.first" : "breaks.maps")), it.element,
      h("div.break-maps", {}, map(healthy, "healthy"), map(broken, "broken")), h("p.faint", {}, t("breaks.maps.why")));
  }

  onState((changed) => changed.has("broken") && show());
  return { show };
}
