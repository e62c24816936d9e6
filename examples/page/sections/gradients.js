// Gradients to touch: turn one number, and the loss moves as backward's gradient says; beside it the quotient of
// differences, which needs no backward. The engine computes these losses in double precision.

import { h, svg, fill } from "../dom.js";
import { t } from "../strings.js";
import { state, setState, onState } from "../state.js";
import { run, onRun } from "../run.js";
import { chosenSentence, record, losses, feature, ofWeight } from "../example.js";
import { matrix, number, sizes } from "../matrix.js";
import { drawCurve } from "../curve.js";

const ZOOMS = [2, 1, 0.1, 0.01, 0.001];               // how far the slider and the curve go on each side
const TURNS = [-10, -1, 0, 1, 10];                    // of the buttons, in percent of that
const DISTANCES = Array.from({ length: 13 }, (_, i) => 10 ** -(i + 1)); // h of the quotient
const CURVE_POINTS = 41, AT_ONCE = 64;
const MOST_NUMBERS = 100;                             // larger matrices show colours only

const signed = (value, digits = 4) => (value < 0 || Object.is(value, -0) ? "" : "+") + number(value, digits);
const inBrackets = (value) => (value < 0 ? `(${number(value)})` : number(value));
const powerOfTen = (i) => `10⁻${String(i + 1).replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit])}`; // DISTANCES[i]

/** |a - b| relative to the larger one. */
function relative(a, b) {
  const most = Math.max(Math.abs(a), Math.abs(b));
  return most === 0 ? 0 : Math.abs(a - b) / most;
}

/** The index of the number farthest from 0. */
const farthest = (values) => values.reduce((best, x, i) => (Math.abs(x) > Math.abs(values[best]) ? i : best), 0);

/** A table of rows [head, ...cells]; chosen: the number of a row. */
function table(heads, rows, chosen = -1) {
  return h("table.plain", {},
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, rows.map(([head, ...cells], i) =>
      h("tr", { class: i === chosen ? "chosen" : null, "aria-current": i === chosen ? "true" : null },
        h("th", { scope: "row" }, head), cells.map((cell) => h("td", {}, cell))))));
}

/** Folded away: a table behind a picture. Returns [element, box of the table]. */
function folded(title) {
  const box = h("div.scroll", { tabindex: 0, role: "region", "aria-label": title });
  return [h("details", {}, h("summary", {}, title), box), box];
}

function legend() {
  const lines = ["curve", "tangent", "secant"], points = ["start", "now"];
  const shape = (name) =>
    (lines.includes(name) ? svg("path", { class: name, d: "M0 6H30" }) : svg("circle", { class: name, cx: 15, cy: 6, r: 5 }));
  const sign = (name) => svg("svg", { viewBox: "0 0 30 12", width: 30, height: 12, "aria-hidden": "true" }, shape(name));
  return h("ul.legend", { "aria-label": t("gradients.legend") },
    [...lines, ...points].map((name) => h("li", {}, sign(name), t(`gradients.legend.${name}`))));
}

