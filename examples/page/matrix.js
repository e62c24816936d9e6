// A matrix as a table: rows and columns have names, cells can be pointed at, focused and marked.

import { h } from "./dom.js";

/** A number with `digits` decimals, or in scientific notation where these would show nothing. */
export function number(value, digits = 4) {
  if (!Number.isFinite(value)) {
    return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  }
  const small = value !== 0 && Math.abs(value) < 0.5 * 10 ** -digits;
  const text = small || Math.abs(value) >= 1e6 ? value.toExponential(digits - 2) : value.toFixed(digits);
  return text.replace(/-/g, "−");
}

/**
 * options: {tensor: its number in the pass, name, shape: [rows, columns] or less, values, rows, columns:
 * their names, kind: "value" | "percent" | "gradient" | "id", changed: mark it as new,
 * onpoint(tensor, index): a cell was pointed at or focused, onpress(tensor, index): clicked or Enter}.
 * Returns {element, mark(indices, className), unmark()}.
 */
export function matrix(options) {
  const { tensor, name, shape, values, rows, columns, kind = "value", changed = false } = options;
  const width = shape.length > 0 ? shape[shape.length - 1] : 1, height = values.length / Math.max(1, width);
  const cells = [];
  const body = [];
  for (let r = 0; r < height; r++) {
    const row = h("tr", {}, h("th", { scope: "row" }, rows?.[r] ?? String(r)));
    for (let c = 0; c < width; c++) {
      const index = r * width + c;
      const cell = h("td", { tabindex: index === 0 ? 0 : -1, "data-tensor": tensor, "data-index": index },
        kind === "percent" ? number(100 * values[index], 1) : kind === "id" ? String(values[index]) : number(values[index]));
      cells.push(cell);
      row.append(cell);
    }
    body.push(row);
  }
  const table = h("table", { class: `matrix ${kind}` + (changed ? " changed" : "") },
    h("caption", {}, `${name} (${shape.join(" × ")})`),
    h("thead", {}, h("tr", {}, h("td"), ...Array.from({ length: width }, (_, c) =>
      h("th", { scope: "col" }, columns?.[c] ?? String(c))))),
    h("tbody", {}, body));
  const indexOf = (event) => {
    const cell = event.target.closest("td[data-index]");
    return cell === null ? -1 : Number(cell.dataset.index);
  };
  for (const [type, call] of [["pointerover", "onpoint"], ["focusin", "onpoint"], ["click", "onpress"]]) {
    table.addEventListener(type, (event) => {
      const index = indexOf(event);
      if (index >= 0) {
        options[call]?.(tensor, index);
      }
    });
  }
  table.addEventListener("keydown", (event) => {
    const index = indexOf(event);
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -width, ArrowDown: width }[event.key];
    if (by !== undefined && cells[index + by] !== undefined) {
      cells[index].tabIndex = -1;
      cells[index + by].tabIndex = 0;
      cells[index + by].focus();
      event.preventDefault();
      event.stopPropagation();
    } else if (event.key === "Enter") {
      options.onpress?.(tensor, index);
    }
  });
  return {
    element: table,
    mark: (indices, className) => indices.forEach((i) => cells[i]?.classList.add(className)),
    unmark: () => cells.forEach((cell) => cell.classList.remove("source", "result")),
  };
}
