// A matrix as colours on a canvas, with names of rows and columns, whose numbers are read by pointing or with arrow keys.

import { h, fill } from "./dom.js";
import { number } from "./matrix.js";
import { percentSign } from "./strings.js";

const probe = document.createElement("span");

/** The red, green and blue of variables of the stylesheet in the current theme. */
function palette(...names) {
  document.body.append(probe);
  const found = names.map((name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  });
  probe.remove();
  return found;
}

/** Calls draw() when the colours change: the reader chose another theme, or the system did. */
export function onColours(draw) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
}

const largest = (values) => values.reduce((most, v) => Math.max(most, Number.isFinite(v) ? Math.abs(v) : 0), 0);

/** Draws values (rows, columns), one pixel each. kind: "value" | "percent" | "causal", where later columns are blocked. */
export function paint(canvas, [rows, columns], values, kind = "value", most = largest(values)) {
  const [cell, plus, minus, share, text] = palette("cell", "plus-line", "minus-line", "share-line", "text");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; i++) {
    const value = values[i], blocked = kind === "causal" && i % columns > Math.floor(i / columns);
    const to = blocked ? text : kind === "value" ? (value < 0 ? minus : plus) : share;
    const a = blocked ? 0.13 : kind === "value" ? (most > 0 ? Math.min(1, Math.abs(value) / most) : 0) : Math.sqrt(value);
    for (let c = 0; c < 3; c++) {
      image.data[4 * i + c] = cell[c] + (to[c] - cell[c]) * a;
    }
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

/**
 * options: {shape: [rows, columns], values, kind: of paint, title, rows: names, columns: names or null, wide: of a cell
 * in pixels, reading(row, column, text of the value): a sentence, onrow(row): a row was chosen}.
 * Returns {element, rows: their number, tall: px of a row, setTall(px), choose(row)}.
 */
export function heat({ shape, values, kind = "value", title, rows, columns = null, wide, reading, onrow }) {
  const [height, width] = shape, tall = height <= 20 ? 15 : height <= 27 ? 12 : 10;
  const canvas = h("canvas", { "aria-hidden": "true" }), cursor = h("div.heat-cursor", { hidden: true });
  const names = rows.map((name, r) => h("span", { onclick: () => onrow(r) }, name));
  const said = h("p.heat-reading", { role: "status" });
  const picture = h("div.heat-picture", {}, canvas, cursor);
  const box = h("div.heat-box", { tabindex: 0, role: "group", "aria-label": title,
      style: `--tall:${tall}px;--wide:${wide.toFixed(2)}px;--rows:${height};--columns:${width}` },
    columns === null ? null : h("div.heat-columns", { "aria-hidden": "true" }, columns.map((name) => h("span", {}, name))),
    h("div.heat-rows", { "aria-hidden": "true" }, names), picture);
  let at = [height - 1, 0];
  const visit = (row, column) => {
    at = [Math.max(0, Math.min(height - 1, row)), Math.max(0, Math.min(width - 1, column))];
    const value = values[at[0] * width + at[1]];
    fill(said, reading(...at, kind === "value" ? number(value) : number(100 * value, 1) + percentSign()));
    cursor.hidden = false;
    cursor.style.cssText = `top:${100 * at[0] / height}%;left:${100 * at[1] / width}%;width:${100 / width}%;height:${100 / height}%`;
  };
  const place = (event) => {
    const { left, top, width: w, height: t } = canvas.getBoundingClientRect();
    return [Math.floor((event.clientY - top) / t * height), Math.floor((event.clientX - left) / w * width)];
  };
  picture.addEventListener("pointermove", (event) => visit(...place(event)));
  picture.addEventListener("click", (event) => {
    visit(...place(event));
    onrow(at[0]);
  });
  box.addEventListener("keydown", (event) => {
    const [r, c] = at;
    const to = { ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1], Home: [r, 0],
      End: [r, width - 1] }[event.key];
    if (to !== undefined) {
      visit(...to);
    } else if (event.key === "Enter" || event.key === " ") {
      onrow(r);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation(); // the page's own keys
  });
  const element = h("figure.heat", {}, h("figcaption", {}, title), box, said);
  return {
    element, rows: height, tall,
    setTall: (px) => box.style.setProperty("--tall", `${px}px`),
    paint: () => paint(canvas, shape, values, kind),
    choose(row) {
      names.forEach((name, r) => name.classList.toggle("chosen", r === row));
      at = [row, at[1]];
    },
  };
}
