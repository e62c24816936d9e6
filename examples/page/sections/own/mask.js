// The mask, edited by pressing its cells.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { run, play, LEARNING } from "../../run.js";
import { state, setState, onState } from "../../state.js";
import { PRESETS, blockedOf, maskText } from "../../mask.js";
import { wordsOf } from "../../words.js";

/** Builds the part; returns show(). */
export function maskPart(root) {
  const presets = h("div.chips", { role: "group", "aria-label": t("own.mask.presets") });
  const grid = h("div.scroll", { tabindex: 0, role: "group", "aria-label": t("own.mask.grid") });
  const empty = h("div", { role: "status" });
  const training = h("div");
  root.append(presets, grid, h("p.faint", {}, t("own.mask.signs")), empty, training);

  let buttons = []; // of the cells, row by row
  let chosen = 0;   // the one that Tab reaches

  function press(at) {
    const size = run.language.context, blocked = blockedOf(state.mask, size);
    blocked[at] = 1 - blocked[at];
    chosen = at;
    setState({ mask: maskText(blocked, size) });
  }

  function move(event) {
    const size = run.language.context;
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -size, ArrowDown: size }[event.key];
    if (by !== undefined && buttons[chosen + by] !== undefined) {
      buttons[chosen].tabIndex = -1;
      chosen += by;
      buttons[chosen].tabIndex = 0;
      buttons[chosen].focus();
      event.preventDefault();
    }
    event.stopPropagation(); // the page's own keys
  }

  /** Names of the positions: the words of the reader's sentence, then numbers. */
  function names() {
    const words = wordsOf(state.sentence);
    return Array.from({ length: run.language.context }, (_, i) => words[i] ?? String(i + 1));
  }

  function build() {
    const size = run.language.context, name = names();
    buttons = Array.from({ length: size * size }, (_, at) =>
      h("button", { type: "button", tabindex: at === chosen ? 0 : -1, onclick: () => press(at),
        onfocus: () => (chosen = at) }));
    fill(grid, h("table.mask", { onkeydown: move }, h("caption", {}, t("own.mask.caption")),
      h("thead", {}, h("tr", {}, h("td"), name.map((word) => h("th", { scope: "col" }, word)))),
      h("tbody", {}, name.map((word, i) => h("tr", {}, h("th", { scope: "row" }, word),
        buttons.slice(i * size, (i + 1) * size).map((button) => h("td", {}, button)))))));
  }

  function paint() {
    const size = run.language.context, blocked = blockedOf(state.mask, size), name = names();
    buttons.forEach((button, at) => {
      const is = blocked[at] === 1, i = Math.floor(at / size), j = at % size;
      button.setAttribute("aria-pressed", is);
      button.setAttribute("aria-label", t(is ? "own.mask.blocked" : "own.mask.allowed", i + 1, name[i], j + 1, name[j]));
      button.textContent = is ? "×" : "·";
    });
    fill(presets, PRESETS.map((preset) => h("button.chip", { type: "button", "aria-pressed": String(preset === state.mask),
      onclick: () => setState({ mask: preset }) }, t(`own.mask.${preset || "causal"}`))));
    const rows = name.filter((_, i) => blocked.slice(i * size, (i + 1) * size).every((b) => b === 1));
    fill(empty, rows.length > 0 ? h("p.problem", {}, t("own.mask.empty", rows.join(", "))) : null);
    showTraining(blocked, size);
  }

  function showTraining(blocked, size) {
    const ahead = blocked.some((b, at) => b === 0 && at % size > Math.floor(at / size));
    const same = state.mask === state.trained;
    fill(training,
      h("p", {}, t(same ? "own.mask.same" : "own.mask.other"), " ", ahead ? t("own.mask.ahead") : ""),
      same ? null : h("button", { type: "button", onclick: () => {
        setState({ trained: state.mask, tab: "training" });
        play(LEARNING);
      } }, t("own.mask.retrain")));
  }

  onState((changed) => {
    if (changed.has("sentence") && buttons.length > 0) {
      build();
    }
    if (["mask", "trained", "sentence"].some((key) => changed.has(key)) && buttons.length > 0) {
      paint();
    }
  });
  return () => {
    if (buttons.length === 0) {
      build();
      paint();
    }
  };
}
