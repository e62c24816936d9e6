// Explains any number of a recorded pass (engine.h) from the operation that computed it: the formula
// with its numbers, and the cells that these come from. It knows operations, but not attention.

import { explaining } from "./strings/explain.js";
import { constant, sum, difference, negative, product, quotient, power, softmax, logSumExp, cellsIn, evaluate, shown,
  withCells, write } from "./formulas.js";

const MOST_TERMS = 16; // longer sums are shortened
const LARGEST_F32 = 3.4028235e38, SMALLEST_F32 = 1.1754944e-38, EPSILON_F32 = 2 ** -24;

// ---- cells ----

const countOf = (shape) => shape.reduce((a, b) => a * b, 1);

/** Coordinates of an element from its number in row-major order. */
function coordinates(index, shape) {
  const at = [];
  for (let d = shape.length - 1; d >= 0; d--) {
    at[d] = index % shape[d];
    index = Math.floor(index / shape[d]);
  }
  return at;
}

/** The number of an element; leading coordinates that the shape does not have, and those of dims of size 1, are
 * left out as in broadcasting. */
function indexOf(at, shape) {
  const extra = at.length - shape.length;
  return shape.reduce((index, size, d) => index * size + (size === 1 ? 0 : at[extra + d]), 0);
}

const wrap = (dim, ndim) => (dim < 0 ? dim + ndim : dim);
const range = (count) => Array.from({ length: count }, (_, i) => i);
const replaced = (at, d, value) => at.map((old, i) => (i === d ? value : old));

/** "dim=-1, shape=(2, 3)" -> {dim: -1, shape: [2, 3]} */
function parseArguments(text) {
  const words = { inf: Infinity, "-inf": -Infinity, nan: NaN };
  const read = (value) => (value in words ? words[value] : Number.isNaN(Number(value)) ? value : Number(value));
  const readAll = (list) => list.split(",").filter((item) => item.trim() !== "").map(Number);
  return Object.fromEntries(Array.from(text.matchAll(/(\w+)=(\([^)]*\)|[^,]+)/g), ([, name, value]) =>
    [name, value.startsWith("(") ? readAll(value.slice(1, -1)) : read(value)]));
}

// ---- what a pass contains, found once ----

const known = new WeakMap();

/** The number of the head in the path of a module. */
const headIn = (path) => Number(/heads\.(\d+)/.exec(path)?.[1] ?? 0);

/** Maps of tensors to the entries that computed and used them, to their names, to the tensors that they are gradients
 * of, to the gradient without create_graph; of entries to arguments; and room for what is found later. */
function contents(pass) {
  if (!known.has(pass)) {
    const producers = new Map(), consumers = new Map(), names = new Map(), owners = new Map(), fused = new Map();
    const args = new Map();
    for (const entry of pass.entries) {
      args.set(entry, parseArguments(entry.args));
      producers.set(entry.result, entry);
      entry.inputs.forEach((i) => consumers.set(i, [...(consumers.get(i) ?? []), entry]));
    }
    const own = (gradient, tensor) =>
      gradient >= 0 && owners.set(gradient, (owners.get(gradient) ?? new Set()).add(tensor));
    const gradientNames = new Map();
    for (const { name, head = headIn(name), tensor, gradient, fused: other } of [...pass.leaves, ...pass.marks]) {
      if (!names.has(tensor)) {
        names.set(tensor, { name, head, isGradient: false });
      }
      own(gradient, tensor);
      if (gradient >= 0) { // of several tensors with one gradient, the last one's
        gradientNames.set(gradient, { name, head, isGradient: true });
        if (other >= 0) {
          fused.set(gradient, other);
          gradientNames.set(other, { name, head, isGradient: true });
        }
      }
    }
    pass.entries.forEach(({ result, gradient }) => own(gradient, result));
    gradientNames.forEach((name, gradient) => names.has(gradient) || names.set(gradient, name));
    known.set(pass, { producers, consumers, args, names, owners, fused, labels: new Map(),
      reached: [new Map(), new Map()] });
  }
  return known.get(pass);
}

