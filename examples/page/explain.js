// Explains any number of a recorded pass (pass.h) from the operation that computed it: the formula
// with its numbers, and the cells that these come from. It knows operations, but not attention.

import { explaining } from "./strings/explain.js";
import { t } from "./strings.js";

const MOST_TERMS = 16, SHOWN_TERMS = 8; // longer sums are shortened
const LARGEST_F32 = 3.4028235e38, SMALLEST_F32 = 1.1754944e-38, EPSILON_F32 = 2 ** -24;

// ---- cells ----

const product = (sizes) => sizes.reduce((a, b) => a * b, 1);

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
  const read = (value) => (Number.isNaN(Number(value)) ? { inf: Infinity, "-inf": -Infinity }[value] ?? value : Number(value));
  return Object.fromEntries(Array.from(text.matchAll(/(\w+)=(\([^)]*\)|[^,]+)/g), ([, name, value]) =>
    [name, value.startsWith("(") ? value.slice(1, -1).split(",").filter((x) => x.trim() !== "").map(Number) : read(value)]));
}

// ---- what a pass contains, found once ----

const known = new WeakMap();

function contents(pass) {
  if (!known.has(pass)) {
    const producers = new Map(), consumers = new Map(), names = new Map(), owners = new Map(), fused = new Map();
    for (const entry of pass.entries) {
      entry.parsed ??= parseArguments(entry.args);
      producers.set(entry.result, entry);
      entry.inputs.forEach((i) => consumers.set(i, [...(consumers.get(i) ?? []), entry]));
    }
    const own = (gradient, tensor) => gradient >= 0 && owners.set(gradient, (owners.get(gradient) ?? new Set()).add(tensor));
    const gradientNames = new Map();
    for (const { name, head = 0, tensor, gradient, fused: other } of [...pass.leaves, ...pass.marks]) {
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
    known.set(pass, { producers, consumers, names, owners, fused, labels: new Map(), reached: [new Map(), new Map()] });
  }
  return known.get(pass);
}

// ---- names ----

const signs = { matmul: "@", mul: "*", add: "+", sub: "-", div: "/" };
const bracket = (text) => (/[ ]/.test(text.replace(/\([^()]*\)|\[[^\]]*\]/g, "")) ? `(${text})` : text);

/** "k" -> "k.T" and back. */
const transposed = (text) => (text.endsWith(".T") ? text.slice(0, -2) : `${bracket(text)}.T`);

/** A tensor as an expression of Python: its name, or the operation that made it from named ones. */
function label(pass, tensor, room = 60) {
  const { labels } = contents(pass), key = `${tensor} ${room}`;
  if (!labels.has(key)) {
    labels.set(key, findLabel(pass, tensor, room));
  }
  return labels.get(key);
}

function findLabel(pass, tensor, room) {
  const { producers, consumers, names, owners } = contents(pass);
  const named = names.get(tensor);
  if (named !== undefined) {
    const short = named.name.replace(/^.*\.(?=[^.]+\.\w+$)/, ""); // multi_head.heads.0.W_q.weight -> W_q.weight
    return short + (named.isGradient ? ".grad" : "");
  }
  if (owners.has(tensor)) {
    return `${bracket(label(pass, [...owners.get(tensor)].pop(), room - 5))}.grad`;
  }
  const entry = producers.get(tensor), { shape, dtype, values } = pass.tensors[tensor];
  if (entry === undefined) {
    const user = (at) => consumers.get(at)?.map((e) => (e.op in views ? user(e.result) : e)).flat()[0];
    const path = user(tensor)?.path.split(".").pop();
    return shape.length === 0 ? String(Number(values[0].toPrecision(6))) : dtype === "bool" ? "mask"
      : dtype === "i64" ? "tokens" : path || "input";
  }
  const { op, parsed } = entry;
  const inputs = entry.inputs.map((i) => label(pass, i, room - 10));
  const [a, b] = inputs.map(bracket);
  const text = op in signs ? `${a} ${signs[op]} ${b}`
    : op === "square" ? `${a} ** 2`
    : op === "sum" || op === "mean" ? `${a}.${op}(${parsed.dims ?? ""})`
    : op === "transpose" ? transposed(inputs[0])
    : op === "masked_fill" ? `${a}.masked_fill(${inputs[1]}, ${parsed.value})`
    : op === "slice" ? `${a}[${":, ".repeat(wrap(parsed.dim, shape.length))}${parsed.start}:${parsed.end}]`
    : op === "reshape" || op === "expand" ? inputs[0]
    : op === "div_scalar" ? `${a} / ${parsed.b}`
    : op === "mul_scalar" ? `${a} * ${parsed.b}`
    : `${op}(${[...inputs, ...("dim" in parsed ? [parsed.dim] : [])].join(", ")})`;
  return text.length > room ? `${op}(…)` : text;
}

