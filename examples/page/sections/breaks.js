// Break it: one changed line, a question, and a model that trains with the mistake beside a healthy one.

import { h, fill } from "../dom.js";
import { t } from "../strings.js";
import { Engine } from "../engine.js";
import { state, setState, onState } from "../state.js";
import { STEPS, MEASURE_EVERY } from "../run.js";
import { BREAKS, codeLines } from "../lines.js";
import { lineChart } from "../charts.js";
import { matrix, number } from "../matrix.js";
import { smoothed } from "./training.js";

const HEADS = 1, LR = 0.02; // of both models; the claims below were tried with these
const LEARNT = 0.9;         // accuracy from which a model counts as trained
const SEEN = 1e-4;          // change of an attention from which a later word was seen, not rounded
const PLACE = 6;            // of "oven" in "the pizza came out of the oven and it"

// ---- a model, trained and examined ----

/** Trains a model and examines it. listen(result so far) is called while it trains; `begun` receives the
 * engine, whose end() stops everything. */
async function trainModel(seed, breaks, listen, begun) {
  const engine = await Engine.create();
  begun(engine);
  const language = await engine.start({ seed, heads: HEADS, lr: LR, steps: STEPS, breaks });
  const { heldOut, it, subject, words, train, context } = language;
  const pizza = words.indexOf("pizza");
  const sentence = heldOut.find((ids) => ids[1] === pizza) ?? heldOut[0];
  const watched = { tokens: sentence, prompt: sentence.slice(0, it + 1) };
  const result = { seed, breaks, language, sentence, losses: [], first: await engine.measure(watched), learntAt: null,
    limit: Math.log(train.length) / context };
  await new Promise((resolve, reject) => {
    engine.listen((data) => {
      if (data.event === "steps") {
        data.losses.forEach((loss, i) => (result.losses[data.first + i] = loss));
      } else if (data.event === "measure") {
        result.last = data;
        if (result.learntAt === null && data.score.accuracy >= LEARNT) {
          result.learntAt = data.step;
        }
      } else {
        data.error === undefined ? resolve() : reject(new Error(data.error));
      }
      listen(result);
    });
    engine.play({ until: STEPS, perSecond: 0, every: MEASURE_EVERY, ...watched }).catch(reject);
  });

  // The sentence up to *it*: as when the model writes, there is nothing behind it.
  const cut = await engine.measure({ tokens: watched.prompt, prompt: watched.prompt });
  const swapped = [...watched.prompt];
  [swapped[subject], swapped[PLACE]] = [swapped[PLACE], swapped[subject]];
  const moved = await engine.measure({ tokens: swapped, prompt: swapped });
  const firsts = heldOut.filter((ids, i) => heldOut.findIndex((other) => other[1] === ids[1]) === i);
  let right = 0;
  for (const ids of firsts) {
    const { written } = await engine.measure({ tokens: ids.slice(0, it + 1), prompt: ids.slice(0, it + 1) });
    right += written[0] === ids[it + 1] ? 1 : 0;
  }
  const pass = await engine.pass(sentence);
  engine.end();

  const row = (measured, i = it) => Array.from(measured.weights.subarray(i * measured.seen, (i + 1) * measured.seen));
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const last = result.last, seen = last.seen, all = [...Array(seen).keys()];
  const sims = pass.tensors[pass.marks.find(({ name }) => name === "scaled_sims").tensor].values;
  const finite = result.losses.filter(Number.isFinite);
  let leak = 0; // the largest change of a weight when what follows *it* is cut off
  for (let i = 0; i <= it; i++) {
    row(cut, i).forEach((weight, j) => (leak = Math.max(leak, Math.abs(weight - row(last, i)[j]))));
  }
  Object.assign(result, {
    finished: true,
    loss: sum(result.losses.slice(-100)) / 100,
    largestLoss: Math.max(...finite),
    accuracy: last.score.accuracy,
    attention: last.score.attention,
    right, prompts: firsts.length,
    row0: row(result.first), row: row(last), leak,
    rowSums: all.map((i) => sum(row(last, i))),
    columnSums: all.map((j) => sum(all.map((i) => row(last, i)[j]))),
    onSubject: row(cut)[subject], movedTo: row(moved)[PLACE], stayed: row(moved)[subject],
    written: last.written, movedWritten: moved.written,
    simPair: [sims[it * seen + subject], sims[subject * seen + it]],
    subject, it,
  });
  return result;
}