// ---- names ----

const bracket = (text) => (/[ ]/.test(text.replace(/\([^()]*\)|\[[^\]]*\]/g, "")) ? `(${text})` : text);

/** "k" -> "k.T" and back. */
const transposed = (text) => (text.endsWith(".T") ? text.slice(0, -2) : `${bracket(text)}.T`);

const infix = (sign) => ([a, b]) => `${bracket(a)} ${sign} ${bracket(b)}`;
const same = ([x]) => x;

/** Operations in Python, from their inputs and arguments. */
const spellings = {
  matmul: infix("@"), mul: infix("*"), add: infix("+"), sub: infix("-"), div: infix("/"),
  mul_scalar: ([x], { b }) => infix("*")([x, String(b)]),
  div_scalar: ([x], { b }) => infix("/")([x, String(b)]),
  square: ([x]) => `${bracket(x)} ** 2`,
  sum: ([x], { dims = "" }) => `${bracket(x)}.sum(${dims})`,
  mean: ([x], { dims = "" }) => `${bracket(x)}.mean(${dims})`,
  transpose: ([x]) => transposed(x),
  reshape: same,
  expand: same,
  slice: ([x], { dim, start, end }, { shape }) =>
    `${bracket(x)}[${":, ".repeat(wrap(dim, shape.length))}${start}:${end}]`,
  masked_fill: ([x, mask], { value }) => `${bracket(x)}.masked_fill(${mask}, ${value})`,
};

/** A tensor as an expression of Python: its name, or the operation that made it from named ones. */
function label(pass, tensor, room = 60) {
  const { labels } = contents(pass), key = `${tensor} ${room}`;
  if (!labels.has(key)) {
    labels.set(key, findLabel(pass, tensor, room));
  }
  return labels.get(key);
}

function findLabel(pass, tensor, room) {
  const { producers, names, owners, args } = contents(pass);
  if (names.has(tensor)) {
    const { name, isGradient } = names.get(tensor);
    const short = name.replace(/^.*\.(?=[^.]+\.\w+$)/, ""); // multi_head.heads.0.W_q.weight -> W_q.weight
    return short + (isGradient ? ".grad" : "");
  }
  if (owners.has(tensor)) {
    return `${bracket(label(pass, [...owners.get(tensor)].pop(), room - 5))}.grad`;
  }
  const entry = producers.get(tensor);
  if (entry === undefined) {
    return inputLabel(pass, tensor);
  }
  const inputs = entry.inputs.map((i) => label(pass, i, room - 10)), given = args.get(entry);
  const text = spellings[entry.op]?.(inputs, given, pass.tensors[tensor])
    ?? `${entry.op}(${[...inputs, ...("dim" in given ? [given.dim] : [])].join(", ")})`;
  return text.length > room ? `${entry.op}(…)` : text;
}

/** An input without a name: a number, a mask, tokens, or the buffer of the module that uses it. */
function inputLabel(pass, tensor) {
  const { consumers } = contents(pass), { shape, dtype, values } = pass.tensors[tensor];
  const users = (i) => (consumers.get(i) ?? []).flatMap((entry) => (entry.op in views ? users(entry.result) : [entry]));
  return shape.length === 0 ? String(Number(values[0].toPrecision(6)))
    : dtype === "bool" ? "mask"
    : dtype === "i64" ? "tokens"
    : users(tensor)[0]?.path.split(".").pop() || "input";
}

