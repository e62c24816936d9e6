// Gradients to touch: turn one number, and the loss moves as backward's gradient says; beside it the quotient of
// differences, which needs no backward. The losses are computed by the engine in double precision.

import { h, svg, fill } from "../dom.js";
import { t } from "../strings.js";
import { state, setState, onState } from "../state.js";
import { run, onRun, watched } from "../run.js";
import { Engine } from "../engine.js";
import { readSentence } from "../words.js";
import { matrix, number, sizes } from "../matrix.js";

const TUTORIAL = { words: ["Pizza", "is", "awesome"], encodings: [1.16, 0.23, 0.57, 1.36, 4.41, -2.16] };
const ZOOMS = [2, 1, 0.1, 0.01, 0.001];               // how far the slider and the curve go on each side
const DISTANCES = Array.from({ length: 13 }, (_, i) => 10 ** -(i + 1)); // h of the quotient
const CURVE_POINTS = 41, AT_ONCE = 64;
const MOST_NUMBERS = 100;                             // cells of a matrix that shows numbers, not only colours

const signed = (value, digits = 4) => (value < 0 || Object.is(value, -0) ? "" : "+") + number(value, digits);
const precise = (value) => number(value, 10);
const power = (distance) => `10${String(Math.round(Math.log10(distance))).replace(/[-\d]/g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)])}`;

/** |a - b| relative to the larger one. */
function relative(a, b) {
  const most = Math.max(Math.abs(a), Math.abs(b));
  return most === 0 ? 0 : Math.abs(a - b) / most;
}

// ---- where the numbers come from ----

let tutorial = null; // its engine and pass, which never change

/** {pass, words, losses(...queries of Engine.losses)} for the chosen example. */
async function load() {
  if (state.example === "tutorial") {
    tutorial ??= (async () => {
      const engine = await Engine.create();
      await engine.alone({ seed: 42, dModel: 2, heads: 1 });
      const pass = await engine.passAlone({ encodings: TUTORIAL.encodings, count: 3 });
      return { pass, words: TUTORIAL.words, losses: (...queries) => Promise.all(queries.map((query) => engine.losses(query))) };
    })();
    return tutorial;
  }
  const own = readSentence(state.sentence);
  const ids = state.example === "own" && own.ready ? own.ids : watched().tokens;
  const pass = await run.engine.pass(ids);
  return {
    pass,
    words: ids.map((id) => run.language.words[id]),
    // Others may have asked for a pass since, and losses are of the last one.
    losses: async (...queries) =>
      (await Promise.all([run.engine.pass(ids), ...queries.map((query) => run.engine.losses(query))])).slice(1),
  };
}

const isTraining = () => state.example !== "tutorial" && run.playing;

/** Names of the rows and columns of a leaf; undefined: numbers. */
function namesOf(leaf, shape, words) {
  const vocabulary = run.language.words;
  return leaf.name === "token_encodings" ? { rows: words }
    : /^(we|fc_layer)\.weight$/.test(leaf.name) && shape[0] === vocabulary.length ? { rows: vocabulary }
    : leaf.name === "fc_layer.bias" ? { columns: vocabulary } : {};
}

// ---- the curve ----

function ticks(low, high, most) {
  const rough = (high - low) / most, scale = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * scale).find((n) => n >= rough * 0.999);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) =>
    [(first + i) * step, ((first + i) * step).toFixed(digits).replace("-", "−")]);
}