const trained = new Map(); // "seed breaks" -> promise of a result

/** The result of a model, trained once. */
function model(seed, breaks, listen = () => {}, begun = () => {}) {
  const key = `${seed} ${breaks}`;
  if (!trained.has(key)) {
    const promise = trainModel(seed, breaks, listen, begun);
    promise.then(() => (promise.finished = true), () => trained.delete(key));
    trained.set(key, promise);
  }
  return trained.get(key);
}

// ---- the eight switches ----

const percent = (share, digits = 0) => `${number(100 * share, digits)} %`;
const most = (values) => Math.max(...values);
const later = (result) => result.row.slice(result.it + 1).reduce((a, b) => a + b, 0);
const early = (result) => result.losses.slice(0, 100);
const sumOf = (values) => values.reduce((a, b) => a + b, 0);
const stepText = (step) => (step === null ? t("breaks.never") : t("breaks.at_step", step));
const text = (result, ids) => ids.filter((id) => id !== 0).map((id) => result.language.words[id]).join(" ");
const written = (result, ids) => text(result, ids) || t("breaks.nothing");

/** For each switch: the number of its right answer (of answers in strings), values for its texts from the
 * healthy and the broken result, and what the texts claim, as facts that must hold. mayLearn: with some
 * seeds the broken model learns the toy; the text then says what it did. */
const switches = {
  no_scale: {
    bit: BREAKS.NO_SCALE, answers: 3, right: 1, mayLearn: true,
    values: (a, b) => [percent(most(b.row0)), percent(most(a.row0)), stepText(b.learntAt), stepText(a.learntAt)],
    claims: (a, b) => ({ sharperAtStart: most(b.row0) > most(a.row0) }),
  },
  wrong_dim: {
    bit: BREAKS.WRONG_DIM, answers: 3, right: 2,
    values: (a, b) => [percent(Math.min(...b.rowSums)), percent(most(b.rowSums)), number(b.loss, 3), number(b.limit, 3),
      percent(b.accuracy), b.right, b.prompts],
    claims: (a, b) => ({ columnsAddUp: b.columnSums.every((sum) => Math.abs(sum - 1) < 1e-4),
      rowsDoNot: b.rowSums.some((sum) => Math.abs(sum - 1) > 0.05), seesLater: b.leak > SEEN,
      belowLimit: b.loss < b.limit - 0.05, writesBadly: b.right <= b.prompts / 2 }),
  },
  mask_inverted: {
    bit: BREAKS.MASK_INVERTED, answers: 3, right: 1,
    values: (a, b) => [percent(later(b)), number(b.loss, 3), number(b.limit, 3), percent(b.accuracy), b.right,
      b.prompts],
    claims: (a, b) => ({ looksAhead: later(b) > 0.99, belowLimit: b.loss < b.limit / 4,
      looksRight: b.accuracy >= LEARNT, writesBadly: b.right <= b.prompts / 2 }),
  },
  mask_after: {
    bit: BREAKS.MASK_AFTER, answers: 3, right: 1, mayLearn: true,
    values: (a, b) => [percent(sumOf(b.row0)), percent(sumOf(a.row0)), number(b.loss, 3), number(b.limit, 3),
      percent(b.leak, 1)],
    claims: (a, b) => ({ rowBelowOne: sumOf(b.row0) < 0.99, belowLimit: b.loss < b.limit - 0.05,
      seesLater: b.leak > SEEN, healthyDoesNot: a.leak < SEEN }),
  },
  no_positions: {
    bit: BREAKS.NO_POSITIONS, answers: 3, right: 0, mayLearn: true,
    values: (a, b) => [percent(b.onSubject, 1), percent(b.movedTo, 1), written(b, b.movedWritten),
      percent(a.onSubject, 1), percent(a.movedTo, 1), written(a, a.movedWritten)],
    claims: (a, b) => ({ movesAlong: Math.abs(b.onSubject - b.movedTo) < 1e-3,
      writesTheSame: b.written[0] === b.movedWritten[0] }),
  },
  same_keys: {
    bit: BREAKS.SAME_KEYS, answers: 3, right: 0, mayLearn: true,
    values: (a, b) => [percent(b.row0[b.it]), percent(a.row0[a.it]), number(b.simPair[0], 3), number(b.simPair[1], 3),
      number(a.simPair[0], 3), number(a.simPair[1], 3), stepText(b.learntAt), stepText(a.learntAt)],
    claims: (a, b) => ({ symmetric: Math.abs(b.simPair[0] - b.simPair[1]) < 1e-3,
      healthyIsNot: Math.abs(a.simPair[0] - a.simPair[1]) > 1e-2 }),
  },
  no_zero_grad: {
    bit: BREAKS.NO_ZERO_GRAD, answers: 3, right: 2,
    values: (a, b) => [number(b.losses[0], 2), number(b.largestLoss, 0), number(b.loss, 0),
      percent(b.accuracy), number(a.loss, 3), number(Math.min(...early(b)), 2),
      early(b).indexOf(Math.min(...early(b))) + 1],
    claims: (a, b) => ({ fallsFirst: Math.min(...early(b)) < 0.7 * b.losses[0], explodes: b.loss > 10 * b.losses[0],
      fails: b.accuracy < 0.5 }),
  },
  lr_100: {
    bit: BREAKS.LR_100, answers: 3, right: 1,
    values: (a, b) => [number(b.largestLoss, 0), number(b.loss, 2), number(a.loss, 3), percent(b.accuracy),
      percent(b.attention)],
    claims: (a, b) => ({ jumps: b.largestLoss > 10 * b.losses[0], staysAbove: b.loss > 1.5 * a.loss,
      fails: b.accuracy < 0.5 }),
  },
};