/** {name, head, isGradient} of a tensor; a tensor without a name has the expression that computes it. */
export function nameOf(pass, tensor) {
  const { producers, names, owners } = contents(pass);
  const headOf = (i) => names.get(i)?.head ?? headIn(producers.get(i)?.path ?? "");
  if (names.has(tensor)) {
    return names.get(tensor);
  }
  const owner = owners.has(tensor) ? [...owners.get(tensor)].pop() : undefined;
  return owner !== undefined ? { name: label(pass, owner), head: headOf(owner), isGradient: true }
    : { name: label(pass, tensor), head: headOf(tensor), isGradient: false };
}

// ---- views: the element of input 0 that a cell shows ----

/** Its dim, start and end without negative numbers. */
function sliceOf({ dim: given, start, end }, shape) {
  const dim = wrap(given, shape.length), size = shape[dim];
  const [first, last] = [start, end].map((i) => Math.min(size, Math.max(0, wrap(i, size))));
  return { dim, start: first, end: last };
}

const views = {
  transpose: ({ at, args, x }) => {
    const [a, b] = [args.dim0, args.dim1].map((d) => wrap(d, at.length));
    return indexOf(replaced(replaced(at, a, at[b]), b, at[a]), x.shape);
  },
  reshape: ({ index }) => index,
  squeeze: ({ index }) => index,
  unsqueeze: ({ index }) => index,
  expand: ({ at, x }) => indexOf(at, x.shape),
  slice: ({ at, args, x }) => {
    const { dim, start } = sliceOf(args, x.shape);
    return indexOf(replaced(at, dim, start + at[dim] * args.step), x.shape);
  },
};

/** What an explainer is given: the entry's arguments, the tensors x, y, z of its inputs, and the cell. */
function cellOf(pass, entry, index) {
  const result = pass.tensors[entry.result];
  const [x, y, z] = entry.inputs.map((i) => pass.tensors[i]);
  const args = contents(pass).args.get(entry), at = coordinates(index, result.shape);
  return { pass, entry, args, result, index, at, x, y, z, cell: (input, i) => reference(pass, entry.inputs[input], i) };
}

/** A number of the pass; of an unnamed view, the number that it shows. */
function reference(pass, tensor, index) {
  const { producers, names } = contents(pass);
  while (!names.has(tensor) && producers.get(tensor)?.op in views) {
    const entry = producers.get(tensor);
    index = views[entry.op](cellOf(pass, entry, index));
    tensor = entry.inputs[0];
  }
  return { kind: "cell", tensor, index, value: Number(pass.tensors[tensor].values[index]) };
}

// ---- operations ----

/** The elements that a reduction over `dims` (none: all) puts together in a cell of its result. */
function reduced({ x, at, args, result }) {
  const dims = (args.dims ?? range(x.shape.length)).map((d) => wrap(d, x.shape.length));
  const keeps = result.shape.length === x.shape.length;
  const kept = range(x.shape.length).filter((d) => !dims.includes(d));
  const start = x.shape.map((_, d) => (dims.includes(d) ? 0 : keeps ? at[d] : at[kept.indexOf(d)]));
  const sizes = dims.map((d) => x.shape[d]);
  return range(countOf(sizes)).map((i) => {
    const inner = coordinates(i, sizes);
    return indexOf(dims.reduce((place, d, j) => replaced(place, d, inner[j]), start), x.shape);
  });
}

/** The scalar of div_scalar or mul_scalar, which "args" shows with 6 digits, from the cell that tells most. */
function scalarOf({ entry, args, pass }) {
  const from = pass.tensors[entry.inputs[0]].values, to = pass.tensors[entry.result].values;
  let best = -1;
  from.forEach((x, i) => {
    if (Number.isFinite(to[i]) && Math.abs(to[i]) > SMALLEST_F32 && Math.abs(x) > Math.abs(from[best] ?? 0)) {
      best = i;
    }
  });
  const found = entry.op === "div_scalar" ? from[best] / to[best] : to[best] / from[best];
  return { ...constant(args.b), value: Math.abs(found / args.b - 1) < 1e-5 ? found : args.b };
}