/** The picture: {name, curve: [[weight, loss], ...], start, now: points, slope, secant: two points or null}. */
function drawCurve(box, { name, curve, start, now, slope, secant }) {
  const width = Math.max(260, Math.min(760, box.clientWidth)), height = 300;
  const left = 70, right = width - 14, top = 10, bottom = height - 44;
  const finite = [...curve, now].map(([, loss]) => loss).filter(Number.isFinite);
  const least = Math.min(...finite), most = Math.max(...finite), margin = 0.08 * (most - least) || 1e-6;
  const low = least - margin, high = most + margin, from = curve[0][0], to = curve[curve.length - 1][0];
  const x = (weight) => left + ((right - left) * (weight - from)) / (to - from);
  const y = (loss) => bottom - ((bottom - top) * (loss - low)) / (high - low);
  const path = (points) => points.filter(([, loss]) => Number.isFinite(loss)).map(([a, b], i) => `${i > 0 ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
  const lineThrough = ([a, b], rise) => path([from, to].map((weight) => [weight, b + rise * (weight - a)]));
  const text = (properties, content) => svg("text", properties, content);
  fill(box, svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": t("gradients.curve.label", name, precise(start[1]), precise(now[0]), precise(now[1])) },
  svg("clipPath", { id: "gradients-clip" }, svg("rect", { x: left, y: top, width: right - left, height: bottom - top })),
  ticks(low, high, 5).map(([value, label]) => svg("g", {},
    svg("line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }),
    text({ x: left - 6, y: y(value) + 4, "text-anchor": "end" }, label))),
  ticks(from, to, width < 420 ? 3 : 6).map(([value, label]) => svg("g", {},
    svg("line", { class: "grid", x1: x(value), x2: x(value), y1: top, y2: bottom }),
    text({ x: x(value), y: bottom + 17, "text-anchor": "middle" }, label))),
  text({ x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, name),
  text({ x: 4, y: top + 4, "dominant-baseline": "hanging" }, t("gradients.loss")),
  svg("g", { "clip-path": "url(#gradients-clip)" },
    secant === null ? [] : svg("path", { class: "secant", d: lineThrough(secant[0], (secant[1][1] - secant[0][1]) / (secant[1][0] - secant[0][0])) }),
    svg("path", { class: "tangent", d: lineThrough(start, slope) }),
    svg("path", { class: "curve", d: path(curve) }),
    (secant ?? []).map(([a, b]) => svg("rect", { class: "secant-end", x: x(a) - 4, y: y(b) - 4, width: 8, height: 8 }))),
  svg("circle", { class: "start", cx: x(start[0]), cy: y(start[1]), r: 5 }),
  svg("circle", { class: "now", cx: x(now[0]), cy: y(now[1]), r: 6 })));
}

/** A table with a heading row; rows: [head, ...cells]. */
function table(heads, rows, chosen = -1) {
  return h("table.plain", {},
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, rows.map(([head, ...cells], i) => h("tr", { class: i === chosen ? "chosen" : null, "aria-current": i === chosen ? "true" : null },
      h("th", { scope: "row" }, head), cells.map((cell) => h("td", {}, cell))))));
}

const scrolling = (label) => h("div.scroll", { tabindex: 0, role: "region", "aria-label": label });

// ---- the section ----

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export function begin(root) {
  let source = null;     // of load()
  let leaf = 0, cell = 0, turn = 0;
  let measured = null;   // {start, curve, pairs: [loss(w - h), loss(w + h)] of each distance}, for the chosen cell
  let now = 0;           // the loss after turning
  let layers = [];       // the two matrices
  let asked = 0;         // counts questions, to drop late answers

  // ---- controls ----

  const choice = (key, values, name, onchange) => {
    const select = h("select", { onchange: () => onchange(select.value) }, values.map((value) => h("option", { value }, name(value))));
    return { element: h("label", {}, t(key), " ", select), select };
  };
  const example = choice("gradients.example", ["tutorial", "pizza", "own"], (name) => t(`gradients.example.${name}`),
    (value) => setState({ example: value, weight: "", turn: 0 }));
  const tensor = choice("gradients.tensor", [], String, (value) => choose(Number(value), null));
  const zoom = choice("gradients.zoom", ZOOMS, (value) => `± ${value}`, (value) => setState({ zoom: Number(value), turn: 0 }));
  const distance = choice("gradients.h", DISTANCES.map((_, i) => i), (i) => power(DISTANCES[i]), (value) => setState({ h: Number(value) + 1 }));
  const slider = h("input", { type: "range", min: -100, max: 100, step: 1, "aria-label": t("gradients.turn"),
    oninput: () => guarded(turnTo((Number(slider.value) / 100) * state.zoom)), onchange: () => setState({ turn }) });
  const buttons = [-10, -1, 0, 1, 10].map((steps) => h("button", { type: "button",
    onclick: () => setState({ turn: steps === 0 ? 0 : turn + (steps * state.zoom) / 100 }) }));
  const controls = h("fieldset.bare", {}, h("div.toolbar", {}, slider, h("span.group", { role: "group", "aria-label": t("gradients.turn") }, buttons), zoom.element));

  // ---- what is shown ----

  const waiting = h("p.note", { role: "status" });
  const matrices = h("div.side-by-side");
  const pointed = h("p.faint");
  const readings = h("div.readings");
  const spoken = h("p.unseen", { role: "status" }); // where the number is turned to, said when the slider rests
  const picture = h("div.curve-box");
  const curveTable = scrolling(t("gradients.table"));
  const quotient = h("div", { "aria-live": "polite" });
  const distancesTable = scrolling(t("gradients.all_h"));
  const checked = h("div", { "aria-live": "polite" });
  const checkButton = h("button", { type: "button", onclick: () => guarded(checkAll()) });
  const legend = h("ul.legend", { "aria-label": t("gradients.legend") }, ["curve", "tangent", "secant", "start", "now"].map((name) =>
    h("li", {}, svg("svg", { viewBox: "0 0 30 12", width: 30, height: 12, "aria-hidden": "true" },
      name === "start" || name === "now" ? svg("circle", { class: name, cx: 15, cy: 6, r: 5 }) : svg("path", { class: name, d: "M0 6H30" })),
    t(`gradients.legend.${name}`))));
  const content = h("div", {},
    h("h3", {}, t("gradients.choose")), matrices, h("ul.legend", { "aria-label": t("matrix.legend") }, ["diverging", "result"].map((name) =>
      h("li", {}, h("span", { class: `swatch ${name}`, "aria-hidden": "true" }), t(name === "result" ? "gradients.chosen" : `matrix.${name}`)))), pointed,
    h("h3", {}, t("gradients.turn.title")), h("p", {}, t("gradients.turn.about")), controls,
    h("div.side-by-side", {}, h("figure.curve", {}, picture, legend,
      h("details", {}, h("summary", {}, t("gradients.table")), curveTable)), readings), spoken,
    h("h3", {}, t("gradients.quotient.title")), h("p", {}, t("gradients.quotient.about")),
    h("div.toolbar", {}, distance.element), quotient,
    h("details", {}, h("summary", {}, t("gradients.all_h")), distancesTable),
    h("h3", {}, t("gradients.check.title")), h("p", {}, t("gradients.check.about")),
    h("div.toolbar", {}, checkButton), checked);
  root.classList.add("gradients");
  root.append(h("h2", {}, t("gradients.title")), h("p", {}, t("gradients.about")),
    h("div.toolbar", {}, example.element, tensor.element), waiting, content);

  // ---- the chosen number ----

  const leafNow = () => source.pass.leaves[leaf];
  const values = () => source.pass.tensors[leafNow().tensor].values;
  const slopes = () => source.pass.tensors[leafNow().gradient].values;
  const shape = () => source.pass.tensors[leafNow().tensor].shape;
  const placeOf = (i) => {
    const [, width] = sizes(shape());
    return shape().length < 2 ? String(i) : `${Math.floor(i / width)}, ${i % width}`;
  };
  const name = () => `${leafNow().name.replace(/^(multi_head|self_attention)\./, "")}[${placeOf(cell)}]`;

  const steepest = () => slopes().reduce((best, g, i, all) => (Math.abs(g) > Math.abs(all[best]) ? i : best), 0);

  /** A leaf and its cell; null: the one with the largest gradient. */
  function choose(newLeaf, newCell) {
    leaf = newLeaf;
    setState({ weight: `${leafNow().name}:${newCell ?? steepest()}`, turn: 0 });
  }

  /** Reads the choice from the state; what is not there becomes the first W_q. */
  function readChoice() {
    const { leaves } = source.pass;
    const at = state.weight.lastIndexOf(":"), wanted = leaves.findIndex((l) => l.name === state.weight.slice(0, at));
    leaf = wanted >= 0 ? wanted : Math.max(0, leaves.findIndex((l) => l.name.endsWith("W_q.weight")));
    const index = wanted >= 0 ? Number(state.weight.slice(at + 1)) : -1;
    cell = Number.isInteger(index) && index >= 0 && index < values().length ? index : steepest();
    turn = Math.max(-state.zoom, Math.min(state.zoom, state.turn));
  }

  // ---- asking ----

  const guarded = (work) => work?.catch((error) => (waiting.textContent = error.message));

  /** The pass again, then everything. */
  async function refresh() {
    example.select.value = state.example;
    controls.disabled = checkButton.disabled = isTraining();
    waiting.textContent = isTraining() ? t("gradients.training") : "";
    if (isTraining()) {
      return;
    }
    const question = ++asked;
    const loaded = await load();
    if (question === asked) {
      source = loaded;
      readChoice();
      drawChoice();
      await measure();
    }
  }

  /** The losses of the chosen cell: along the curve, at the distances, and where it is turned. */
  async function measure() {
    const question = ++asked, w = values()[cell];
    const along = Array.from({ length: CURVE_POINTS }, (_, i) => w + state.zoom * ((2 * i) / (CURVE_POINTS - 1) - 1));
    const [losses] = await source.losses({ leaf, cell, values: [w, w + turn, ...along, ...DISTANCES.flatMap((d) => [w - d, w + d])] });
    if (question !== asked) {
      return;
    }
    now = losses[1];
    const ends = losses.slice(2 + CURVE_POINTS);
    measured = { start: losses[0], curve: along.map((weight, i) => [weight, losses[2 + i]]),
      pairs: DISTANCES.map((_, i) => [ends[2 * i], ends[2 * i + 1]]) };
    drawAll();
  }

  let answering = null; // one question at a time while the slider moves
  function turnTo(by) {
    turn = by;
    if (measured !== null) {
      answering ??= answer().finally(() => (answering = null));
    }
    return answering;
  }

  async function answer() {
    for (let answered = NaN; answered !== turn;) {
      answered = turn;
      const question = asked;
      const [[loss]] = await source.losses({ leaf, cell, values: [values()[cell] + answered] });
      if (question === asked) {
        now = loss;
        drawTurn();
      }
    }
  }

  // ---- drawing ----

  function drawChoice() {
    const { pass, words } = source;
    fill(tensor.select, pass.leaves.map((l, i) => h("option", { value: i, selected: i === leaf }, `${l.name} (${pass.tensors[l.tensor].shape.join(" × ")})`)));
    zoom.select.value = state.zoom;
    distance.select.value = state.h - 1;
    const options = { shape: shape(), ...namesOf(leafNow(), shape(), words), compact: values().length > MOST_NUMBERS,
      onpress: (_, index) => choose(leaf, index),
      onpoint: (_, index) => (pointed.textContent = t("gradients.pointed", placeOf(index), number(values()[index]), number(slopes()[index]))) };
    const held = matrices.contains(document.activeElement) ? layers.findIndex((l) => l.element.contains(document.activeElement)) : -1;
    layers = [
      matrix({ ...options, tensor: leafNow().tensor, name: leafNow().name, values: values() }),
      matrix({ ...options, tensor: leafNow().gradient, name: t("gradients.layer", leafNow().name), values: slopes(), kind: "gradient" }),
    ];
    layers.forEach((layer) => layer.mark([cell], "result"));
    fill(matrices, layers.map((layer) => layer.element));
    pointed.textContent = t("gradients.pointed", placeOf(cell), number(values()[cell]), number(slopes()[cell]));
    if (held >= 0) {
      layers[held].focus(cell);
    }
    buttons.forEach((button, i) => (button.textContent = i === 2 ? t("gradients.back") : signed(([-10, -1, 0, 1, 10][i] * state.zoom) / 100, Math.max(2, Math.ceil(2 - Math.log10(state.zoom))))));
    checkButton.textContent = t("gradients.check", leafNow().name, values().length);
    fill(checked);
  }

  const turnedTo = () => `${name()} = ${number(values()[cell] + turn)}, ${t("gradients.loss")} ${number(now, 6)}`;

  function drawTurn() {
    const w = values()[cell], g = slopes()[cell], { start, curve } = measured;
    const pair = measured.pairs[state.h - 1], d = DISTANCES[state.h - 1];
    slider.value = Math.round((100 * turn) / state.zoom);
    slider.setAttribute("aria-valuetext", turnedTo());
    drawCurve(picture, { name: name(), curve, start: [w, start], now: [w + turn, now], slope: g,
      secant: d > 0.02 * state.zoom ? [[w - d, pair[0]], [w + d, pair[1]]] : null });
    const line = (key, ...formula) => [h("dt", {}, t(key)), h("dd", {}, ...formula)];
    fill(readings, h("dl", {},
      line("gradients.weight", `${name()} = ${number(w, 6)} ${turn < 0 ? "−" : "+"} ${number(Math.abs(turn))} = ${number(w + turn, 6)}`),
      line("gradients.loss", `${number(start, 6)} → `, h("strong", {}, number(now, 6))),
      line("gradients.change", signed(now - start, 6)),
      line("gradients.predicted", `${number(g)} × ${turn < 0 ? `(${number(turn)})` : number(turn)} = ${signed(g * turn, 6)}`),
      line("gradients.missed", signed(now - start - g * turn, 6))));
  }

  function drawAll() {
    const w = values()[cell], g = slopes()[cell];
    drawTurn();
    fill(curveTable, table([name(), t("gradients.loss"), t("gradients.legend.tangent")],
      measured.curve.map(([weight, loss]) => [number(weight, 6), number(loss, 6), number(measured.start + g * (weight - w), 6)])));

    const quotients = DISTANCES.map((d, i) => (measured.pairs[i][1] - measured.pairs[i][0]) / (2 * d));
    const errors = quotients.map((q) => relative(q, g));
    const chosen = state.h - 1, best = errors.indexOf(Math.min(...errors)), [before, after] = measured.pairs[chosen];
    const noise = 1e-5 * Math.abs(g) + 1e-7 * Math.abs(slopes()[steepest()]); // of backward's floats
    const verdict = Math.abs(quotients[chosen] - g) <= noise ? "agree" : chosen < best ? "bend" : "rounding";
    fill(quotient,
      h("p.formula", {}, `(loss(w + h) − loss(w − h)) / 2h = (${precise(after)} − ${precise(before)}) / (2 × ${power(DISTANCES[chosen])}) = `,
        h("strong", {}, number(quotients[chosen], 8))),
      h("p", {}, t("gradients.backward", number(g, 8), number(errors[chosen], 3))),
      h("p", {}, t(`gradients.verdict.${verdict}`)));
    fill(distancesTable, table(["h", t("gradients.quotient"), t("gradients.relative")],
      DISTANCES.map((d, i) => [power(d), number(quotients[i], 10), number(errors[i], 3)]), chosen));
  }

  // ---- gradcheck of the whole matrix ----

  async function checkAll() {
    const question = ++asked, d = DISTANCES[state.h - 1], given = values(), slope = slopes(), { losses } = source, of = leaf;
    const progress = h("progress", { max: given.length, value: 0, "aria-label": t("gradients.check.title") });
    const found = new Float64Array(given.length);
    fill(checked, progress);
    for (let first = 0; first < given.length; first += AT_ONCE) {
      const pairs = await losses(...Array.from(given.subarray(first, first + AT_ONCE), (w, i) =>
        ({ leaf: of, cell: first + i, values: [w - d, w + d] })));
      if (question !== asked) {
        return;
      }
      pairs.forEach(([before, after], i) => (found[first + i] = (after - before) / (2 * d)));
      progress.value = first + AT_ONCE;
    }
    const largest = slope.reduce((most, g) => Math.max(most, Math.abs(g)), 0);
    const worst = found.reduce((at, q, i) => (Math.abs(q - slope[i]) > Math.abs(found[at] - slope[at]) ? i : at), 0);
    const error = Math.abs(found[worst] - slope[worst]);
    const result = matrix({ tensor: leafNow().gradient, name: t("gradients.check.layer", leafNow().name, power(d)), shape: shape(), values: found,
      kind: "gradient", ...namesOf(leafNow(), shape(), source.words), compact: given.length > MOST_NUMBERS, onpress: (_, index) => choose(leaf, index) });
    fill(checked, h("p", {}, t("gradients.check.result", given.length, number(error, 3), placeOf(worst), number(largest), number(largest > 0 ? error / largest : error, 3))),
      result.element);
  }

  // ---- changes ----

  const isOpen = () => state.tab === "gradients" && root.isConnected;
  onState((changed) => {
    if (!isOpen() || source === null) {
      return;
    }
    if (["example", "sentence", "mask"].some((key) => changed.has(key))) {
      guarded(refresh());
    } else if (["weight", "zoom"].some((key) => changed.has(key))) {
      readChoice();
      drawChoice();
      guarded(measure());
    } else if (changed.has("h") && measured !== null) {
      distance.select.value = state.h - 1;
      fill(checked);
      drawAll();
    } else if (changed.has("turn")) {
      guarded(turnTo(Math.max(-state.zoom, Math.min(state.zoom, state.turn)))?.then(() => (spoken.textContent = turnedTo())));
    }
  });
  onRun((what) => {
    if (isOpen() && state.example !== "tutorial" && ["restarted", "weights", "stopped", "steps"].includes(what) && (what !== "steps" || !controls.disabled)) {
      guarded(refresh());
    }
  });
  new ResizeObserver(() => measured !== null && isOpen() && drawTurn()).observe(root);
  return { show: () => guarded(refresh()) };
}
