// Formulas of explanations: how a number was computed from cells of a pass, to be evaluated and written.
// A formula is a cell {kind: "cell", tensor, index, value}, a constant, or an operation on formulas ("of").

import { t } from "./strings.js";
import { number } from "./matrix.js";

export const constant = (value) =>
  ({ kind: "constant", value, text: String(value).replace("-", "−").replace("Infinity", "∞") });
export const sum = (of) => (of.length === 1 ? of[0] : { kind: "sum", of });
export const difference = (...of) => ({ kind: "difference", of });
export const negative = (x) => ({ kind: "negative", of: [x] });
export const product = (...of) => ({ kind: "product", of });
export const quotient = (...of) => ({ kind: "quotient", of });
export const power = (x, exponent) => ({ kind: "power", of: [x], exponent });
/** exp(of[which]) / sum of exp(of) */
export const softmax = (of, which) => ({ kind: "softmax", of, which });
export const logSumExp = (of) => ({ kind: "logSumExp", of });

export const cellsIn = (formula) => (formula.kind === "cell" ? [formula] : (formula.of ?? []).flatMap(cellsIn));

/** {value, size}: the size is the value if all terms were positive, the scale of rounding errors. */
export function evaluate({ kind, of, value, which, exponent }) {
  if (of === undefined) {
    return { value, size: Math.abs(value) };
  }
  const parts = of.map(evaluate), [a, b] = parts, values = parts.map((part) => part.value);
  const size = parts.reduce((total, part) => total + part.size, 0);
  const most = Math.max(...values);
  const total = () => values.reduce((sum, x) => sum + Math.exp(x - most), 0);
  switch (kind) {
    case "sum": return { value: values.reduce((x, y) => x + y), size };
    case "difference": return { value: a.value - b.value, size };
    case "negative": return { value: -a.value, size };
    case "product": return { value: a.value * b.value, size: a.size * b.size };
    case "quotient": return { value: a.value / b.value, size: a.size / Math.abs(b.value) };
    case "power": return { value: a.value ** exponent, size: Math.abs(a.value ** exponent) };
    case "logSumExp": return { value: most + Math.log(total()), size: Math.abs(most) + Math.abs(Math.log(total())) };
    case "softmax": {
      const share = Math.exp(values[which] - most) / total();
      return { value: share, size: share * (2 + Math.abs(values[which] - most)) };
    }
  }
}

// ---- as shown: with few digits ----

const FEWEST_DIGITS = 4, MOST_DIGITS = 8; // decimals

/** The number that a text of number() says. */
const valueOf = (text) => Number(text.replace(/−/g, "-").replace("∞", "Infinity"));

/** The formula with `digits` decimals of each number: what a reader can type into a calculator. */
function rounded(node, digits) {
  if (node.of !== undefined) {
    return { ...node, of: node.of.map((part) => rounded(part, digits)) };
  }
  const isShort = node.kind === "constant" && !(String(node.value).split(".")[1]?.length > digits);
  const text = isShort ? constant(node.value).text : number(node.value, digits);
  return { ...node, text, value: valueOf(text) };
}

/** {formula: with as few digits as give the value with 4 decimals, comesOut: whether they do}. Where no digits do, as
 * f32 has rounded on the way to the value, there are as few as possible. */
export function shown(formula, value) {
  for (let digits = FEWEST_DIGITS; digits <= MOST_DIGITS; digits++) {
    const short = rounded(formula, digits);
    if (number(evaluate(short).value) === number(value)) {
      return { formula: short, comesOut: true };
    }
  }
  return { formula: rounded(formula, FEWEST_DIGITS), comesOut: false };
}

/** The formula with other numbers in its cells. */
export const withCells = (node, read) => (node.of !== undefined
  ? { ...node, of: node.of.map((part) => withCells(part, read)) }
  : node.kind === "cell" ? { ...node, value: read(node) } : node);

// ---- in writing ----

// How tightly operations bind. An operand that binds less than its place asks for gets brackets.
const TERM = 1, FACTOR = 2, BASE = 3;
const binds = { sum: 0, difference: 0, negative: 0, product: TERM, quotient: TERM, softmax: TERM };

/** A shown formula in reading order, as texts and {tensor, index, value, text}; of sums with more than `most` terms,
 * half as many are written, and how many are left. */
export function write(formula, most) {
  const parts = [];
  const text = (added) =>
    (typeof parts[parts.length - 1] === "string" ? (parts[parts.length - 1] += added) : parts.push(added));
  const between = (left, inner, right) => {
    text(left);
    inner();
    text(right);
  };
  const list = (items, limit, each) => {
    const shown = items.length > limit ? items.slice(0, Math.max(1, Math.floor(limit / 2))) : items;
    shown.forEach((item, i) => {
      i > 0 && text(" + ");
      each(item);
    });
    shown.length < items.length && text(` + ${t("explain.more", items.length - shown.length)}`);
  };
  const exponentials = (items, limit) => list(items, limit, (x) => between("exp(", () => visit(x, 0, limit), ")"));
  const pair = ([a, b], sign, left, right, limit) => {
    visit(a, left, limit);
    text(sign);
    visit(b, right, limit);
  };

  const writers = {
    cell: ({ tensor, index, value, text }) => parts.push({ tensor, index, value, text }),
    constant: (node) => text(node.text),
    sum({ of }, limit) { // of long sums, each is shortened more
      const nested = of.some((term) => cellsIn(term).length > limit);
      list(of, limit, (term) => visit(term, TERM, nested ? Math.max(2, Math.floor(limit / of.length)) : limit));
    },
    difference: ({ of }, limit) => pair(of, " − ", 0, TERM, limit),
    negative({ of }, limit) {
      text("−");
      visit(of[0], FACTOR, limit);
    },
    product: ({ of }, limit) => pair(of, " × ", TERM, FACTOR, limit),
    quotient: ({ of }, limit) => pair(of, " / ", TERM, FACTOR, limit),
    power({ of, exponent }, limit) {
      visit(of[0], BASE, limit);
      text({ 2: "²", 3: "³" }[exponent] ?? `^(${exponent})`);
    },
    softmax({ of, which }, limit) {
      exponentials([of[which]], limit);
      between(" / (", () => exponentials(of, limit), ")");
    },
    logSumExp: ({ of }, limit) => between("log(", () => exponentials(of, limit), ")"),
  };

  function visit(node, place, limit) {
    const last = parts[parts.length - 1];
    const isOpen = last === undefined || (typeof last === "string" && last.endsWith("("));
    const isNegative = node.of === undefined && (node.value < 0 || Object.is(node.value, -0));
    const bracketed = (binds[node.kind] ?? BASE) < place || (isNegative && (place === BASE || !isOpen));
    const inner = () => writers[node.kind](node, limit);
    bracketed ? between("(", inner, ")") : inner();
  }
  visit(formula, 0, most);
  return parts;
}