const withScalar = (c) => [label(c.pass, c.entry.inputs[0]), constant(c.args.b).text];
const broadcast = (c) => [c.x, c.y].map((input, i) => c.cell(i, indexOf(c.at, input.shape)));
const line = (shape, at, dim) => range(shape[dim]).map((i) => indexOf(replaced(at, dim, i), shape)); // along a dim

function explainSoftmax(c) {
  const dim = wrap(c.args.dim, c.at.length);
  const row = line(c.x.shape, c.at, dim).map((i) => c.cell(0, i));
  const blocked = row.every(({ value }) => value === -Infinity);
  if (c.entry.op === "safe_softmax" && blocked) {
    return { formula: constant(0), key: "softmax.blocked", sources: row };
  }
  const large = row.some(({ value }) => value > 80 && value < Infinity);
  const key = dim === c.at.length - 1 ? "softmax.row" : "softmax.column";
  return { formula: softmax(row, c.at[dim]), key, note: large ? "explain.note.max" : null };
}

/** Each returns {formula, sources: cells that the formula does not show, note, and for the sentence: key (without
 * "explain."), if it is not the operation's name, inputs: labels, if not those of the inputs, number}. */
const operations = {
  matmul(c) { // (..., rows, k) @ (..., k, columns); a vector has no rows, or no columns
    const { x, y, at } = c, left = x.shape.length > 1, right = y.shape.length > 1;
    const batch = at.slice(0, at.length - left - right);
    const row = left ? [at[batch.length]] : [], column = right ? at.slice(-1) : [];
    const term = (k) => product(c.cell(0, indexOf([...batch, ...row, k], x.shape)),
      c.cell(1, indexOf(right ? [...batch, k, ...column] : [k], y.shape)));
    return { formula: sum(range(x.shape[x.shape.length - 1]).map(term)) };
  },
  linear(c) {
    const width = c.y.shape[1], row = Math.floor(c.index / c.y.shape[0]), out = c.index % c.y.shape[0];
    const terms = range(width).map((k) => product(c.cell(0, row * width + k), c.cell(1, out * width + k)));
    return c.z === undefined ? { formula: sum(terms) }
      : { formula: sum([...terms, c.cell(2, out)]), key: "linear.bias" };
  },
  add(c) { // and what unnamed sums before it added
    const { producers, names } = contents(c.pass), added = [];
    const collect = (entry, at) => entry.inputs.forEach((tensor) => {
      const before = producers.get(tensor), { shape } = c.pass.tensors[tensor], i = indexOf(at, shape);
      before?.op === "add" && !names.has(tensor) ? collect(before, coordinates(i, shape)) : added.push([tensor, i]);
    });
    collect(c.entry, c.at);
    const formula = sum(added.map(([tensor, i]) => reference(c.pass, tensor, i)));
    return added.length === 2 ? { formula }
      : { formula, key: "add.several", inputs: [added.map(([tensor]) => label(c.pass, tensor)).join(", ")] };
  },
  sub: (c) => ({ formula: difference(...broadcast(c)) }),
  mul: (c) => ({ formula: product(...broadcast(c)) }),
  div: (c) => ({ formula: quotient(...broadcast(c)) }),
  add_scalar: (c) => ({ formula: sum([c.cell(0, c.index), constant(c.args.b)]), key: "add", inputs: withScalar(c) }),
  sub_scalar: (c) =>
    ({ formula: difference(c.cell(0, c.index), constant(c.args.b)), key: "sub", inputs: withScalar(c) }),
  mul_scalar: (c) => ({ formula: product(c.cell(0, c.index), scalarOf(c)) }),
  div_scalar: (c) => ({ formula: quotient(c.cell(0, c.index), scalarOf(c)) }),
  pow_scalar: (c) => ({ formula: power(c.cell(0, c.index), c.args.b) }),
  square: (c) => ({ formula: power(c.cell(0, c.index), 2) }),
  neg: (c) => ({ formula: negative(c.cell(0, c.index)) }),
  sum: (c) => ({ formula: sum(reduced(c).map((i) => c.cell(0, i))) }),
  mean(c) {
    const terms = reduced(c).map((i) => c.cell(0, i));
    return { formula: quotient(sum(terms), constant(terms.length)) };
  },
  softmax: explainSoftmax,
  safe_softmax: explainSoftmax,
  masked_fill(c) {
    const [x, mask] = broadcast(c);
    return mask.value !== 0 ? { formula: constant(c.args.value), key: "masked_fill.blocked", sources: [x, mask] }
      : { formula: x, key: "masked_fill.open", sources: [mask] };
  },
  tril(c) {
    const [row, column] = c.at.slice(-2), x = c.cell(0, c.index);
    return column - row <= (c.args.diagonal ?? 0) ? { formula: x } : { formula: constant(0), sources: [x] };
  },
  logical_not: (c) => ({ formula: difference(constant(1), c.cell(0, c.index)) }),
  cat(c) {
    const dim = wrap(c.args.dim, c.at.length);
    let input = 0, at = c.at[dim];
    for (let size; (size = c.pass.tensors[c.entry.inputs[input]].shape[dim]) <= at; input++) {
      at -= size;
    }
    return { formula: c.cell(input, indexOf(replaced(c.at, dim, at), c.pass.tensors[c.entry.inputs[input]].shape)) };
  },
  slice_backward(c) {
    const { dim, start, end } = sliceOf(c.args, c.result.shape);
    const at = (c.at[dim] - start) / c.args.step, inside = at >= 0 && c.at[dim] < end && Number.isInteger(at);
    return inside ? { formula: c.cell(0, indexOf(replaced(c.at, dim, at), c.x.shape)), key: "slice_backward.inside" }
      : { formula: constant(0), key: "slice_backward.outside" };
  },
  embedding(c) {
    const width = c.y.shape[1], token = c.cell(0, Math.floor(c.index / width));
    return { formula: c.cell(1, token.value * width + (c.index % width)), sources: [token], number: token.value };
  },
  embedding_dense_backward(c) {
    const width = c.result.shape[1], row = Math.floor(c.index / width);
    const places = range(countOf(c.y.shape)).filter((i) => Number(c.y.values[i]) === row);
    return places.length === 0 ? { formula: constant(0), key: "embedding_dense_backward.absent", number: row }
      : { formula: sum(places.map((i) => c.cell(0, i * width + (c.index % width)))), number: row,
        sources: places.map((i) => c.cell(1, i)) };
  },
  cross_entropy(c) { // of class ids, rows of logits, and their mean; the third input helps backward
    const [rows, width] = c.x.shape;
    const losses = range(rows).map((r) => {
      const logits = range(width).map((i) => c.cell(0, r * width + i));
      return difference(logSumExp(logits), logits[Number(c.y.values[r])]);
    });
    return { formula: quotient(sum(losses), constant(rows)), sources: range(rows).map((r) => c.cell(1, r)) };
  },
  nll_weights(c) {
    const [rows, width] = c.x.shape, target = c.cell(1, Math.floor(c.index / width));
    return target.value === c.index % width ? { formula: quotient(constant(-1), constant(rows)), sources: [target] }
      : { formula: constant(0), key: "nll_weights.other", sources: [target] };
  },
};

