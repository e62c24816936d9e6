// Explains any number of "Line by line" from the formula that makes its matrix (lines.js): the formula with its numbers, and the
// cells that these come from.

import { constant, sum, difference, product, quotient, square, softmax, logSumExp, cellsIn, evaluate, shown, write } from "../../formulas.js";
import { sizes } from "../../matrix.js";
import { formulasOf, resultsOf, termsOf, readName } from "../../lines.js";

const MOST_TERMS = 16; // longer sums are shortened

const range = (count) => Array.from({ length: count }, (_, i) => i);
const blockedBy = (fill) => ({ t, r, c }) => (t[1](r, c).value !== 0 ? [constant(fill), "blocked", [t[0](r, c), t[1](r, c)]]
  : [t[0](r, c), "open", [t[1](r, c)]]);
const added = ({ t, r, c, others }) => [sum([...t.map((term) => term(r, c)), ...others()]), "sum"];
const dot = ({ t, r, c, wide }) => range(wide).map((k) => product(t[0](r, k), t[1](k, c)));

// What a formula computes in row r and column c: [formula, key of the sentence about it, cells that it does not show]. T: a matrix;
// t: gives its cell in a row and a column, as it is drawn; wide: the columns of the first.
const RULES = {
  "= 1": () => [constant(1), "one"],
  "= T": ({ t, r, c }) => [t[0](r, c), "copy"],
  "= T · T": (x) => [sum(dot(x)), "product"],
  "= T · T + T": (x) => [sum([...dot(x), x.t[2](0, x.c)]), "product.bias"],
  "= 2 · T": ({ t, r, c }) => [product(constant(2), t[0](r, c)), "square.back"],
  "= T + T": added, "= T + T + T": added, "= T + T + T + T": added, "= T + T + T + T + …": added,
  "= T ÷ √d": ({ t, r, c, d }) => [quotient(t[0](r, c), constant(Math.sqrt(d))), "scale"],
  "= T −∞ ← T": blockedBy(-Infinity),
  "= T 0 ← T": blockedBy(0),
  "= softmax( T )": ({ t, r, c, wide }) => [softmax(range(wide).map((k) => t[0](r, k)), c), "softmax"],
  "= Σ→ T ∘ T": ({ t, r, wide }) => [sum(range(wide).map((k) => product(t[0](r, k), t[1](r, k)))), "sums"],
  "= T ∘ ( T − T )": ({ t, r, c }) => [product(t[0](r, c), difference(t[1](r, c), t[2](r, 0))), "softmax.back"],
  "= Σ T ²": ({ t, high, wide }) => [sum(range(high).flatMap((r) => range(wide).map((c) => square(t[0](r, c))))), "squares"],
  "= Σ↓ T": ({ t, c, high }) => [sum(range(high).map((r) => t[0](r, c))), "column"],
  "= T [tokens]": ({ t, r, c, ids }) => [t[0](ids[r], c), "lookup"],
  "= Σ by word T": ({ t, r, c, high, ids }) => {
    const places = range(high).filter((i) => ids[i] === r);
    return places.length === 0 ? [constant(0), "lookup.absent"] : [sum(places.map((i) => t[0](i, c))), "lookup.back"];
  },
  "= cross_entropy( T , T )": ({ t, high, wide }) => [quotient(sum(range(high).map((r) => {
    const logits = range(wide).map((c) => t[0](r, c));
    return difference(logSumExp(logits), logits[t[1](0, r).value]);
  })), constant(high)), "cross_entropy"],
  "= ( T − onehot( T )) ÷ n": ({ t, r, c, high }) => (r >= high ? [constant(0), "last"]
    : [quotient(t[1](0, r).value === c ? difference(t[0](r, c), constant(1)) : t[0](r, c), constant(high)), "cross_entropy.back"]),
  "= cat( T T )": ({ t, r, c, wide }) => [t[Math.floor(c / wide)](r, c % wide), "cat"],
  "= split( T )": ({ t, r, c, across, nth }) => [t[0](r, nth * across + c), "split"],
};

/** The formula that makes a matrix, or null: it is given, or made in another head. */
function makerOf({ steps, shown: { head } }, name) {
  const same = (other) => other === name || other.replace(`@${head}`, "") === name.replace(`@${head}`, "");
  const all = steps.flatMap((step) => [step.formula, ...step.back]);
  const formula = all.find((each) => resultsOf(each).some(same));
  return formula === undefined ? null : { formula, nth: resultsOf(formula).findIndex(same) };
}

/** {formula, key, hidden: cells that the formula does not show, terms} of a number by the rule of its matrix's formula, or null. */
function computed(view, name, index) {
  const made = makerOf(view, name);
  if (made === null) {
    return null;
  }
  const { matrices, shown: { width: d, others, sentence: { ids } } } = view;
  const all = termsOf(made.formula), terms = all.slice(resultsOf(made.formula).length);
  const sign = (terms.length === 0 ? [all.at(-1).after] : terms.flatMap(({ before, after }) => [before, "T", after])).filter((x) => x !== "")
    .join(" ").replace(/\d+ …/, "…").replace(/cat\( .*\)/, "cat( T T )");
  const t = terms.map(({ name: of, transposed }) => {
    const { shape, values } = matrices.get(of), wide = sizes(shape)[1];
    return (r, c) => {
      const at = transposed ? c * wide + r : r * wide + c;
      return { kind: "cell", name: of, index: at, value: Number(values[at]) };
    };
  });
  const drawn = terms.length === 0 ? [] : sizes(matrices.get(terms[0].name).shape), [high, wide] = terms[0]?.transposed ? drawn.reverse() : drawn;
  const across = sizes(matrices.get(name).shape)[1], r = Math.floor(index / across), c = index % across;
  const [formula, key, hidden = []] = RULES[sign]({ t, r, c, nth: made.nth, across, high, wide, d, ids,
    others: () => (sign.endsWith("…") ? [constant(others()[index])] : []) });
  return { formula, key, hidden, terms };
}

/** The value of a number that the formulas give, for a matrix that the engine does not have. */
export const derived = (view, name, index) => evaluate(computed(view, name, index).formula);

/**
 * Explains a number: {key, args: the sentence that says what its formula does; parts: texts and {name, index, value, text}, the
 * formula in reading order; comesOut: whether the texts of the whole formula give the text of the value; sources: [{name, index}],
 * all cells it was made of}. Null for an input or a weight.
 */
export function explain(view, name, index) {
  const found = computed(view, name, index);
  if (found === null) {
    return null;
  }
  const { shape, values } = view.matrices.get(name), { ids } = view.shown.sentence, row = Math.floor(index / sizes(shape)[1]);
  const { formula, comesOut } = shown(found.formula, Number(values[index]));
  return {
    key: `explain.${found.key}`, parts: write(formula, MOST_TERMS), comesOut, sources: [...cellsIn(found.formula), ...found.hidden],
    args: found.key.startsWith("lookup") ? [readName(name).gradient ? row : ids[row]]
      : found.terms.map(({ name: of, transposed }) => (transposed ? `${of}ᵀ` : of)),
  };
}
