// The number that is explained: the one under the pointer or with the focus, else the one of the URL.

import { state, setState } from "../../state.js";
import { panel } from "../../panel.js";

/** Does a cell of one pass have the same place in another one? */
function sameCell(pass, other, { tensor }) {
  return pass.entries.length === other.entries.length &&
    pass.tensors[tensor].values.length === other.tensors[tensor].values.length;
}

/** cells: of cells.js; tables(): those that are drawn. Returns {element, now(), point, press, leave: for tables, close(), forget(), keep(pass)}. */
export function explaining(view, cells, tables) {
  let hovered = null; // the cell under the pointer or with the focus
  let from = null;    // the cell that the reader came to the panel from

  const close = () => {
    hovered = null;
    setState({ cell: "" });
    now();
    from?.focus();
    from = null;
  };
  const explained = panel({
    words: cells.words,
    onvisit: (tensor, index) => setState({ cell: cells.nameOf(tensor, index) }),
    onclose: close,
    gradients: () => view.backward,
  });
  const explain = (cell) => {
    tables().forEach((table) => table.unmark());
    if (cell === null) {
      explained.clear();
      return;
    }
    const found = explained.show(view.shown.pass, cell.tensor, cell.index);
    const mark = (marked, className) => {
      const byTensor = new Map();
      marked.forEach(({ tensor, index }) => byTensor.set(tensor, [...(byTensor.get(tensor) ?? []), index]));
      tables().forEach((table) => byTensor.has(table.tensor) && table.mark(byTensor.get(table.tensor), className));
    };
    mark(found?.sources ?? [], "source");
    mark([cell], "result");
  };
  const now = () => explain(hovered ?? cells.find(state.cell));
  return {
    element: explained.element,
    now,
    close,
    point(tensor, index) {
      hovered = { tensor, index };
      now();
    },
    leave() {
      if (state.cell !== "" && hovered !== null) {
        hovered = null;
        now();
      }
    },
    press(tensor, index, byKey) {
      hovered = null;
      const cell = cells.nameOf(tensor, index), again = state.cell === cell;
      setState({ cell: again ? "" : cell });
      if (byKey && !again) {
        from = document.activeElement;
        explained.focus();
      }
    },
    /** The pointer's cell counts no more. */
    forget() {
      hovered = null;
    },
    /** A new pass is shown: the pointer's cell counts only if it is the same number. */
    keep(pass) {
      if (hovered !== null && !sameCell(view.shown.pass, pass, hovered)) {
        hovered = null;
      }
    },
  };
}
