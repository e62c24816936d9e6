// A matrix as a table: rows and columns have names; cells are shaded by their value, and can be
// pointed at, focused and marked.

import { h } from "./dom.js";
import { t, percentSign } from "./strings.js";

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

/** A share as a percentage; what is neither nothing nor all is not rounded to it: "<0.1%", ">99.9%". */
export function percent(share, digits = 1) {
  const hundred = 100 * share, least = 10 ** -digits;
  return hundred > 0 && hundred < least / 2 ? `<${number(least, digits)}${percentSign()}`
    : hundred < 100 && hundred > 100 - least / 2 ? `>${number(100 - least, digits)}${percentSign()}` : number(hundred, digits) + percentSign();
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
  return kind === "percent" ? (value > 0 && value < 0.0005 ? "<0.1" : number(100 * value, 1))
    : kind === "id" ? String(value)
    : kind === "mask" ? (value ? "✕" : "·")
    : digits === 2 && value !== 0 && Math.abs(value) < 0.005 ? value.toExponential(0).replace(/-/g, "−")
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

/** The class of a cell and the strength of its colour, 0 to 1. */
function shade(kind, value, most) {
  const plain = kind === "id" || kind === "mask";
  if (kind === "mask" ? value !== 0 : kind !== "id" && !Number.isFinite(value)) {
    return ["blocked", 0];
  }
  const strength = plain || most === 0 ? 0 : kind === "percent" ? Math.min(1, Math.max(0, value))
    : Math.abs(value) / most;
  return [kind === "percent" ? "share" : value < 0 ? "minus" : "plus", strength.toFixed(3)];
}

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

const looksOf = ({ names, heads, text }) => ["sized", names > 0 ? "" : "unnamed", heads > 0 ? "" : "headless",
  { down: "down", across: "" }[text] ?? "compact"].join(" ");

/**
 * options: {tensor: its number in the pass, name, shape: [rows, columns] or less, values, rows, columns:
 * their names, corner: the text above the row names, kind: "value" | "percent" |
 * "gradient" | "id" | "mask", changed: mark it as new, compact: colours without numbers, digits: decimals of values,
 * text(value): the text of a cell, pickRows, pickColumns: the numbers of those to show (default: all), transposed:
 * rows are drawn as columns; shape, rows and columns are those of the tensor, picks those of what is drawn,
 * size: {width, height, font, names, heads, text: "across", "down" or ""}: of its cells, of the names of rows and
 * columns (0: they are not drawn), and how numbers are written; a table with a size has no caption,
 * onpoint(tensor, index): a cell was pointed at or focused, onpress(tensor, index, byKey): clicked or Enter,
 * onleave(): the pointer left the table}. An index counts the elements of the whole tensor.
 * Returns {element, mark(indices, className), unmark(), update(values)}.
 */
export function matrix(options) {
  const { tensor, name, shape, values, kind = "value", changed = false, compact = false, transposed = false, size } = options;
  const [tensorHeight, tensorWidth] = sizes(shape);
  const [height, width] = transposed ? [tensorWidth, tensorHeight] : [tensorHeight, tensorWidth];
  const [rows, columns] = transposed ? [options.columns, options.rows] : [options.rows, options.columns];
  const elementAt = (r, c) => (transposed ? c * tensorWidth + r : r * tensorWidth + c);
  const shownRows = options.pickRows ?? Array.from({ length: height }, (_, r) => r);
  const shownColumns = options.pickColumns ?? Array.from({ length: width }, (_, c) => c);
  const across = shownColumns.length;
  const textOf = (value) => options.text?.(value) ?? cellText(kind, value, options.digits);

  const most = largest(values);
  const cellHtml = (index) => { // text is much faster than elements one by one
    const [className, strength] = shade(kind, values[index], most);
    return `<td class="${className}" style="--a:${strength}" data-index="${index}">${escaped(textOf(values[index]))}</td>`;
  };
  const body = h("tbody");
  const headHtml = (text) => (text === "" ? "<td></td>" : `<th scope="row">${escaped(text)}</th>`);
  body.innerHTML = shownRows.map((r) =>
    `<tr>${headHtml(rows?.[r] ?? r)}${shownColumns.map((c) => cellHtml(elementAt(r, c))).join("")}</tr>`).join("");
  const cells = [...body.querySelectorAll("td[data-index]")], rowHeads = [...body.rows].map((row) => row.cells[0]);
  const places = new Map(cells.map((cell, place) => [Number(cell.dataset.index), place])); // of an index
  const columnHeads = shownColumns.map((c) => columns?.[c] ?? String(c))
    .map((text) => (text === "" ? h("td") : h("th", { scope: "col" }, text)));
  cells[0]?.setAttribute("tabindex", "0");
  const look = size !== undefined ? looksOf(size) : compact ? "compact" : kind !== "id" && across > DENSE ? "dense" : "";
  const style = `--across:${across}` + (size === undefined ? "" : `;--width:${size.width}px;--height:${size.height}px;` +
    `--font:${size.font}px;--names:${size.names}px;--heads:${size.heads}px`);
  const table = h("table", { class: `matrix ${kind} ${look}`, "data-tensor": tensor, style,
    "aria-label": size === undefined ? null : name },
  size === undefined ? h("caption", {}, titleOf(name, shape)) : null,
    h("thead", {}, h("tr", {}, h("td", {}, options.corner ?? ""), columnHeads)),
    body);
  const box = h("div", { class: "matrix-box" + (changed ? " changed" : "") }, table);

  const placeOf = (event) => {
    const cell = event.target.closest("td[data-index]");
    return cell === null ? -1 : places.get(Number(cell.dataset.index));
  };
  const indexAt = (place) => Number(cells[place].dataset.index);
  const focusAt = (place, byPointer = false) => {
    body.querySelector("[tabindex]")?.removeAttribute("tabindex");
    cells[place].tabIndex = 0;
    cells[place].focus({ preventScroll: byPointer });
  };
  for (const [type, call] of [["pointerover", "onpoint"], ["focusin", "onpoint"], ["click", "onpress"]]) {
    table.addEventListener(type, (event) => {
      const place = placeOf(event);
      if (place >= 0) {
        if (type === "click") {
          focusAt(place, true);
        }
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
      const all = new Set(indices.map((index) => places.get(index)));
      table.classList.toggle("lit", className === "source" || table.classList.contains("lit"));
      for (const index of indices) {
        const place = places.get(index);
        if (place !== undefined) {
          cells[place].classList.add(className);
          marked.push(place);
          if (className === "source") { // neighbours share one frame
            const ends = { left: place % across === 0 || !all.has(place - 1), top: !all.has(place - across),
              right: place % across === across - 1 || !all.has(place + 1), bottom: !all.has(place + across) };
            Object.entries(ends).forEach(([side, ends]) => cells[place].classList.toggle(side, ends));
          }
          if (className === "result") {
            named(place, true);
          }
        }
      }
    },
    unmark() {
      table.classList.remove("lit");
      marked.forEach((place) => {
        cells[place].classList.remove("source", "result", "left", "top", "right", "bottom");
        named(place, false);
      });
      marked = [];
    },
    update(newValues) {
      const newMost = largest(newValues);
      cells.forEach((cell) => {
        const value = newValues[Number(cell.dataset.index)];
        const [className, strength] = shade(kind, value, newMost);
        cell.classList.remove("plus", "minus", "share", "blocked");
        cell.classList.add(className);
        cell.style.setProperty("--a", strength);
        cell.textContent = textOf(value);
      });
    },
  };
}

/** What the colours mean; kinds: of the matrices shown, and "new" if some are marked as changed. */
export function legend(kinds = ["value", "percent"]) {
  const item = (className, key) => h("li", {}, h("span", { class: `swatch ${className}`, "aria-hidden": "true" }), t(key));
  return h("ul.legend", { "aria-label": t("matrix.legend") },
    item("diverging", "matrix.diverging"),
    kinds.includes("percent") ? item("shares", "matrix.shares") : null,
    kinds.includes("mask") ? item("blocked", "matrix.blocked") : null,
    item("result", "matrix.result"),
    item("source", "matrix.source"),
    kinds.includes("new") ? item("new", "matrix.new") : null);
}
