// A matrix as a table: rows and columns have names; cells are shaded by their value, and can be
// pointed at, focused and marked.

import { h } from "./dom.js";
import { t } from "./strings.js";

export const DENSE = 6; // tables with more columns have smaller type

/** A number with `digits` decimals, or in scientific notation where these would show nothing. */
export function number(value, digits = 4) {
  if (!Number.isFinite(value)) {
    return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  }
  const small = digits > 2 && value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits;
  const text = small || Math.abs(value) >= 1e6 ? value.toExponential(Math.max(0, digits - 2)) : value.toFixed(digits);
  return text.replace(/-/g, "−");
}

/** The rows and columns of a tensor: [height, width]; vectors are one row. */
export function sizes(shape) {
  const width = shape.length > 0 ? shape[shape.length - 1] : 1;
  return [shape.slice(0, -1).reduce((a, b) => a * b, 1), width];
}

/** "q (3 × 2)" */
export function titleOf(name, shape) {
  return shape.length === 0 ? name : `${name} (${shape.join(" × ")})`;
}

/** The text of a cell. */
export function cellText(kind, value, digits = 4) {
  return kind === "percent" ? (100 * value).toFixed(1)
    : kind === "id" ? String(value)
    : kind === "mask" ? (value ? "✕" : "·")
    : number(value, digits);
}

/** The largest finite magnitude, to which shades are relative. */
function largest(values) {
  let most = 0;
  for (const value of values) {
    const size = Math.abs(value);
    if (size > most && size !== Infinity) {
      most = size;
    }
  }
  return most;
}

// The classes and the strength (--a, 0 to 1) of a cell's colour.
function shade(cell, kind, value, most) {
  const plain = kind === "id";
  const blocked = kind === "mask" ? value !== 0 : !plain && !Number.isFinite(value);
  const strength = plain || blocked || kind === "mask" ? 0 : kind === "percent" ? Math.min(1, Math.max(0, value))
    : most > 0 ? Math.abs(value) / most : 0;
  cell.className = blocked ? "blocked" : kind === "percent" ? "share" : value < 0 ? "minus" : "plus";
  cell.style.setProperty("--a", strength.toFixed(3));
}

/**
 * options: {tensor: its number in the pass, name, shape: [rows, columns] or less, values, rows, columns:
 * their names, corner: the text above the row names, kind: "value" | "percent" | "gradient" | "id" | "mask", changed: mark it as new,
 * compact: colours without numbers, digits: decimals of values,
 * text(value): the text of a cell, pickRows, pickColumns: the numbers of those to show (default: all),
 * onpoint(tensor, index): a cell was pointed at or focused, onpress(tensor, index, byKey): clicked or Enter,
 * onleave(): the pointer left the table}. An index counts the elements of the whole tensor.
 * Returns {element, mark(indices, className), unmark(), focus(index), update(values)}.
 */
