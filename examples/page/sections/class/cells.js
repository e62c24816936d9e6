// The matrices of the shown pass by the names of formulas (lines.js), and their numbers: what each is in words, and its
// name in the URL.

import { t } from "../../strings.js";
import { run } from "../../run.js";
import { sizes, cellText } from "../../matrix.js";

const KINDS = { attention_percents: "percent", mask: "mask", targets: "id", "logits.shares": "percent" };

/** A name of a formula: {base: the matrix, head: counted from 1, or null, gradient, part: the step that adds it, step: of
 * the way to a gradient}. */
export function readName(name) {
  const [, base, head, gradient, part, step] =
    /^(.+?)(?:@(\d+))?(?:(\.grad)(?:@(\w+))?|\.(sums|shares|used))?$/.exec(name);
  return { base, head: head === undefined ? null : Number(head) + 1, gradient: gradient !== undefined, part, step };
}

/** A name as it is written: "token_encodings.grad from q". */
export function written(name) {
  const { base, head, gradient, part, step } = readName(name);
  const own = gradient ? `${base}.grad` : base;
  return step === "sums" ? t("class.sums") : step === "shares" ? `softmax(${base})` : step === "used" ? `${base}[: len(targets)]`
    : part !== undefined ? t("class.part", own, part) : head === null ? own : t("class.of_head", own, head);
}

/** Of all names in the formulas of the lines: Map(name -> {name, tensor, shape, values, kind, rows, columns, corner:
 * names, digits, text(value)}). */
export function matricesOf(view) {
  const { shown, steps } = view, found = new Map();
  for (const name of new Set(steps.flatMap((line) => [line.formula, ...line.back].flat()))) {
    const place = name.startsWith("'") ? null : shown.find(name);
    if (place !== null && place.tensor >= 0) {
      const { base, gradient, step } = readName(name), { shape, values } = shown.pass.tensors[place.tensor];
      const kind = gradient || step === "sums" ? "gradient" : KINDS[name] ?? KINDS[name.split("@")[0]] ?? "value";
      found.set(name, { name, tensor: place.tensor, shape, values, kind, ...shown.names(name),
        text: base === "targets" ? (id) => run.language.words[id] : undefined });
    }
  }
  return found;
}

/** The elements as they are written with these decimals. */
export const textsOf = ({ kind, values, text }, digits, elements) =>
  elements.map((i) => text?.(values[i]) ?? cellText(kind, values[i], digits));

/** drawn(): the names of the matrices that are drawn. Returns {words(tensor, index), nameOf(tensor, index),
 * find(name)}. */
export function cellsOf(view, drawn) {
  /** Which matrix, row and column an element of a tensor is; of several names, one that is drawn. */
  const locate = (tensor, index) => {
    const all = [...view.matrices.values()].filter((matrix) => matrix.tensor === tensor);
    const names = drawn(), matrix = all.find(({ name }) => names.includes(name)) ?? all[0];
    if (matrix === undefined) {
      return null;
    }
    const width = sizes(matrix.shape)[1];
    return { matrix, r: Math.floor(index / width), c: index % width };
  };
  return {
    words(tensor, index) {
      const place = locate(tensor, index);
      if (place === null) {
        return null;
      }
      const { matrix: { name, rows, columns }, r, c } = place, { base, gradient, part, step } = readName(name);
      const key = step !== undefined && step !== "used" ? step : /^W_/.test(base) ? "weight" : base;
      const title = t(`cell.${key}`, rows[r], columns[c]), ofGradient = gradient ? t("cell.gradient", title) : title;
      return {
        title: part === undefined ? ofGradient : t("cell.part", ofGradient, part),
        place: [rows[r], columns[c]].filter((x) => x !== "").join(", "),
      };
    },
    nameOf(tensor, index) {
      const place = locate(tensor, index);
      if (place === null) {
        return `t${tensor}:${index}:0`;
      }
      const { name } = place.matrix;
      return `${name.includes(".grad") ? `grad.${name.replace(".grad", "")}` : name}:${place.r}:${place.c}`;
    },
    /** {tensor, index} of a name, or null. */
    find(text) {
      const [, gradient, name, r, c] = /^(grad\.)?([^:]+):(\d+):(\d+)$/.exec(text) ?? [];
      if (name === undefined || view.shown === null) {
        return null;
      }
      const [, unnamed] = /^t(\d+)$/.exec(name) ?? [];
      const full = gradient === undefined ? name : name.replace(/(@[a-z]\w*)?$/, ".grad$1");
      const tensor = unnamed !== undefined ? Number(unnamed) : view.matrices.get(full)?.tensor;
      const data = view.shown.pass.tensors[tensor];
      const index = unnamed !== undefined ? Number(r) : Number(r) * sizes(data?.shape ?? [])[1] + Number(c);
      return data !== undefined && index < data.values.length ? { tensor, index } : null;
    },
  };
}