/** Anything else: its name, and the cells of its inputs at the same place. */
function unknown(c) {
  const same = (tensor) => String(c.pass.tensors[tensor].shape) === String(c.result.shape);
  const sources = c.entry.inputs.flatMap((tensor, i) => (same(tensor) ? [c.cell(i, c.index)] : []));
  return { formula: null, key: "unknown", sources, inputs: [c.entry.inputs.map((i) => label(c.pass, i)).join(", ")] };
}

// ---- derivatives: the forward operation that an entry of backward belongs to ----

/** The forward entries whose derivative needs the backward entry: it lies between the gradient of their result and
 * the gradient of one of their inputs. More than one: it adds up what several uses of a tensor contribute. */
function rulesOf(pass, entry) {
  const { producers, consumers, owners, reached } = contents(pass);
  /** The gradients of forward tensors that next() leads to, step by step, from this one. */
  const reach = (memo, tensor, next) => {
    if (owners.has(tensor)) {
      return [tensor];
    }
    if (!memo.has(tensor)) {
      memo.set(tensor, [...new Set(next(tensor).flatMap((other) => reach(memo, other, next)))]);
    }
    return memo.get(tensor);
  };
  const before = (tensor) => (producers.get(tensor)?.backward ? producers.get(tensor).inputs : []);
  const after = (tensor) => (consumers.get(tensor) ?? []).filter((e) => e.backward).map((e) => e.result);
  const from = new Set(entry.inputs.flatMap((i) => reach(reached[0], i, before)));
  const to = new Set(reach(reached[1], entry.result, after).flatMap((gradient) => [...owners.get(gradient)]));
  return pass.entries.filter((e) => !e.backward && from.has(e.gradient) && e.inputs.some((i) => to.has(i)));
}