/** What the section claims about a switch, from models trained with a seed: {claims: {name: holds}, healthy,
 * broken: the results, text: the explanation}. For tests. */
export async function verdict(name, seed = state.seed) {
  const { bit, claims } = switches[name];
  const [healthy, broken] = await Promise.all([model(seed, 0), model(seed, bit)]);
  return { claims: claims(healthy, broken), healthy, broken, text: seen(name, healthy, broken) };
}

/** What one sees: the text of a switch, and whether the models have learnt the toy with this seed. */
function seen(name, healthy, broken) {
  const { values, mayLearn } = switches[name], { accuracy, right, prompts } = broken;
  const outcome = accuracy >= LEARNT ? "breaks.outcome.learnt" : "breaks.outcome.failed";
  return [t(`breaks.${name}.seen`, ...values(healthy, broken)),
    mayLearn ? t(outcome, percent(accuracy), right, prompts) : "",
    healthy.accuracy >= LEARNT ? "" : t("breaks.outcome.healthy", percent(healthy.accuracy))].filter(Boolean).join(" ");
}

/** The lines in a language ("python" or "c") that a switch removes and adds. */
function codeBox(name, language, bit) {
  const linesWith = (breaks) => codeLines({ example: "pizza", breaks }).map((line) => line[language]);
  const right = linesWith(0), wrong = linesWith(bit);
  const only = (lines, others) => lines.filter((line) => line && !others.includes(line));
  const shown = (tag, sign, lines) => lines.map((line) => h(tag, {}, `${sign} ${line.trim()}\n`));
  return h("div.break-code", {}, h("h4", {}, name),
    h("pre", { tabindex: 0, role: "region", "aria-label": name },
      h("code", {}, shown("del", "−", only(right, wrong)), shown("ins", "+", only(wrong, right)))));
}

// ---- the section ----

