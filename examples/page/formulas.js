// Formulas of explanations: how a number was computed from others, to be evaluated and written.
// A formula is a cell {kind: "cell", name, index, value}, a constant, or an operation on formulas ("of").

import { t } from "./strings.js";
import { number } from "./matrix.js";

export const constant = (value) =>
  ({ kind: "constant", value, text: String(value).replace("-", "−").replace("Infinity", "∞") });
export const sum = (of) => (of.length === 1 ? of[0] : { kind: "sum", of });
export const difference = (...of) => ({ kind: "difference", of });
export const product = (...of) => ({ kind: "product", of });
export const quotient = (...of) => ({ kind: "quotient", of });
export const square = (x) => ({ kind: "square", of: [x] });
/** exp(of[which]) / sum of exp(of) */
export const softmax = (of, which) => ({ kind: "softmax", of, which });
export const logSumExp = (of) => ({ kind: "logSumExp", of });

export const cellsIn = (formula) => (formula.kind === "cell" ? [formula] : (formula.of ?? []).flatMap(cellsIn));

export function evaluate({ kind, of, value, which }) {
  if (of === undefined) {
    return value;
  }
  const values = of.map(evaluate), [a, b] = values, most = Math.max(...values);
  const total = () => values.reduce((sum, x) => sum + Math.exp(x - most), 0);
  switch (kind) {
    case "sum": return values.reduce((x, y) => x + y);
    case "difference": return a - b;
    case "product": return a * b;
    case "quotient": return a / b;
    case "square": return a ** 2;
    case "logSumExp": return most + Math.log(total());
    case "softmax": return Math.exp(values[which] - most) / total();
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
    if (number(evaluate(short)) === number(value)) {
      return { formula: short, comesOut: true };
    }
  }
  return { formula: rounded(formula, FEWEST_DIGITS), comesOut: false };
}

// ---- in writing ----

// How tightly operations bind. An operand that binds less than its place asks for gets brackets.
const TERM = 1, FACTOR = 2, BASE = 3;
const binds = { sum: 0, difference: 0, product: TERM, quotient: TERM, softmax: TERM };

/** A shown formula in reading order, as texts and {name, index, value, text}; of sums with more than `most` terms,
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
    cell: ({ name, index, value, text }) => parts.push({ name, index, value, text }),
    constant: (node) => text(node.text),
    sum({ of }, limit) { // of long sums, each is shortened more
      const nested = of.some((term) => cellsIn(term).length > limit);
      list(of, limit, (term) => visit(term, TERM, nested ? Math.max(2, Math.floor(limit / of.length)) : limit));
    },
    difference: ({ of }, limit) => pair(of, " − ", 0, TERM, limit),
    product: ({ of }, limit) => pair(of, " × ", TERM, FACTOR, limit),
    quotient: ({ of }, limit) => pair(of, " / ", TERM, FACTOR, limit),
    square({ of }, limit) {
      visit(of[0], BASE, limit);
      text("²");
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
