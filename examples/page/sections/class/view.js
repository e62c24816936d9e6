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
  };
}
