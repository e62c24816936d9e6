// A .safetensors file of the reader's: an attention module, over numbers of the reader's, or a whole model.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { Engine } from "../../engine.js";
import { matrix, number, legend } from "../../matrix.js";
import { panel } from "../../panel.js";
import { explain } from "../../explain.js";
import { openModel } from "../../run.js";
import { setState } from "../../state.js";

const MOST_BYTES = 64e6, MOST_ROWS = 16, MOST_CELLS = 4096, WIDE = 12;
const TUTORIAL = "Pizza 1.16 0.23\nis 0.57 1.36\nawesome 4.41 -2.16";

/** `rows` lines of `columns` numbers, roughly normal, the same for the same seed. */
function drawn(rows, columns, seed) {
  let state = seed >>> 0;
  const uniform = () => { // mulberry32, by Tommy Ettinger
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
  const value = () => (2 * (uniform() + uniform() + uniform()) - 3).toFixed(2);
  return Array.from({ length: rows }, (_, r) => [`t${r + 1}`, ...Array.from({ length: columns }, value)].join(" ")).join("\n");
}

/** {names, values} of lines "name number number ...", whose names may be missing; throws a sentence. */
function readEncodings(text, columns) {
  const lines = text.split("\n").map((line) => line.trim().split(/[\s,;]+/)).filter((parts) => parts[0] !== "");
  if (lines.length < 1 || lines.length > MOST_ROWS) {
    throw new Error(t("own.file.rows", lines.length, MOST_ROWS));
  }
  const names = [], values = [];
  lines.forEach((parts, i) => {
    const named = !Number.isFinite(Number(parts[0]));
    names.push(named ? parts[0].slice(0, 20) : `t${i + 1}`);
    const numbers = named ? parts.slice(1) : parts;
    const wrong = numbers.find((part) => part === "" || !Number.isFinite(Math.fround(Number(part))));
    if (wrong !== undefined) {
      throw new Error(t("own.file.not_number", i + 1, wrong.slice(0, 20)));
    }
    if (numbers.length !== columns) {
      throw new Error(t("own.file.columns", i + 1, numbers.length, columns));
    }
    values.push(...numbers.map(Number));
  });
  return { names, values };
}

/** Matrices of a recorded pass with the panel that explains their numbers. */
function explained(pass, names) {
  const shown = new Map(); // tensor -> matrix
  const unmark = () => shown.forEach((each) => each.unmark());
  const visit = (tensor, index) => {
    unmark();
    explain(pass, tensor, index)?.sources.forEach((source) => shown.get(source.tensor)?.mark([source.index], "source"));
    shown.get(tensor)?.mark([index], "result");
  };
  const side = panel({ onvisit: visit, onclose: () => (unmark(), side.clear()), words: (tensor, index) => {
    const { shape } = pass.tensors[tensor], row = Math.floor(index / shape[1]), column = index % shape[1];
    return shape[0] !== names.length ? null
      : { title: null, place: `${names[row]}, ${shape[1] === names.length ? names[column] : column}` };
  } });
  const point = (tensor, index) => {
    visit(tensor, index);
    side.show(pass, tensor, index);
  };
  const show = (tensor, name, kind = "value") => {
    const { shape, values } = pass.tensors[tensor];
    if (values.length > MOST_CELLS) {
      const [least, most] = values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
      return h("p", {}, t("own.file.large", name, shape.join(" × "), number(least), number(most)));
    }
    const square = kind === "percent";
    const one = matrix({ tensor, name, shape, values, kind, compact: shape[1] > WIDE,
      rows: shape[0] === names.length ? names : undefined, columns: square ? names : undefined,
      onpoint: point, onpress: point });
    shown.set(tensor, one);
    return one.element;
  };
  return { show, side: side.element };
}

/** Builds the part; returns show(). */
export function filePart(root) {
  let engine = null; // for files; the run has its own
  const input = h("input", { type: "file", id: "own-file", accept: ".safetensors",
    onchange: () => input.files.length > 0 && open(input.files[0]) });
  const message = h("div", { role: "status" }), results = h("div");
  const zone = h("div.drop", {},
    h("label", { for: "own-file" }, t("own.file.choose")), " ", input,
    h("p.faint", {}, t("own.file.drop")),
    h("button", { type: "button", onclick: openTutorial }, t("own.file.tutorial")));
  root.append(zone, message, results, h("details", {}, h("summary", {}, t("own.file.how")),
    h("p", {}, t("own.file.how.about")),
    h("pre", { tabindex: 0 }, h("code", {}, "from safetensors.torch import save_file\nsave_file(selfAttention.state_dict(), \"mine.safetensors\")"))));

  for (const type of ["dragover", "dragleave", "drop"]) {
    zone.addEventListener(type, (event) => {
      event.preventDefault();
      zone.classList.toggle("over", type === "dragover");
      if (type === "drop" && event.dataTransfer.files.length > 0) {
        open(event.dataTransfer.files[0]);
      }
    });
  }

  async function ready() {
    if (engine === null) {
      engine = await Engine.create();
      await engine.start({ seed: 0, heads: 1, lr: 0, steps: 1, breaks: 0 });
    }
    return engine;
  }

  /** The engine's sentence is English in every language. */
  function fail(error, name) {
    fill(message, h("div.problem", {}, h("p", {}, t("own.file.failed", name)),
      h("details", {}, h("summary", {}, t("own.file.failed.why")), h("p", { lang: "en" }, error.message))));
    fill(results);
  }

  async function open(file) {
    fill(message, h("p", {}, t("own.file.opening", file.name)));
    if (file.size > MOST_BYTES) {
      fill(message, h("p.problem", {}, file.name, ": ", t("own.file.too_big", Math.round(file.size / 1e6), MOST_BYTES / 1e6)));
      return;
    }
    try {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const about = await (await ready()).open(bytes);
      about.kind === "model" ? showModel(file.name, about, bytes) : showModule(file.name, about);
    } catch (error) {
      fail(error, file.name);
      engine?.end(); // its memory has grown with the file
      engine = null;
    }
    input.value = ""; // so that the same file can be chosen again
  }

  async function openTutorial() {
    await (await ready()).alone({ seed: 42, dModel: 2, heads: 1 });
    showModule(t("own.file.tutorial.name"), { kind: "self_attention", d_model: 2, head_dim: 2, heads: 1 });
  }

  function describe(name, about) {
    fill(message, h("p", {}, h("b", {}, name), ": ", t(`own.file.${about.kind}`, about.d_model, about.head_dim, about.heads)));
  }

  function showModel(name, about, bytes) {
    describe(name, about);
    fill(results, h("p", {}, t("own.file.model.about")), h("button", { type: "button", onclick: async () => {
      await openModel(bytes);
      fill(results, h("p", {}, t("own.file.model.used")),
        h("button", { type: "button", onclick: () => setState({ tab: "class", example: "pizza" }) }, t("own.sentence.open")));
    } }, t("own.file.model.use")));
  }

  function showModule(name, about) {
    describe(name, about);
    const text = h("textarea", { id: "own-encodings", rows: 5, cols: 40, spellcheck: "false" });
    const causal = h("input", { type: "checkbox", id: "own-causal", onchange: compute });
    const problem = h("div", { role: "status" }), matrices = h("div");
    let seed = 1;
    text.value = about.d_model === 2 ? TUTORIAL : drawn(4, about.d_model, seed);
    text.addEventListener("input", compute);
    fill(results,
      h("p", {}, h("label", { for: "own-encodings" }, t("own.file.encodings", about.d_model, MOST_ROWS))), text,
      h("p", {}, h("button", { type: "button", onclick: () => {
        text.value = drawn(4, about.d_model, ++seed);
        compute();
      } }, t("own.file.draw")), " ", causal, " ", h("label", { for: "own-causal" }, t("own.file.causal"))),
      problem, matrices);
    let latest = 0;
    async function compute() {
      const mine = ++latest;
      try {
        const { names, values } = readEncodings(text.value, about.d_model), count = names.length;
        const blocked = causal.checked
          ? Array.from({ length: count * count }, (_, at) => Number(at % count > Math.floor(at / count))) : null;
        const pass = await engine.passAlone({ encodings: values, count, blocked });
        if (mine !== latest) {
          return;
        }
        fill(problem);
        showPass(matrices, pass, names, about);
      } catch (error) {
        fill(problem, h("p.problem", {}, error.message));
      }
    }
    compute();
  }

  function showPass(box, pass, names, about) {
    const { show, side } = explained(pass, names);
    const marks = (name) => pass.marks.filter((mark) => mark.name === name);
    const head = (mark) => (about.heads > 1 ? t("own.head", mark.head + 1) + " " : "");
    const last = marks("projected")[0] ?? marks("attention_scores")[0];
    const steps = ["q", "k", "v", "sims", "scaled_sims", "masked_sims"].flatMap(marks);
    fill(box, h("div.explained-pass", {}, h("div", {},
      h("h3", {}, t("own.file.attention")),
      marks("attention_percents").map((mark) => show(mark.tensor, head(mark) + mark.name, "percent")),
      h("h3", {}, t("own.file.result")), show(last.tensor, last.name),
      h("details", {}, h("summary", {}, t("own.file.steps")), steps.map((mark) => show(mark.tensor, head(mark) + mark.name))),
      h("details", {}, h("summary", {}, t("own.file.weights")),
        pass.leaves.map((leaf) => show(leaf.tensor, leaf.name))), legend()), side));
  }

  return () => {};
}
