// A sentence of the reader's: its attention and what the model writes after it.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { matrix, number } from "../../matrix.js";
import { run, play, stop, STEPS } from "../../run.js";
import { state, setState, onState } from "../../state.js";
import { readSentence, suggestions, wordsAt } from "../../words.js";

const PERCENTS_LINE = 8; // of the class, for a sentence
const WAIT = 300; // ms after a key before the URL changes; browsers limit how often it may

/** Builds the part; returns show(). */
export function sentencePart(root) {
  const input = h("input", { id: "own-input", type: "text", maxlength: 200, autocomplete: "off", autocapitalize: "none",
    spellcheck: "false", "aria-describedby": "own-count own-problems", value: state.sentence });
  const count = h("span.faint", { id: "own-count" });
  const problems = h("div", { id: "own-problems", role: "status" });
  const train = h("button.primary", { type: "button", id: "own-train",
    onclick: () => (run.playing || run.busy ? stop() : play()) });
  const weightsOf = h("span", { id: "own-weights", role: "status" });
  const results = h("div");
  const examples = h("div.chips.not-presented"), words = h("div");
  root.append(h("p", {}, h("label", { for: "own-input" }, t("own.sentence.label")), " ", count), input, problems,
    h("p.not-printed.not-presented", {}, t("own.sentence.try")), examples,
    h("details.not-presented", {}, h("summary", {}, t("own.sentence.words")), words),
    h("div.toolbar", {}, train, weightsOf), results);

  let timer = 0;
  const type = (text) => {
    input.value = text;
    setState({ sentence: text });
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => setState({ sentence: input.value }), WAIT);
    showProblems(input.value);
  });
  onState((changed) => {
    if (changed.has("sentence")) {
      if (document.activeElement !== input) {
        input.value = state.sentence;
      }
      show();
    }
  });

  function chip(text, onclick, label) {
    return h("button.chip", { type: "button", onclick, "aria-label": label }, text);
  }

  /** The same sentence with another word at a position. */
  function replace(read, position, word) {
    type(read.words.map((old, i) => (i === position ? word : old)).join(" "));
    input.focus();
  }

  function showProblems(text) {
    const read = readSentence(text);
    count.textContent = t("own.sentence.count", read.words.length, run.language.context);
    const lines = [...new Set(read.unknown)].map((at) => {
      const word = read.words[at];
      const { spelled, fitting } = suggestions(word, at);
      const chips = (list) => list.map((w) => chip(w, () => replace(read, at, w), t("own.sentence.replace", word, w)));
      return h("div.problem", {}, h("p", {}, t("own.sentence.unknown", word)),
        spelled.length > 0 ? h("div.chips", {}, t("own.sentence.spelled"), " ", chips(spelled)) : null,
        fitting.length > 0 ? h("div.chips", {}, t("own.sentence.fitting"), " ", chips(fitting)) : null);
    });
    if (read.tooMany > 0) {
      lines.push(h("div.problem", {}, h("p", {}, t("own.sentence.long", run.language.context, read.words.length)),
        chip(t("own.sentence.cut", run.language.context),
          () => type(read.words.slice(0, run.language.context).join(" ")))));
    } else if (read.words.length < 2) {
      lines.push(h("div.problem", {}, h("p", {}, t("own.sentence.short"))));
    }
    fill(problems, lines);
    return read;
  }

  function showExamples() {
    const { heldOut, it } = run.language;
    const unseen = heldOut.slice(0, 2).map((ids) => ids.slice(0, it + 1).map((id) => run.language.words[id]).join(" "));
    const list = [
      ...unseen.map((text) => ["own.example.unseen", text]),
      ["own.example.ambiguous", "the cat was found near the dog and it"],
      ["own.example.swapped", "the garden was found near the bell and it"],
      ["own.example.nonsense", "it it oven the sang and the fire it"],
      ["own.example.short", "the robot and it"],
    ];
    fill(examples, list.map(([key, text]) => h("button.chip", { type: "button", onclick: () => type(text) },
      text, " ", h("small", {}, t(key)))));
  }

  function showWords() {
    const kinds = { subject: [1], happened: [2, 3, 4], place: [6], after: [9, 10], other: [0, 7, 8] };
    fill(words, h("p", {}, t("own.sentence.press")), Object.entries(kinds).map(([kind, positions]) =>
      h("div.chips", {}, h("b", {}, t(`own.kind.${kind}`)), " ",
        [...new Set(positions.flatMap(wordsAt))].map((w) => chip(w, () => type(`${input.value.trim()} ${w}`.trim()))))));
  }

  /** Which weights the results are of, and the button that trains them. */
  function showTraining() {
    const moving = run.playing || run.busy;
    train.textContent = t(moving ? "train.pause" : run.step === 0 ? "own.train" : "own.train.on");
    train.hidden = !moving && run.step >= STEPS;
    weightsOf.textContent = moving ? t("own.training", run.step, STEPS)
      : run.step === 0 ? t("own.sentence.untrained") : t("own.sentence.weights", run.step);
  }

  let latest = 0;
  async function showResults(read) {
    const mine = ++latest;
    if (!read.ready) {
      fill(results);
      return;
    }
    const { heads, seen, weights, written } = await run.engine.measure({ tokens: read.ids, prompt: read.ids });
    if (mine !== latest || (run.playing && results.contains(document.activeElement))) {
      return; // another sentence by now, or the reader is in the table
    }
    const row = Math.max(read.words.lastIndexOf("it"), 0) || seen - 1;
    const perHead = Array.from({ length: heads }, (_, head) => {
      const values = weights.slice(head * seen * seen, (head + 1) * seen * seen);
      const of = values.slice(row * seen, (row + 1) * seen);
      const most = of.indexOf(Math.max(...of));
      const sum = of.reduce((a, b) => a + b, 0);
      const says = sum === 0
        ? t("own.sentence.blocked", read.words[row])
        : t("own.sentence.looks", read.words[row], read.words[most], Math.round(100 * of[most]), most + 1);
      const table = matrix({ tensor: -1, name: t("own.sentence.table", head + 1), shape: [seen, seen], values,
        rows: read.words, columns: read.words, kind: "percent", onpress: (_, index) => setState({ tab: "class",
          example: "own", phase: "forward", line: PERCENTS_LINE, head,
          cell: `attention_percents:${Math.floor(index / seen)}:${index % seen}` }) });
      return h("div", {}, h("p", {}, heads > 1 ? t("own.head", head + 1) + " " : "", says),
        h("div.scroll", { tabindex: 0, role: "group", "aria-label": t("own.sentence.table", head + 1) }, table.element));
    });
    const ends = written.map((id) => (id === 0 ? t("own.sentence.end") : run.language.words[id]));
    fill(results,
      h("p", {}, ends.length > 0 ? [t("own.sentence.writes"), " ", read.words.join(" "), " ", h("b", {}, ends.join(" "))]
        : t("own.sentence.full")),
      perHead,
      h("p.not-presented", {}, t("own.sentence.read")),
      h("p", {}, h("button", { type: "button", onclick: () => setState({ tab: "class", example: "own" }) },
        t("own.sentence.open"))));
  }

  let listed = null; // the language whose sentences and words are listed
  function show() {
    if (listed !== run.language) {
      listed = run.language;
      showExamples();
      showWords();
    }
    showTraining();
    return showResults(showProblems(input.value));
  }
  return show;
}
