// "GPT": a whole GPT as a map whose boxes open, over a text of the reader's. Its model was trained by the program gpt;
// another one can be opened.

import { h, fill } from "../dom.js";
import { t } from "../strings.js";
import { Engine, decode } from "../engine.js";
import { state, setState, onState } from "../state.js";
import { onColours } from "../heat.js";
import { map } from "./gpt/map.js";
import { detail } from "./gpt/detail.js";
import { next } from "./gpt/next.js";
import { boxesOf, shown, grouped } from "./gpt/boxes.js";

const MOST_BYTES = 64e6;

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export function begin(root) {
  let engine = null, about = null, boxes = [], read = null, ready = null, latest = 0;
  const input = h("textarea", { id: "gpt-text", rows: 1, spellcheck: "false", autocapitalize: "off", autocomplete: "off",
    oninput: () => setState({ gpt_text: input.value, gpt_at: 0 }) });
  const problem = h("div", { role: "status" }), model = h("p.faint.gpt-model");
  const lead = h("p.lead.not-presented", {}, "\u00a0");
  const file = h("input", { type: "file", id: "gpt-file", accept: ".safetensors", onchange: () => file.files.length > 0 && open(file.files[0]) });
  const opened = detail(), after = next(write);
  const overview = map(() => {
    if (root.clientWidth < 900) { // the box opens below the map
      opened.element.scrollIntoView({ block: "start" });
      opened.element.focus({ preventScroll: true });
    }
  });
  root.classList.add("gpt");
  root.append(lead,
    h("div.gpt-top", {}, h("label", { for: "gpt-text" }, t("gpt.label")), input), problem, overview.element,
    h("div.gpt-below", {}, opened.element, after.element),
    h("details.settings", {}, h("summary", {}, t("gpt.model")), model, h("p", {}, t("gpt.model.trained")),
      h("pre", { tabindex: 0 }, h("code", {}, "build/gpt train --text FILE --n-layer 2 --n-head 2 --n-embd 32 --save mine.safetensors")),
      h("p", {}, h("label", { for: "gpt-file" }, t("gpt.file")), " ", file)));

  /** The row of the chosen token. */
  const chosen = () => (state.gpt_at === 0 ? read.tokens.length - 1 : Math.min(state.gpt_at, read.tokens.length) - 1);
  const isLast = () => chosen() === read.tokens.length - 1;

  /** Writes a token after the chosen one; what followed is removed. */
  function write(id) {
    const token = about.tokens[id], kept = about.level === "char" ? [...state.gpt_text].slice(0, read.left_out + chosen() + 1).join("")
      : state.gpt_text;
    setState({ gpt_text: kept + (about.level === "word" && /^\w/.test(token) ? " " : "") + token, gpt_at: 0 });
  }

  function draw() {
    if (read === null) {
      return;
    }
    opened.update(about, boxes, read);
    follow();
  }

  /** Another token was chosen. */
  function follow() {
    opened.choose(chosen());
    after.update(read, chosen(), about.level === "char" || isLast());
  }

  /** What is wrong with the text: characters that the model does not know, or none. */
  function wrong(text) {
    const unknown = about.level === "char" ? [...new Set(text)].filter((c) => !about.tokens.includes(c)) : [];
    return text === "" ? t("gpt.empty")
      : unknown.length > 0 ? t("gpt.unknown", unknown.map(shown).join(" "), about.tokens.map(shown).join(" ")) : null;
  }

  async function compute() {
    const mine = ++latest, text = state.gpt_text, bad = wrong(text);
    if (input.value !== text) {
      input.value = text;
    }
    input.rows = Math.min(4, text.split("\n").length + Math.floor(text.length / 100));
    if (bad !== null) {
      fill(problem, h("p.problem", {}, bad));
      return;
    }
    try {
      const found = await engine.gptRead(text);
      if (mine !== latest) {
        return;
      }
      read = { ...found, vocabulary: about.tokens, tokens: found.ids.map((id) => about.tokens[id]) };
      fill(problem, found.left_out > 0 ? h("p.note", {}, t("gpt.left_out", found.ids.length, found.left_out)) : null);
      overview.update(read);
      draw();
    } catch (error) {
      fill(problem, h("p.problem", {}, error.message));
    }
  }

  /** Shows the model of a file's bytes. */
  async function use(bytes, name) {
    about = await engine.gptOpen(bytes);
    boxes = boxesOf(about);
    read = null;
    overview.model(about, boxes);
    fill(lead, t(name === null ? "gpt.lead" : "gpt.lead.own", grouped(about.parameters)));
    fill(model, name === null ? null : [h("b", {}, name), ": "], t("gpt.model.is", about.layers, about.heads, about.width,
      grouped(about.parameters), grouped(about.steps), about.vocab, about.context));
    if (!boxes.some(({ id }) => id === state.gpt_box)) {
      setState({ gpt_box: "h.0.attn" });
    }
    if (wrong(state.gpt_text) !== null) { // its own alphabet
      setState({ gpt_text: about.tokens.filter((token) => token.trim() !== "").slice(0, 8).join(about.level === "word" ? " " : "") });
    }
    await compute();
  }

  async function open(chosenFile) {
    const { name, size } = chosenFile;
    try {
      if (size > MOST_BYTES) {
        throw new Error(t("gpt.file.big", Math.round(size / 1e6), MOST_BYTES / 1e6));
      }
      await use(new Uint8Array(await chosenFile.arrayBuffer()), name);
    } catch (error) { // the engine's sentence is English in every language
      fill(problem, h("div.problem", {}, h("p", {}, t("gpt.file.failed", name)), h("p", { lang: "en" }, error.message)));
    }
    file.value = ""; // so that the same file can be chosen again
  }

  async function start() {
    engine = await Engine.create();
    await use(new Uint8Array(await decode(document.getElementById("gpt-model").textContent)), null);
  }

  onState((changed) => {
    if (about !== null && changed.has("gpt_text")) {
      compute();
    } else if (["gpt_box", "gpt_part"].some((key) => changed.has(key))) {
      draw();
    } else if (changed.has("gpt_at") && read !== null) {
      follow();
    }
  });
  onColours(() => {
    overview.paint();
    opened.paint();
  });
  return {
    show() {
      ready ??= start();
      return ready;
    },
    about: () => about, // for tests
    read: () => read,
  };
}