/** The colours of the matrices. */
function colours() {
  const item = (name, text) => h("li", {}, h("span", { class: `swatch ${name}`, "aria-hidden": "true" }), text);
  return h("ul.legend", { "aria-label": t("matrix.legend") },
    item("diverging", t("matrix.diverging")), item("result", t("gradients.chosen")));
}

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export function begin(root) {
  let sentence = null, pass = null;
  let leaf = 0, cell = 0, turn = 0;
  let measured = null;   // {start, curve, pairs: [loss(w - h), loss(w + h)] of each distance}, for the chosen cell
  let now = 0;           // the loss after turning
  let layers = [];       // the matrices of values and gradients
  let asked = 0;         // counts questions, to drop late answers

  // ---- controls ----

  const choice = (key, values, nameOf, onchange) => {
    const select = h("select", { onchange: () => onchange(select.value) },
      values.map((value) => h("option", { value }, nameOf(value))));
    return { element: h("label", {}, t(key), " ", select), select };
  };
  const example = choice("class.example", ["tutorial", "pizza", "own"], (name) => t(`class.${name}`),
    (value) => setState({ example: value, line: 0, phase: "forward", cell: "", weight: "", turn: 0 }));
  const masked = h("input", { type: "checkbox", onchange: () => setState({ masked: masked.checked, turn: 0 }) });
  const maskSwitch = h("label", {}, masked, t("class.mask"));
  const tensor = choice("gradients.tensor", [], String, (value) => choose(Number(value), null));
  const zoom = choice("gradients.zoom", ZOOMS, (value) => `± ${value}`, (value) => setState({ zoom: value, turn: 0 }));
  const distance = choice("gradients.h", DISTANCES.map((_, i) => i + 1), (i) => powerOfTen(i - 1),
    (value) => setState({ h: value }));
  const slider = h("input", { type: "range", min: -100, max: 100, step: 1, "aria-label": t("gradients.turn"),
    oninput: () => guarded(turnTo((slider.value / 100) * state.zoom)), onchange: () => setState({ turn }) });
  const buttons = TURNS.map((percent) => h("button", { type: "button",
    onclick: () => setState({ turn: percent === 0 ? 0 : within(turn + (percent * state.zoom) / 100) }) }));
  const turns = h("fieldset.bare", {}, h("div.toolbar", {}, slider,
    h("span.group", { role: "group", "aria-label": t("gradients.turn") }, buttons), zoom.element));

  // ---- what is shown ----

  const waiting = h("p.note", { role: "status" });
  const matrices = h("div.side-by-side");
  const pointed = h("p.faint");
  const readings = h("div.readings");
  const spoken = h("p.unseen", { role: "status" }); // where the number is turned to, said when the slider rests
  const picture = h("div.curve-box");
  const [curveFolded, curveTable] = folded(t("gradients.table"));
  const quotientText = h("div", { "aria-live": "polite" });
  const [distancesFolded, distancesTable] = folded(t("gradients.all_h"));
  const checkButton = h("button", { type: "button", onclick: () => guarded(checkAll()) });
  const checked = h("div", { "aria-live": "polite" });
  const content = h("div", {},
    h("h3", {}, t("gradients.choose")), matrices, colours(), pointed,
    h("h3", {}, t("gradients.turn.title")), h("p", {}, t("gradients.turn.about")), turns,
    h("div.side-by-side", {}, h("figure.curve", {}, picture, legend(), curveFolded), readings), spoken,
    h("h3", {}, t("gradients.quotient.title")), h("p", {}, t("gradients.quotient.about")),
    h("div.toolbar", {}, distance.element), quotientText, distancesFolded,
    h("h3", {}, t("gradients.check.title")), h("p", {}, t("gradients.check.about")),
    h("div.toolbar", {}, checkButton), checked);
  root.classList.add("gradients");
  root.append(h("h2", {}, t("gradients.title")), h("p", {}, t("gradients.about")),
    h("div.toolbar", {}, example.element, maskSwitch, tensor.element), waiting, content);

  // ---- the chosen number ----

  const leafNow = () => pass.leaves[leaf];
  const values = () => pass.tensors[leafNow().tensor].values;
  const slopes = () => pass.tensors[leafNow().gradient].values;
  const shape = () => pass.tensors[leafNow().tensor].shape;
  const within = (by) => Math.max(-state.zoom, Math.min(state.zoom, by));
  const placeOf = (i) => {
    const [, width] = sizes(shape());
    return shape().length < 2 ? String(i) : `${Math.floor(i / width)}, ${i % width}`;
  };
  const name = () => `${leafNow().name.replace(/^(multi_head|self_attention)\./, "")}[${placeOf(cell)}]`;

  /** Names of rows and columns; without one: numbers. */
  const names = () => {
    const { words } = run.language, [height, width] = sizes(shape());
    return leafNow().name === "token_encodings" ? { rows: sentence.words, columns: feature(width) }
      : /W_[qkvo]\.weight$/.test(leafNow().name) ? ofWeight(height, width)
      : /^(we|fc_layer)\.weight$/.test(leafNow().name) ? { rows: words }
      : leafNow().name === "fc_layer.bias" ? { rows: [""], columns: words } : {};
  };

  /** A leaf and its cell; null: the one with the largest gradient. */
  function choose(newLeaf, newCell) {
    leaf = newLeaf;
    setState({ weight: `${leafNow().name}:${newCell ?? farthest(slopes())}`, turn: 0 });
  }

  /** Reads the choice from the state; what is not there becomes the steepest number of the first W_q. */
  function readChoice() {
    const at = state.weight.lastIndexOf(":");
    const named = pass.leaves.findIndex((l) => l.name === state.weight.slice(0, at));
    leaf = named >= 0 ? named : Math.max(0, pass.leaves.findIndex((l) => l.name.endsWith("W_q.weight")));
    const index = Number(state.weight.slice(at + 1));
    cell = named >= 0 && index < values().length ? index : farthest(slopes());
    turn = within(state.turn);
  }

  // ---- asking the engine ----

  const guarded = (work) => work?.catch((error) => (waiting.textContent = error.message));

  /** The pass again, then everything. */
  async function refresh() {
    const question = ++asked, chosen = chosenSentence();
    const training = chosen.ids !== null && run.playing;
    example.select.value = state.example;
    maskSwitch.hidden = state.example !== "tutorial";
    masked.checked = state.masked;
    turns.disabled = checkButton.disabled = tensor.select.disabled = training;
    waiting.textContent = chosen.problem ?? (training ? t("gradients.training") : "");
    content.hidden = chosen.problem !== undefined;
    if (training || content.hidden) {
      return;
    }
    const recorded = await record(chosen);
    if (question === asked) {
      [sentence, pass] = [chosen, recorded];
      readChoice();
      drawChoice();
      await measure();
    }
  }

  /** The losses of the chosen cell: along the curve, at the distances, and where it is turned. */
  async function measure() {
    const question = ++asked, w = values()[cell];
    const along = Array.from({ length: CURVE_POINTS }, (_, i) => w + state.zoom * ((2 * i) / (CURVE_POINTS - 1) - 1));
    const query = { leaf, cell, values: [w, w + turn, ...along, ...DISTANCES.flatMap((d) => [w - d, w + d])] };
    const [[start, turned, ...rest]] = await losses(sentence, [query]);
    if (question === asked) {
      const ends = rest.slice(CURVE_POINTS), curve = along.map((x, i) => [x, rest[i]]);
      now = turned;
      measured = { start, curve, pairs: DISTANCES.map((_, i) => ends.slice(2 * i, 2 * i + 2)) };
      drawTurn();
      drawQuotients();
    }
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
      const [[loss]] = await losses(sentence, [{ leaf, cell, values: [values()[cell] + answered] }]);
      if (question === asked) {
        now = loss;
        drawTurn();
      }
    }
  }

  // ---- drawing ----

  /** The place of a cell, its value and its gradient. */
  const point = (i) => {
    pointed.textContent = t("gradients.pointed", placeOf(i), number(values()[i]), number(slopes()[i]));
  };

  const layer = (key, kind, of) => matrix({ tensor: key, name: t(`gradients.layer.${key}`, leafNow().name), kind,
    shape: shape(), values: of, ...names(), compact: of.length > MOST_NUMBERS,
    onpoint: (_, index) => point(index), onpress: (_, index) => choose(leaf, index) });

  function drawChoice() {
    fill(tensor.select, pass.leaves.map((l, i) =>
      h("option", { value: i, selected: i === leaf }, `${l.name} (${pass.tensors[l.tensor].shape.join(" × ")})`)));
    zoom.select.value = state.zoom;
    distance.select.value = state.h;
    const held = layers.findIndex(({ element }) => element.contains(document.activeElement)); // which has the focus
    layers = [layer("value", "value", values()), layer("gradient", "gradient", slopes())];
    fill(matrices, layers.map(({ element }) => element));
    layers.forEach((shown) => shown.mark([cell], "result"));
    layers[held]?.focus(cell);
    point(cell);
    const digits = Math.ceil(2 - Math.log10(state.zoom) - 1e-9);
    buttons.forEach((button, i) =>
      (button.textContent = TURNS[i] === 0 ? t("gradients.back") : signed((TURNS[i] * state.zoom) / 100, digits)));
    checkButton.textContent = t("gradients.check", leafNow().name, values().length);
    fill(checked);
  }

  const turnedTo = () => `${name()} = ${number(values()[cell] + turn)}, ${t("gradients.loss")} ${number(now, 6)}`;

  function drawTurn() {
    const w = values()[cell], g = slopes()[cell], { start, curve, pairs } = measured;
    const d = DISTANCES[state.h - 1], [before, after] = pairs[state.h - 1];
    slider.value = Math.round((100 * turn) / state.zoom);
    slider.setAttribute("aria-valuetext", turnedTo());
    drawCurve(picture, { curve, start: [w, start], now: [w + turn, now], slope: g,
      name: name(), unit: t("gradients.loss"),
      secant: d > 0.02 * state.zoom ? [[w - d, before], [w + d, after]] : null, // else it would hide the tangent
      label: t("gradients.curve.label", name(), number(start, 6), number(w + turn, 6), number(now, 6)) });
    const line = (key, ...said) => [h("dt", {}, t(key)), h("dd", {}, ...said)];
    const sum = `${number(w, 6)} ${turn < 0 ? "−" : "+"} ${number(Math.abs(turn))}`;
    fill(readings, h("dl", {},
      line("gradients.weight", `${name()} = ${sum} = ${number(w + turn, 6)}`),
      line("gradients.loss", `${number(start, 6)} → `, h("strong", {}, number(now, 6))),
      line("gradients.change", signed(now - start, 6)),
      line("gradients.predicted", `${number(g)} × ${inBrackets(turn)} = ${signed(g * turn, 6)}`),
      line("gradients.missed", signed(now - start - g * turn, 6))));
  }

  function drawQuotients() {
    const w = values()[cell], g = slopes()[cell], { start, curve, pairs } = measured, chosen = state.h - 1;
    fill(curveTable, table([name(), t("gradients.loss"), t("gradients.legend.tangent")],
      curve.map(([x, loss]) => [number(x, 6), number(loss, 6), number(start + g * (x - w), 6)])));
    const quotients = pairs.map(([before, after], i) => (after - before) / (2 * DISTANCES[i]));
    const errors = quotients.map((q) => relative(q, g));
    const noise = 1e-5 * Math.abs(g) + 1e-6 * Math.abs(slopes()[farthest(slopes())]); // of backward's floats
    const verdict = Math.abs(quotients[chosen] - g) <= noise ? "agree"
      : chosen < errors.indexOf(Math.min(...errors)) ? "bend" : "rounding";
    const [before, after] = pairs[chosen].map((loss) => number(loss, 10));
    const filledIn = `(${after} − ${before}) / (2 × ${powerOfTen(chosen)})`;
    fill(quotientText,
      h("p.formula", {}, `(loss(w + h) − loss(w − h)) / 2h = ${filledIn} = `,
        h("strong", {}, number(quotients[chosen], 8))),
      h("p", {}, t("gradients.backward", number(g, 8), number(errors[chosen], 3))),
      h("p", {}, t(`gradients.verdict.${verdict}`)));
    fill(distancesTable, table(["h", t("gradients.quotient"), t("gradients.relative")],
      quotients.map((q, i) => [powerOfTen(i), number(q, 10), number(errors[i], 3)]), chosen));
  }

  // ---- gradcheck of the whole matrix ----

  async function checkAll() {
    const question = ++asked, d = DISTANCES[state.h - 1], given = values(), slope = slopes(), of = leaf;
    const progress = h("progress", { max: given.length, value: 0, "aria-label": t("gradients.check.title") });
    const found = new Float64Array(given.length);
    fill(checked, progress);
    for (let first = 0; first < given.length; first += AT_ONCE) {
      const pairs = await losses(sentence, Array.from(given.subarray(first, first + AT_ONCE), (w, i) =>
        ({ leaf: of, cell: first + i, values: [w - d, w + d] })));
      if (question !== asked) {
        return;
      }
      pairs.forEach(([before, after], i) => (found[first + i] = (after - before) / (2 * d)));
      progress.value = first + AT_ONCE;
    }
    const errors = found.map((q, i) => Math.abs(q - slope[i])), worst = farthest(errors);
    const largest = Math.abs(slope[farthest(slope)]), part = largest > 0 ? errors[worst] / largest : errors[worst];
    const quotients = layer("quotient", "gradient", found);
    fill(checked, h("p", {}, t("gradients.check.result", given.length, powerOfTen(state.h - 1),
      number(errors[worst], 3), placeOf(worst), number(largest), number(part, 3))), quotients.element);
    quotients.mark([cell], "result");
  }

  // ---- changes ----

  const isOpen = () => state.tab === "gradients" && root.isConnected;
  onState((changed) => {
    const has = (...keys) => keys.some((key) => changed.has(key));
    if (!isOpen()) {
      return;
    }
    if (pass === null || has("example", "sentence", "masked")) {
      guarded(refresh());
    } else if (has("weight", "zoom")) {
      readChoice();
      drawChoice();
      guarded(measure());
    } else if (has("h") && measured !== null) {
      distance.select.value = state.h;
      fill(checked);
      drawTurn();
      drawQuotients();
    } else if (has("turn")) {
      guarded(turnTo(within(state.turn))?.then(() => (spoken.textContent = turnedTo())));
    }
  });
  onRun((what) => { // while it trains, once is enough
    if (isOpen() && state.example !== "tutorial" && (what !== "steps" || !turns.disabled) && what !== "measure") {
      guarded(refresh());
    }
  });
  new ResizeObserver(() => measured !== null && isOpen() && drawTurn()).observe(root);
  return { show: () => guarded(refresh()) };
}