export function begin(root) {
  let shown = null;     // the name of the switch
  let engines = [];     // that are training
  const menu = h("div.break-menu", { role: "group", "aria-label": t("breaks.menu") });
  const body = h("div");
  root.classList.add("breaks");
  root.append(h("h2", {}, t("breaks.title")), h("p", {}, t("breaks.intro")), menu, body);

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
    trained.forEach((promise, key) => !promise.finished && trained.delete(key));
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
    const { bit, answers } = switches[name];
    const after = h("div.break-result", { id: "break-result" });
    const form = h("fieldset.break-question", {}, h("legend", {}, t(`breaks.${name}.question`)),
      Array.from({ length: answers }, (_, i) => h("label", {},
        h("input", { type: "radio", name: "break-answer", value: i, onchange: () => {
          retrain.disabled = false;
          why.textContent = t("breaks.retrain.why", state.seed, STEPS);
        } }), " ",
        t(`breaks.${name}.answer.${i}`))));
    const retrain = h("button.primary", { type: "button", id: "break-retrain", disabled: true, onclick: () => {
      const chosen = Number(form.querySelector("input:checked").value);
      retrain.disabled = true;
      why.textContent = "";
      compare(name, chosen, after, form);
    } }, t("breaks.retrain"));
    const why = h("span.faint", {}, t("breaks.first"));
    const seed = h("input", { id: "break-seed", inputmode: "numeric", size: 6, value: state.seed, onchange: () => {
      const value = Number(seed.value);
      /^\d+$/.test(seed.value.trim()) && Number.isSafeInteger(value) ? setState({ seed: value }) : (seed.value = state.seed);
    } });
    fill(body, h("h3", {}, t(`breaks.${name}`)), h("p", {}, t(`breaks.${name}.what`)),
      h("div.break-codes", {}, codeBox("PyTorch", "python", bit), codeBox("C", "c", bit)),
      h("p.faint", {}, t("breaks.signs")), form,
      h("div.toolbar", {}, h("label", {}, t("train.seed"), " ", seed), retrain, why), after);
  }

  /** Trains both models, shows their curves meanwhile, then what is seen. */
  async function compare(name, chosen, after, form) {
    const seed = state.seed, { bit, right } = switches[name];
    const losses = lineChart({ title: t("breaks.loss"), x: t("train.x"), y: t("train.loss.y"), most: STEPS, log: true,
      series: [{ name: t("breaks.healthy"), style: 0 }, { name: t("breaks.broken"), style: 1 },
        { name: t("train.least"), short: t("train.least.short"), style: 3 }] });
    const progress = h("p");
    const status = h("p", { role: "status", id: "break-status" });
    const inputs = form.querySelectorAll("input"), labels = form.querySelectorAll("label");
    inputs.forEach((input) => (input.disabled = true));
    form.querySelectorAll("b").forEach((mark) => mark.remove()); // of an earlier answer
    const words = h("div"), rest = h("div");
    fill(after, progress, status, words,
      h("div.train-grid", {}, h("div", {}, losses.element, h("p.faint", {}, t("breaks.loss.why"))), rest));
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
      [healthy, broken] = await Promise.all([model(seed, 0, listen(0), begun), model(seed, bit, listen(1), begun)]);
    } catch (error) {
      status.textContent = t("train.error", error.message);
      return;
    }
    engines = [];
    if (name !== shown) {
      return;
    }
    curve(0, healthy);
    curve(1, broken);
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
    fill(words, h("h4", {}, t("breaks.seen")), h("p", { id: "break-seen" }, seen(name, healthy, broken)),
      h("h4", {}, t("breaks.why")), h("p", {}, t(`breaks.${name}.why`)));
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
          row("breaks.row.learnt", (r) => stepText(r.learntAt)),
          row("breaks.row.attention", (r) => percent(r.attention)),
          row("breaks.row.right", (r) => t("breaks.of", r.right, r.prompts)),
          row("breaks.row.leak", (r) => percent(r.leak, 1)),
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
        values: result.last.weights, rows: names, columns: names, kind: "percent", compact: true });
      whole.element.querySelectorAll("tbody tr")[result.it].classList.add("marked");
      return whole.element;
    };
    return h("div", {}, h("h4", {}, t("breaks.maps")), it.element,
      h("div.break-maps", {}, map(healthy, "healthy"), map(broken, "broken")), h("p.faint", {}, t("breaks.maps.why")));
  }

  onState((changed) => {
    if (changed.has("seed")) {
      shown = null;
    }
    if (changed.has("broken") || changed.has("seed")) {
      show();
    }
  });
  return { show };
}