/** {name, head, isGradient} of a tensor; a tensor without a name has the expression that computes it. */
export function nameOf(pass, tensor) {
  const { producers, names, owners } = contents(pass);
  const headOf = (i) => names.get(i)?.head ?? Number(/heads\.(\d+)/.exec(producers.get(i)?.path ?? "")?.[1] ?? 0);
  if (names.has(tensor)) {
    return names.get(tensor);
  }
  const owner = owners.has(tensor) ? [...owners.get(tensor)].pop() : undefined;
  return owner !== undefined ? { name: label(pass, owner), head: headOf(owner), isGradient: true }
    : { name: label(pass, tensor), head: headOf(tensor), isGradient: false };
}

// ---- views: the element of input 0 that a cell shows ----

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
    const dim = wrap(args.dim, at.length);
    const start = Math.max(0, wrap(args.start, x.shape[dim]));
    return indexOf(replaced(at, dim, start + at[dim] * args.step), x.shape);
  },
};

/** What an explainer is given: the entry's arguments, the tensors x, y, z of its inputs, and the cell. */
function cellOf(pass, entry, index) {
  const result = pass.tensors[entry.result];
  const [x, y, z] = entry.inputs.map((i) => pass.tensors[i]);
  return { pass, entry, args: entry.parsed, result, index, at: coordinates(index, result.shape), x, y, z,
    cell: (input, i) => reference(pass, entry.inputs[input], i) };
}

/** A number of the pass; of an unnamed view, the number that it shows. */
function reference(pass, tensor, index) {
  const { producers, names } = contents(pass);
  const value = Number(pass.tensors[tensor].values[index]);
  for (let e = producers.get(tensor); !names.has(tensor) && e !== undefined && e.op in views; e = producers.get(tensor)) {
    index = views[e.op](cellOf(pass, e, index));
    tensor = e.inputs[0];
  }
  return { kind: "cell", tensor, index, value };
}

// ---- formulas ----

const constant = (value, text = String(value).replace("-", "−").replace("Infinity", "∞")) => ({ kind: "constant", value, text });
const sum = (of) => (of.length === 1 ? of[0] : { kind: "sum", of });
const times = (...of) => ({ kind: "product", of });
const over = (...of) => ({ kind: "quotient", of });
const minus = (...of) => ({ kind: "minus", of });
const power = (x, exponent) => ({ kind: "power", of: [x], exponent });
/** exp(of[which]) / sum of exp(of), and log of the sum of exp(of). */
const softmax = (of, which) => ({ kind: "softmax", of, which });
const logSumExp = (of) => ({ kind: "logSumExp", of });

/** {value, size}: the size is the same with all terms made positive, the scale of rounding errors. */
function evaluate({ kind, of, value, which, exponent }) {
  if (of === undefined) {
    return { value, size: Math.abs(value) };
  }
  const parts = of.map(evaluate), [a, b] = parts, values = parts.map((p) => p.value);
  const fold = (add) => ({ value: values.reduce(add), size: parts.map((p) => p.size).reduce((x, y) => x + y, 0) });
  switch (kind) {
    case "sum":
      return fold((x, y) => x + y);
    case "minus":
      return of.length === 1 ? { value: -a.value, size: a.size } : fold((x, y) => x - y);
    case "product":
      return { value: values.reduce((x, y) => x * y), size: parts.reduce((x, p) => x * p.size, 1) };
    case "quotient":
      return { value: a.value / b.value, size: a.size / Math.abs(b.value) };
    case "power":
      return { value: a.value ** exponent, size: Math.abs(a.value ** exponent) };
    default: {
      const most = Math.max(...values), total = values.reduce((s, x) => s + Math.exp(x - most), 0);
      if (kind === "logSumExp") {
        return { value: most + Math.log(total), size: Math.abs(most) + Math.abs(Math.log(total)) };
      }
      const share = Math.exp(values[which] - most) / total;
      return { value: share, size: share * (2 + Math.abs(values[which] - most)) };
    }
  }
}