/** {key, args} of the sentence on the rule that a backward entry is part of; null: there is none. */
function ruleOf(pass, entry) {
  const [forward, another] = rulesOf(pass, entry);
  if (forward === undefined) {
    return null;
  }
  if (another !== undefined && entry.op === "add") {
    return { key: "explain.rule.uses", args: [] };
  }
  const key = `explain.rule.${forward.op.replace("safe_", "")}`;
  const [y, a, b = ""] = [forward.result, ...forward.inputs].map((i) => label(pass, i));
  return { key: key in explaining ? key : "explain.rule",
    args: [y, a, b, transposed(a), transposed(b), `${bracket(y)}.grad`].map(bracket) };
}

// ---- explanations ----

const exact = (value) => String(Number(value.toPrecision(9))).replace("-", "−");
const place = ({ tensor, index }) => ({ tensor, index });

/** Of a gradient that no operation computed: 1 for the loss, where backward starts, and 0 for what it does not use. */
function given(value, key) {
  return { op: "gradient", key, args: [], rule: null, parts: [constant(value).text], value, sources: [],
    comesOut: true, note: null, noteArgs: [], known: true, recompute: () => value,
    recomputeFrom: () => value, allowed: () => 0, overflows: () => false };
}

/** The operation to explain for a cell, as cellOf. A view of a result without a name is explained by the operation
 * that computed it; a view of anything else by itself, or by the last that is more than a reshape. */
function find(pass, tensor, index) {
  const { producers, names } = contents(pass), seen = [];
  let c = cellOf(pass, producers.get(tensor), index);
  while (c.entry.op in views) {
    seen.push(c);
    const source = c.entry.inputs[0], entry = producers.get(source);
    if (names.has(source) || entry === undefined) {
      const shown = seen.find((view) => view.entry.op !== "reshape") ?? seen[0];
      const formula = reference(pass, source, views[c.entry.op](c));
      return { ...shown, found: { formula, inputs: [label(pass, source)] } };
    }
    c = cellOf(pass, entry, views[c.entry.op](c));
  }
  const swapped = seen.filter((view) => view.entry.op === "transpose").length % 2 === 1;
  return { ...c, found: (operations[c.entry.op] ?? unknown)(c), swapped };
}

/** The remark on a number with this explanation and these cells: [key, ...values], or null. other: the value without
 * create_graph, if it is known to differ somewhere in the tensor; of f64, it differs in no digit that is shown. */
