// Training: the run from its first step, its curves, and what the model has learnt.

import { h, fill } from "../dom.js";
import { t, percentSign } from "../strings.js";
import { state, setState } from "../state.js";
import { run, onRun, play, stop, oneStep, stepBack, goTo, watched, STEPS, MEASURE_EVERY, LEARNING } from "../run.js";
import { readSentence } from "../words.js";
import { distinct } from "../example.js";
import { lineChart } from "../charts.js";
import { matrix, number, percent } from "../matrix.js";

const STILL = matchMedia("(prefers-reduced-motion: reduce)"); // then nothing moves while it runs
const HEADS = [1, 2, 4];
export const LOSSES = { low: 0.4, high: 6 }; // of an axis for the usual losses
const SMOOTH = 0.95; // part of the smoothed value that each step keeps

/** The smoothed line of a loss curve: averages in which each older step counts 5 % less. */
export function smoothed(losses) {
  let sum = 0, weight = 0;
  return losses.map((loss) => {
    sum = SMOOTH * sum + loss;
    weight = SMOOTH * weight + 1;
    return sum / weight;
  });
}

/** The least loss that a model can have for long which sees no later word: each training sentence is
 * drawn with the same probability, and from one to the next nothing can be known. */
function leastLoss() {
  return Math.log(run.language.train.length) / run.language.context;
}

const text = (ids) => ids.map((id) => run.language.words[id]).join(" ");
const said = (ids) => text(ids.filter((id) => id !== 0));