const cellsIn = (node) => (node.kind === "cell" ? [node] : (node.of ?? []).flatMap(cellsIn));

/** The formula as texts and cells in reading order; sums of more than `most` terms are shortened. */
function write(formula, most) {
  const parts = [];
  const text = (s) => (typeof parts[parts.length - 1] === "string" ? (parts[parts.length - 1] += s) : parts.push(s));
  const list = (items, sign, visit, limit) => {
    const shown = items.length > limit ? items.slice(0, Math.max(1, Math.floor(limit / 2))) : items;
    shown.forEach((item, i) => {
      i > 0 && text(item.kind === "minus" && item.of.length === 1 && sign === " + " ? " − " : sign);
      visit(item, i);
    });
    shown.length < items.length && text(`${sign}${t("explain.more", items.length - shown.length)}`);
  };
  // level: 0 free, 1 a term, 2 a factor; lower operations get brackets
  const visit = (node, level, limit) => {
    const bracketed = (needs, inner) => {
      needs && text("(");
      inner();
      needs && text(")");
    };
    const { kind, of } = node;
    const exponentials = (items) => list(items, " + ", (x) => (text("exp("), visit(x, 0, limit), text(")")), limit);
    if (kind === "cell" || kind === "constant") {
      const negative = (node.value < 0 || Object.is(node.value, -0)) && parts.length > 0 && !/[(]$/.test(parts[parts.length - 1]);
      bracketed(negative, () => (kind === "cell" ? parts.push({ tensor: node.tensor, index: node.index, value: node.value }) : text(node.text)));
    } else if (kind === "sum") {
      const inner = Math.max(2, Math.floor(limit / Math.max(1, Math.min(of.length, limit))));
      const nested = of.some((x) => cellsIn(x).length > limit);
      bracketed(level > 0, () => list(of, " + ", (x) => visit(x.kind === "minus" && x.of.length === 1 && x !== of[0] ? x.of[0] : x, 1,
        nested ? inner : limit), limit));
    } else if (kind === "minus") {
      bracketed(level > 0, () => (of.length === 1 ? (text("−"), visit(of[0], 2, limit)) : list(of, " − ", (x, i) => visit(x, i > 0 ? 1 : 0, limit), limit)));
    } else if (kind === "product") {
      bracketed(level > 1, () => list(of, " × ", (x) => visit(x, 2, limit), Infinity));
    } else if (kind === "quotient") {
      bracketed(level > 1, () => list(of, " / ", (x) => visit(x, 2, limit), Infinity));
    } else if (kind === "power") {
      visit(of[0], 2, limit);
      text({ 2: "²", 3: "³", 0.5: "^0.5" }[node.exponent] ?? `^(${node.exponent})`);
    } else if (kind === "softmax") {
      bracketed(level > 1, () => {
        exponentials([of[node.which]]);
        text(" / (");
        exponentials(of);
        text(")");
      });
    } else {
      text("log(");
      exponentials(of);
      text(")");
    }
  };
  visit(formula, 0, most);
  return parts;
}

// ---- operations ----

/** The elements that a reduction over `dims` (none: all) puts together in a cell of its result. */
function reduced({ x, at, args, result }) {
  const dims = (args.dims ?? range(x.shape.length)).map((d) => wrap(d, x.shape.length));
  const keeps = result.shape.length === x.shape.length;
  const kept = range(x.shape.length).filter((d) => !dims.includes(d));
  const start = x.shape.map((_, d) => (dims.includes(d) ? 0 : keeps ? at[d] : at[kept.indexOf(d)]));
  const sizes = dims.map((d) => x.shape[d]);
  return range(product(sizes)).map((i) => {
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
  return constant(Math.abs(found / args.b - 1) < 1e-5 ? found : args.b, String(args.b));
}

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
  return { formula: softmax(row, c.at[dim]), key: "softmax", note: large ? "explain.note.max" : null };
}

/** Each returns {formula, key: of the sentence, without "explain.", if it is not the operation's, sources: cells
 * that the formula does not show, note, inputs: labels for the sentence, if not those of the inputs, number: the sentence's}. */
const operations = {
  matmul(c) {
    const { x, y, at } = c;
    const tall = x.shape.length > 1, wide = y.shape.length > 1;
    const batch = at.slice(0, at.length - tall - wide);
    const row = tall ? [at[batch.length]] : [], column = wide ? [at[at.length - 1]] : [];
    const outer = (shape, inner) => (shape.length > 1 ? [...batch.slice(Math.max(0, batch.length - shape.length + 2)), ...inner] : inner);
    return { formula: sum(range(x.shape[x.shape.length - 1]).map((k) => times(
      c.cell(0, indexOf(outer(x.shape, [...row, k]), x.shape)), c.cell(1, indexOf(outer(y.shape, [k, ...column]), y.shape))))) };
  },
  linear(c) {
    const width = c.y.shape[1], row = Math.floor(c.index / c.y.shape[0]), out = c.index % c.y.shape[0];
    const terms = range(width).map((k) => times(c.cell(0, row * width + k), c.cell(1, out * width + k)));
    return c.z === undefined ? { formula: sum(terms) } : { formula: sum([...terms, c.cell(2, out)]), key: "linear.bias" };
  },
  add(c) { // and what unnamed sums before it added
    const { producers, names } = contents(c.pass), added = [];
    const collect = (entry, at) => entry.inputs.forEach((tensor) => {
      const before = producers.get(tensor), { shape } = c.pass.tensors[tensor], i = indexOf(at, shape);
      before?.op === "add" && !names.has(tensor) ? collect(before, coordinates(i, shape)) : added.push([tensor, i]);
    });
    collect(c.entry, c.at);
    return { formula: sum(added.map(([tensor, i]) => reference(c.pass, tensor, i))),
      ...(added.length > 2 && { key: "add.several", inputs: [added.map(([tensor]) => label(c.pass, tensor)).join(", ")] }) };
  },
  sub: (c) => ({ formula: minus(...broadcast(c)) }),
  mul: (c) => ({ formula: times(...broadcast(c)) }),
  div: (c) => ({ formula: over(...broadcast(c)) }),
  add_scalar: (c) => ({ formula: sum([c.cell(0, c.index), constant(c.args.b)]), key: "add" }),
  sub_scalar: (c) => ({ formula: minus(c.cell(0, c.index), constant(c.args.b)), key: "sub" }),
  mul_scalar: (c) => ({ formula: times(c.cell(0, c.index), scalarOf(c)), key: "mul_scalar" }),
  div_scalar: (c) => ({ formula: over(c.cell(0, c.index), scalarOf(c)), key: "div_scalar" }),
  pow_scalar: (c) => ({ formula: power(c.cell(0, c.index), c.args.b) }),
  square: (c) => ({ formula: power(c.cell(0, c.index), 2) }),
  neg: (c) => ({ formula: minus(c.cell(0, c.index)) }),
  sum: (c) => ({ formula: sum(reduced(c).map((i) => c.cell(0, i))) }),
  mean(c) {
    const terms = reduced(c).map((i) => c.cell(0, i));
    return { formula: over(sum(terms), constant(terms.length)) };
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
  logical_not: (c) => ({ formula: minus(constant(1), c.cell(0, c.index)) }),
  cat(c) {
    const dim = wrap(c.args.dim, c.at.length);
    let input = 0, at = c.at[dim];
    for (let size; (size = c.pass.tensors[c.entry.inputs[input]].shape[dim]) <= at; input++) {
      at -= size;
    }
    return { formula: c.cell(input, indexOf(replaced(c.at, dim, at), c.pass.tensors[c.entry.inputs[input]].shape)) };
  },
  slice_backward(c) {
    const { dim: d, start, end, step } = c.args, dim = wrap(d, c.at.length);
    const at = (c.at[dim] - start) / step, inside = at >= 0 && c.at[dim] < end && Number.isInteger(at);
    return inside ? { formula: c.cell(0, indexOf(replaced(c.at, dim, at), c.x.shape)), key: "slice_backward.inside" }
      : { formula: constant(0), key: "slice_backward.outside" };
  },
  embedding(c) {
    const width = c.y.shape[1], token = c.cell(0, Math.floor(c.index / width));
    return { formula: c.cell(1, token.value * width + (c.index % width)), sources: [token], number: token.value };
  },
  embedding_dense_backward(c) {
    const width = c.result.shape[1], row = Math.floor(c.index / width);
    const places = range(product(c.y.shape)).filter((i) => Number(c.y.values[i]) === row);
    return { formula: places.length === 0 ? constant(0) : sum(places.map((i) => c.cell(0, i * width + (c.index % width)))),
      key: places.length === 0 ? "embedding_dense_backward.absent" : null, sources: places.map((i) => c.cell(1, i)), number: row };
  },
  cross_entropy(c) { // of class ids, rows of logits, and their mean; the third input helps backward
    const [rows, width] = c.x.shape;
    const losses = range(rows).map((r) => {
      const logits = range(width).map((i) => c.cell(0, r * width + i));
      return minus(logSumExp(logits), logits[Number(c.y.values[r])]);
    });
    return { formula: over(sum(losses), constant(rows)), sources: range(rows).map((r) => c.cell(1, r)) };
  },
  nll_weights(c) {
    const [rows, width] = c.x.shape, target = c.cell(1, Math.floor(c.index / width));
    return target.value === c.index % width ? { formula: over(constant(-1), constant(rows)), sources: [target] }
      : { formula: constant(0), key: "nll_weights.other", sources: [target] };
  },
};

/** Anything else: its name, and the cells of its inputs at the same place. */
function unknown(c) {
  const same = (tensor) => String(c.pass.tensors[tensor].shape) === String(c.result.shape);
  return { formula: null, key: "unknown", sources: c.entry.inputs.flatMap((tensor, i) => (same(tensor) ? [c.cell(i, c.index)] : [])) };
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
      return { ...shown, found: { formula: reference(pass, source, views[c.entry.op](c)), inputs: [label(pass, source)] } };
    }
    c = cellOf(pass, entry, views[c.entry.op](c));
  }
  const swapped = seen.filter((view) => view.entry.op === "transpose").length % 2 === 1;
  return { ...c, found: (operations[c.entry.op] ?? unknown)(c), swapped };
}

/** What a number with this explanation should be remarked on: [key, ...values], or null. */
function remark(pass, tensor, value, other, { found, swapped }, cells) {
  if (other !== undefined && !Object.is(Number(other), value)) {
    return ["explain.note.fused", exact(value), exact(other)];
  }
  if (!Number.isFinite(value) && cells.length > 0 && cells.every((cell) => Number.isFinite(cell.value))) {
    return ["explain.note.overflow"];
  }
  return found.note ? [found.note] : swapped ? ["explain.note.transposed"] : null;
}

/**
 * Explains a number: {op, key, args: the sentence that says what the operation does; rule: {key, args} of the
 * derivative that it is part of, or null; parts: texts and {tensor, index, value}, the formula in reading order;
 * value: the result; sources: [{tensor, index}], all cells it was made of; note, noteArgs: a remark, or null;
 * known: whether there is a formula; recompute(): its value in double precision; allowed(): how far rounding may take
 * the engine's value from it}. Null for an input or a weight. most: sums of more terms are shortened.
 */
export function explain(pass, tensor, index, { most = MOST_TERMS } = {}) {
  const { producers, owners, fused } = contents(pass);
  const value = Number(pass.tensors[tensor].values[index]);
  if (!producers.has(tensor)) { // an input, a weight, or the gradient of the loss, where backward starts
    return !owners.has(tensor) ? null : { op: "gradient", key: "explain.one", args: [], rule: null, parts: [String(value)],
      value, sources: [], note: null, noteArgs: [], known: true, recompute: () => value, allowed: () => 0,
      overflows: () => false };
  }
  const c = find(pass, tensor, index), { entry, args, found } = c, { formula, sources = [] } = found;
  const known = formula !== null, cells = known ? cellsIn(formula) : [];
  const computed = known ? evaluate(formula) : { value, size: 0 };
  const all = new Map([...cells, ...sources].map((cell) => [`${cell.tensor} ${cell.index}`, place(cell)]));
  const inputs = found.inputs ?? entry.inputs.map((i) => label(pass, i));
  const number = found.number ?? (args.b ?? ("value" in args ? constant(args.value).text : ""));
  const [note, ...noteArgs] = remark(pass, tensor, value, pass.tensors[fused.get(tensor)]?.values[index], c, cells) ?? [null];
  return {
    op: entry.op,
    key: `explain.${found.key ?? entry.op}`,
    args: [...inputs, "", "", ""].slice(0, 3).concat(number),
    rule: entry.backward ? ruleOf(pass, entry) : null,
    parts: known ? write(formula, most) : [`${entry.op}(${inputs.join(", ")})`],
    value,
    sources: [...all.values()],
    note,
    noteArgs,
    known,
    recompute: () => computed.value,
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