function remark(value, other, { found, swapped }, cells) {
  if (other !== undefined && exact(other) !== exact(value)) {
    return ["explain.note.fused", exact(value), exact(other)];
  }
  if (!Number.isFinite(value) && cells.length > 0 && cells.every((cell) => Number.isFinite(cell.value))) {
    return ["explain.note.overflow"];
  }
  return found.note ? [found.note] : swapped ? ["explain.note.transposed"] : null;
}

/**
 * Explains a number: {op, key, args: the sentence that says what the operation does; rule: {key, args} of the
 * derivative that it is part of, or null; parts: texts and {tensor, index, value, text}, the formula in reading order;
 * comesOut: whether the texts of the whole formula give the text of the value; value: the result; sources:
 * [{tensor, index}], all cells it was made of; note, noteArgs: a remark, or null; known: whether there is a formula;
 * recompute(): its value in double precision; recomputeFrom(read): from other numbers for its cells; allowed(): how far
 * rounding may take the engine's value from it}. Null for an input or a weight. most: sums of more terms are shortened.
 */
export function explain(pass, tensor, index, { most = MOST_TERMS } = {}) {
  const { producers, owners, fused } = contents(pass);
  const value = Number(pass.tensors[tensor].values[index]);
  if (!producers.has(tensor)) {
    const of = owners.get(tensor);
    return of === undefined ? null : given(value, of.has(pass.loss) ? "explain.one" : "explain.unused");
  }
  const c = find(pass, tensor, index), { entry, args, found } = c, { formula, sources = [] } = found;
  const known = formula !== null, cells = known ? cellsIn(formula) : [];
  const computed = known ? evaluate(formula) : { value, size: 0 };
  const all = new Map([...cells, ...sources].map((cell) => [`${cell.tensor} ${cell.index}`, place(cell)]));
  const inputs = found.inputs ?? entry.inputs.map((i) => label(pass, i));
  const number = found.number ?? (args.b ?? ("value" in args ? constant(args.value).text : ""));
  const other = pass.tensors[fused.get(tensor)]?.values[index];
  const [note, ...noteArgs] = remark(value, other, c, cells) ?? [null];
  let written = null; // found when it is asked for, as check() does not need it
  const inDigits = () => {
    written ??= known ? shown(formula, value) : { formula: null, comesOut: true };
    return written;
  };
  return {
    op: entry.op,
    key: `explain.${found.key ?? entry.op}`,
    args: [...inputs, "", "", ""].slice(0, 3).concat(number),
    rule: entry.backward ? ruleOf(pass, entry) : null,
    get parts() {
      return known ? write(inDigits().formula, most) : [`${entry.op}(${inputs.join(", ")})`];
    },
    get comesOut() {
      return inDigits().comesOut;
    },
    value,
    sources: [...all.values()],
    note,
    noteArgs,
    known,
    recompute: () => computed.value,
    recomputeFrom: (read) => (known ? evaluate(withCells(formula, read)).value : NaN),
    allowed: () => (cells.length <= 1 && formula?.of === undefined ? 0 // copied
      : Math.min(1e-5, EPSILON_F32 * (cells.length + 2)) * computed.size + SMALLEST_F32),
    overflows: () => computed.size > LARGEST_F32,
  };
}

/** Recomputes every cell of a pass that has an explanation: {cells, unknown: how many of these have no formula,
 * failures: [{tensor, index, op, value, recomputed}]}. */
export function check(pass) {
  const result = { cells: 0, unknown: 0, failures: [] };
  pass.tensors.forEach(({ values }, tensor) => values.forEach((_, index) => {
    const found = explain(pass, tensor, index);
    if (found === null) {
      return;
    }
    result.cells++;
    result.unknown += !found.known;
    const recomputed = found.recompute(), { value } = found;
    const overflows = !Number.isFinite(value) && found.overflows();
    if (!(Object.is(recomputed, value) || overflows || Math.abs(recomputed - value) <= found.allowed())) {
      result.failures.push({ tensor, index, op: found.op, value, recomputed });
    }
  }));
  return result;
}