export function matrix(options) {
  const { tensor, name, shape, values, rows, columns, kind = "value", changed = false, compact = false } = options;
  const [height, width] = sizes(shape);
  const shownRows = options.pickRows ?? Array.from({ length: height }, (_, r) => r);
  const shownColumns = options.pickColumns ?? Array.from({ length: width }, (_, c) => c);
  const across = shownColumns.length;
  const cells = [];             // in the order shown
  const places = new Map();     // index -> place in cells
  const rowHeads = [], columnHeads = [];

  const fillCell = (cell, value, most) => {
    shade(cell, kind, value, most);
    cell.textContent = options.text?.(value) ?? cellText(kind, value, options.digits);
  };
  const most = largest(values);
  const body = shownRows.map((r) => {
    const head = h("th", { scope: "row" }, rows?.[r] ?? String(r));
    const row = h("tr", {}, head);
    rowHeads.push(head);
    for (const c of shownColumns) {
      const index = r * width + c;
      const cell = document.createElement("td");
      cell.tabIndex = cells.length === 0 ? 0 : -1;
      cell.dataset.tensor = tensor;
      cell.dataset.index = index;
      fillCell(cell, values[index], most);
      places.set(index, cells.length);
      cells.push(cell);
      row.append(cell);
    }
    return row;
  });
  shownColumns.forEach((c) => columnHeads.push(h("th", { scope: "col" }, h("span", {}, columns?.[c] ?? String(c)))));
  const table = h("table", { class: `matrix ${kind}` + (compact ? " compact" : kind !== "id" && across > DENSE ? " dense" : "") },
    h("caption", {}, titleOf(name, shape)),
    h("thead", {}, h("tr", {}, h("td", {}, options.corner ?? ""), columnHeads)),
    h("tbody", {}, body));
  const box = h("div", { class: "matrix-box" + (changed ? " changed" : "") }, table);

  const placeOf = (event) => {
    const cell = event.target.closest("td[data-index]");
    return cell === null ? -1 : places.get(Number(cell.dataset.index));
  };
  const indexAt = (place) => Number(cells[place].dataset.index);
  const focusAt = (place) => {
    table.querySelector("td[tabindex='0']")?.setAttribute("tabindex", "-1");
    cells[place].tabIndex = 0;
    cells[place].focus();
  };
  for (const [type, call] of [["pointerover", "onpoint"], ["focusin", "onpoint"], ["click", "onpress"]]) {
    table.addEventListener(type, (event) => {
      const place = placeOf(event);
      if (place >= 0) {
        options[call]?.(tensor, indexAt(place));
      }
    });
  }
  table.addEventListener("pointerleave", () => options.onleave?.());
  table.addEventListener("keydown", (event) => {
    const place = placeOf(event);
    if (place < 0 || event.altKey || event.metaKey) {
      return;
    }
    const column = place % across, all = event.ctrlKey;
    const next = {
      ArrowLeft: column > 0 ? place - 1 : place,
      ArrowRight: column < across - 1 ? place + 1 : place,
      ArrowUp: place - across,
      ArrowDown: place + across,
      Home: all ? 0 : place - column,
      End: all ? cells.length - 1 : place - column + across - 1,
    }[event.key];
    if (next !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      if (next !== place && cells[next] !== undefined) {
        focusAt(next);
      }
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      options.onpress?.(tensor, indexAt(place), true);
    }
  });

  const named = (place, on) => {
    rowHeads[Math.floor(place / across)].classList.toggle("named", on);
    columnHeads[place % across].classList.toggle("named", on);
  };
  let marked = [];
  return {
    element: box,
    mark(indices, className) {
      for (const index of indices) {
        const place = places.get(index);
        if (place !== undefined) {
          cells[place].classList.add(className);
          marked.push(place);
          if (className === "result") {
            named(place, true);
          }
        }
      }
    },
    unmark() {
      marked.forEach((place) => {
        cells[place].classList.remove("source", "result");
        named(place, false);
      });
      marked = [];
    },
    focus(index) {
      if (places.has(index)) {
        focusAt(places.get(index));
      }
    },
    update(newValues) {
      const newMost = largest(newValues);
      cells.forEach((cell) => {
        const classes = ["source", "result"].filter((c) => cell.classList.contains(c));
        fillCell(cell, newValues[Number(cell.dataset.index)], newMost);
        cell.classList.add(...classes);
      });
    },
  };
}

/** What the colours mean; kinds: of the matrices shown. */
export function legend(kinds = ["value", "percent"]) {
  const item = (className, key) => h("li", {}, h("span", { class: `swatch ${className}`, "aria-hidden": "true" }), t(key));
  return h("ul.legend", { "aria-label": t("matrix.legend") },
    item("diverging", "matrix.diverging"),
    kinds.includes("percent") ? item("shares", "matrix.shares") : null,
    kinds.includes("mask") ? item("blocked", "matrix.blocked") : null,
    item("result", "matrix.result"),
    item("source", "matrix.source"));
}
