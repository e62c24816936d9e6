// The matrices of the shown pass by the names of formulas (lines.js), and their numbers: what each is in words, and its
// name in the URL.

import { t } from "../../strings.js";
import { run } from "../../run.js";
import { readName } from "../../lines.js";
import { sizes, cellText } from "../../matrix.js";
import { derived } from "./explain.js";

const KINDS = { attention_percents: "percent", mask: "mask", targets: "id", "logits.shares": "percent" };

/** A name as it is written: "token_encodings.grad from q". */
export function written(name) {
  const { base, head, gradient, part, step } = readName(name);
  const own = gradient ? `${base}.grad` : base;
  return step === "sums" ? t("class.sums") : step === "shares" ? `softmax(${base})` : step === "used" ? `${base}[: len(targets)]`
    : part !== undefined ? t("class.part", own, part) : head === null ? own : t("class.of_head", own, head + 1);
}

/** Sets view.matrices, of all names in the formulas of the lines: Map(name -> {name, shape, values, kind, rows, columns, corner:
 * names, text(value)}). Those that the engine has come first, as the others are computed from them. */
export function findMatrices(view) {
  const { shown, steps } = view;
  const all = new Set(steps.flatMap((line) => [line.formula, ...line.back].flat()).filter((part) => !part.startsWith("'")));
  const shapeOf = ({ base, step }) => (step === "sums" ? [shown.tokens.length, 1] : shown.find(step === "shares" ? "logits.used" : base).shape);
  view.matrices = new Map();
  for (const [name, found] of [...all].map((name) => [name, shown.find(name)]).sort((a, b) => Number(a[1] === null) - Number(b[1] === null))) {
    const read = readName(name), kind = read.gradient || read.step === "sums" ? "gradient" : KINDS[name] ?? KINDS[read.base] ?? "value";
    const { shape, values } = found ?? { shape: shapeOf(read), values: [] };
    view.matrices.set(name, { name, shape, values, kind, ...shown.names(name, shape), text: read.base === "targets" ? (id) => run.language.words[id] : undefined });
    if (found === null) {
      const count = shape.reduce((a, b) => a * b, 1);
      view.matrices.get(name).values = Float64Array.from({ length: count }, (_, i) => derived(view, name, i));
    }
  }
}

/** The elements as they are written with these decimals. */
export const textsOf = ({ kind, values, text }, digits, elements) =>
  elements.map((i) => text?.(values[i]) ?? cellText(kind, values[i], digits));

/** {title: what a number is in words, place: "row, column" by name}. */
export function wordsFor(view, name, index) {
  const { shape, rows, columns } = view.matrices.get(name), width = sizes(shape)[1], { base, gradient, part, step } = readName(name);
  const r = Math.floor(index / width), c = index % width;
  const key = step !== undefined && step !== "used" ? step : /^W_/.test(base) ? "weight" : base;
  const title = t(`cell.${key}`, rows[r], columns[c]), ofGradient = gradient ? t("cell.gradient", title) : title;
  return { title: part === undefined ? ofGradient : t("cell.part", ofGradient, part), place: [rows[r], columns[c]].filter((x) => x !== "").join(", ") };
}

/** The name of a number in the URL. */
export function nameOfCell(view, name, index) {
  const width = sizes(view.matrices.get(name).shape)[1];
  return `${name.includes(".grad") ? `grad.${name.replace(".grad", "")}` : name}:${Math.floor(index / width)}:${index % width}`;
}

/** {name, index} of a name in the URL, or null. */
export function cellNamed(view, text) {
  const [, gradient, short, r, c] = /^(grad\.)?([^:]+):(\d+):(\d+)$/.exec(text) ?? [];
  const name = gradient === undefined ? short : short.replace(/(@[a-z]\w*)?$/, ".grad$1"), found = view.matrices.get(name);
  const index = found === undefined ? NaN : Number(r) * sizes(found.shape)[1] + Number(c);
  return index < found?.values.length ? { name, index } : null;
}