export function begin(root) {
  let head = 0, parts = null;

  // ---- controls ----

  /** A button with a sign, and its name where there is room. */
  const button = (name, sign, onclick) => h("button", { type: "button", id: `train-${name}`, onclick, "aria-label": t(`train.${name}`),
    title: t(`train.${name}.why`) }, sign, h("span.roomy", {}, " ", t(`train.${name}`)));
  const playing = h("button.primary", { type: "button", id: "train-play", title: t("train.play.why"),
    onclick: () => (run.playing || run.busy ? stop() : play(STILL.matches ? {} : LEARNING)) }, t("train.play"));
  const first = button("first", "|◀", () => goTo(0));
  const back = button("back", "◀", stepBack);
  const next = button("step", "▶|", oneStep);
  const choice = (id, key, values, chosen, onchange) => h("label", {}, t(key), " ",
    h("select", { id, onchange: (event) => onchange(event.target.value) },
      values.map(([value, name]) => h("option", { value, selected: value === chosen }, name))));
  const slider = h("input", { type: "range", id: "train-slider", min: 0, max: 0, step: 1, value: 0,
    oninput: () => goTo(Number(slider.value)) });
  const where = h("output", { for: "train-slider", id: "train-where" });

  const heads = choice("train-heads", "train.heads", HEADS.map((n) => [n, String(n)]), state.heads,
    (value) => setState({ heads: Number(value) }));

  const error = h("p.error", { role: "alert", id: "train-error" });
  const status = h("p", { id: "train-status" });
  const spoken = h("p.unseen", { role: "status" }); // said when the weights rest, not at every step

  // ---- what depends on the run: built again for each run and each watched sentence ----

  const losses = lineChart({ title: t("train.loss"), x: t("train.x"), y: t("train.loss.y"), most: STEPS, log: true,
    series: [{ name: t("train.raw"), style: 0, faint: true },
      { name: t("train.smooth"), short: t("train.smooth.short"), style: 0 },
      { name: t("train.least"), short: t("train.least.short"), style: 3 }],
    ...LOSSES, format: (y) => number(y, 3), onpick: goTo });
  const scores = lineChart({ title: t("train.scores"), x: t("train.x"), y: t("train.scores.y"), most: STEPS,
    low: 0, high: 1, series: [{ name: t("train.accuracy"), short: t("train.accuracy.short"), style: 1 },
      { name: t("train.attention"), short: t("train.attention.short"), style: 2 }],
    format: percent, tick: (y) => Math.round(100 * y) + percentSign(), onpick: goTo });
  const pictures = h("div.train-pictures");
  const writesNow = h("p.writes-now");
  const sentenceChoice = h("div");
  const own = h("input", { id: "train-own", type: "text", maxlength: 200, autocomplete: "off", autocapitalize: "none", spellcheck: "false",
    "aria-label": t("own.label"), onchange: () => setState({ sentence: own.value }) });
  const ownProblem = h("p.error", { role: "alert" });
  const ownChoice = h("div", {}, own, ownProblem, h("details", {}, h("summary", {}, t("own.words")),
    h("p.faint", {}, run.language.words.filter((word) => word !== "<eos>").join(" "))));

  function build() {
    const { words, heldOut, it, context } = run.language, tokens = watched().tokens;
    const shown = heldOut.indexOf(tokens);
    const options = heldOut.map((ids, i) => [String(i), `${text(ids.slice(0, it + 1))} …`])
      .filter((option, i) => i === shown || heldOut.findIndex((other) => other[1] === heldOut[i][1]) === i);
    options.push(["own", t("own.label")]);
    fill(sentenceChoice, choice("train-sentence", "train.sentence", options,
      state.watch === "own" ? "own" : String(shown), (value) => setState({ watch: value })), state.watch !== "own" ? null : ownChoice);
    own.value = state.sentence;
    ownProblem.textContent = readSentence(state.sentence).problem ?? "";
    const sentence = distinct(tokens.slice(0, context).map((id) => words[id])), row = watched().prompt.length - 1;
    head = Math.min(head, state.heads - 1);
    const seen = sentence.length;
    const heat = matrix({ tensor: "attention", name: "attention_percents", shape: [seen, seen],
      values: new Float32Array(seen * seen), rows: sentence, columns: sentence, kind: "percent",
      onpoint: (tensor, index) => point(index), onleave: () => point(-1) });
    const reading = h("p.chart-reading");
    const point = (index) => {
      parts.pointed = index;
      read();
    };
    const read = () => {
      const measured = lastMeasure(), index = parts.pointed, from = parts.head * seen * seen;
      reading.textContent = index < 0 || measured?.seen !== seen ? t("train.heat.point")
        : t("train.heat.reading", sentence[Math.floor(index / seen)], sentence[index % seen],
          percent(measured.weights[from + index]), measured.step);
    };
    const table = heat.element.querySelector("table");
    table.classList.add("attention");
    table.querySelectorAll("tbody tr")[row].classList.add("marked");
    const headChoice = state.heads < 2 ? null
      : choice("train-head", "train.head", Array.from({ length: state.heads }, (_, i) => [i, String(i + 1)]), head,
        (value) => {
          head = Number(value);
          build();
          draw();
        });
    fill(pictures, headChoice, h("h3", {}, t("train.heat", state.heads > 1 ? t("train.of_head", head + 1) : "")),
      heat.element, reading, h("p.faint", {}, t("train.heat.why"), " ", t("train.heat.causal")));
    parts = { heat, read, head, seen, pointed: -1 };
    read();
  }

  /** The last measurement at or before the current step. */
  const lastMeasure = () => {
    const steps = [...run.measures.keys()].filter((step) => step <= run.step);
    return run.measures.get(Math.max(...steps));
  };

  /** What the model writes after the beginning of the watched sentence. */
  function drawWriting() {
    const { tokens, prompt } = watched(), written = said(lastMeasure()?.written ?? []), right = said(tokens.slice(prompt.length));
    fill(writesNow, text(prompt), " ", h("b", {}, written || t("train.nothing")), state.watch === "own" ? null
      : written === right ? h("span.good", {}, " ", t("train.right")) : h("span.bad", {}, " ", t("train.wrong")));
  }

  let wanted = 0, dirty = true;
  function draw() {
    dirty = true;
    if (!root.hidden) {
      wanted ||= requestAnimationFrame(() => {
        wanted = 0;
        drawControls();
        if (!(STILL.matches && run.playing)) {
          dirty = false;
          drawNow();
        }
      });
    }
  }

  function drawControls() {
    const furthest = run.losses.length, step = run.step;
    playing.textContent = t(run.playing || run.busy ? "train.pause" : "train.play");
    playing.disabled = !run.playing && !run.busy && step >= STEPS;
    first.disabled = back.disabled = step === 0;
    next.disabled = step >= STEPS;
    slider.max = furthest;
    if (document.activeElement !== slider || run.playing) {
      slider.value = step;
    }
    where.textContent = t("train.where", step, furthest, STEPS);
    error.textContent = run.error === "" ? "" : t("train.error", run.error);
  }

  function drawNow() {
    const furthest = run.losses.length, step = run.step;
    const smooth = smoothed(run.losses), least = leastLoss();
    losses.update({ at: step, series: [run.losses.map((y, i) => [i + 1, y]), smooth.map((y, i) => [i + 1, y]),
      furthest > 0 ? [[0, least], [STEPS, least]] : []] });
    const scored = [...run.measures.values()].filter((m) => m.step % MEASURE_EVERY === 0 || m.step === step)
      .sort((a, b) => a.step - b.step);
    scores.update({ at: step,
      series: ["accuracy", "attention"].map((name) => scored.map((m) => [m.step, m.score[name]])) });
    const loss = smooth[step - 1];
    status.textContent = step === 0 ? t("train.status.zero")
      : t("train.status", step, number(run.losses[step - 1], 3), number(loss, 3), percent(Math.exp(-loss)));

    const latest = lastMeasure();
    if (latest?.seen === parts.seen) { // else another sentence is about to be measured
      const cells = latest.seen ** 2;
      parts.heat.update(latest.weights.subarray(parts.head * cells, (parts.head + 1) * cells));
      parts.read();
    }
    drawWriting();
  }

  const more = (key, ...values) =>
    h("details.why", {}, h("summary", {}, t(`${key}.title`)), h("p", {}, t(key, ...values)));
  const { words, train, heldOut } = run.language;
  root.classList.add("training");
  root.append(
    h("h2.unseen", {}, t("train.title")), h("p.lead.not-presented", {}, t("train.intro", train.length, heldOut.length)),
    h("div.toolbar", { role: "group", "aria-label": t("train.controls") }, playing, first, back, next, heads,
      h("div.wide", {}, h("label", { for: "train-slider" }, t("train.slider")), slider, where)),
    error, spoken,
    h("div.train-grid", {},
      h("div", {}, losses.element, status),
      h("div.train-watched", {}, sentenceChoice, h("h3", {}, t("train.writes")), writesNow,
        pictures, h("p.faint", {}, t("train.writes.why"))),
      h("div.train-rest", {}, h("p.faint", {}, t("train.loss.hint")), scores.element,
        h("div.not-presented", {}, h("h3", {}, t("train.words")),
          more("train.why.loss", words.length, number(Math.log(words.length), 1)),
          more("train.why.least", train.length, number(leastLoss(), 3)),
          more("train.why.accuracy", heldOut.length), more("train.why.unseen"), more("train.why.peak"),
          more("train.why.heads")))));
  build();

  onRun((what) => {
    if (what === "restarted" || what === "watch") {
      heads.querySelector("select").value = state.heads;
      build();
    }
    if (["weights", "stopped", "restarted"].includes(what) && !root.hidden && !run.busy) {
      spoken.textContent = status.textContent;
    }
    draw();
  });
  draw();
  return {
    show() {
      if (dirty) {
        draw();
      }
    },
  };
}
