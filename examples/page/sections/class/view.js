// What the modules of this section share: the pass that is shown, the lines, and the choices of the reader.

import { state } from "../../state.js";

/** Calls draw(), which replaces elements, and gives the focus back to the one that had it, or to its successor. */
export function keepingFocus(root, draw) {
  const focused = root.contains(document.activeElement) ? document.activeElement : null;
  draw();
  if (focused !== null && document.activeElement !== focused && !root.contains(document.activeElement)) {
    const { key, index } = focused.dataset, table = focused.closest("table");
    const successor = focused.isConnected ? focused : root.querySelector(table === null ? `[data-key="${key}"]`
      : `table[data-tensor="${table.dataset.tensor}"] [data-index="${index}"]`);
    if (table !== null) {
      successor?.setAttribute("tabindex", "0");
    }
    successor?.focus({ preventScroll: true });
  }
}

/** The view of an empty section. class.js adds render(), which draws the current line. */
export function newView() {
  return {
    shown: null,             // the pass with names (example.js)
    lines: [], steps: [],    // lines.js
    matrices: new Map(),     // of cells.js
    cards: new Map(),        // name -> card
    layers: new Map(),       // name -> the layers that the reader chose
    numbers: false, allWords: false,
    row: 0, rowOf: "",       // the row that is shown of large matrices, and the example that it belongs to
    printed: false,          // is it drawn for paper?
    zoomed: null,            // in a narrow window: the names of the rows, one of which is drawn

    get backward() {
      return state.phase === "backward";
    },
    /** The number of the current step. */
    at() {
      return Math.min(Math.max(0, Math.trunc(state.line)), Math.max(0, this.steps.length - 1));
    },
    get line() {
      return this.steps[this.at()];
    },
    /** The first step that reads a matrix; the step that makes it, if none reads it. */
    firstReader(name) {
      const reads = this.steps.findIndex((line) =>
        line.reads.some((read) => read === name || read.split("@")[0] === name));
      return reads < 0 ? this.steps.findIndex((line) => line.marks.includes(name)) : reads;
    },
    /** Has backward computed this gradient? It has when all lines that read the matrix have been walked. */
    known(name) {
      return this.backward && this.firstReader(name) >= this.at();
    },
    /** Draws everything again, after a choice that changes tables. */
    rebuild() {
      this.cards = new Map();
      this.render();
    },
  };
}
