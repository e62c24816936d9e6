// Curves of the loss as SVG.

import { svg } from "../../dom.js";

/** Parts of an SVG: axes and a curve of each list of losses in the box {x, y, width, height}; steps: the last one,
 * most: the greatest loss; curves: [{losses, name, label}]; loss: the axis's name; at: a step to mark. */
export function curves({ x, y, width, height, steps, most, curves: all, loss, step: stepName, at = null }) {
  const px = (i) => x + width * i / steps, py = (value) => y + height * (1 - Math.min(1, value / most));
  const parts = [], small = height <= 90; // then the texts stand beside each other, above the ends of the curves
  for (let value = 0; value <= most; value++) {
    parts.push(svg("path", { d: `M${x} ${py(value)}H${x + width}`, class: value === 0 ? "story-axis" : "story-grid" }));
    if (!small || value % 5 === 0) { // place for each number
      parts.push(svg("text", { x: x - 8, y: py(value) + 5, "text-anchor": "end", class: "story-small" }, value));
    }
  }
  parts.push(svg("text", { x: x + width, y: y + height + 20, "text-anchor": "end", class: "story-small" },
    `${steps} ${stepName}`),
    svg("text", { x: small ? x + width * 0.4 : x + width - 10, y: y + (small ? 12 : 18), "text-anchor": "end",
      class: "story-small strong" }, loss));
  all.forEach(({ losses, name, label }, row) => {
    if (losses.length === 0) {
      return;
    }
    parts.push(svg("path",
      { d: `M${losses.map((value, i) => `${px(i + 1).toFixed(1)} ${py(value).toFixed(1)}`).join("L")}`,
      class: `story-curve ${name}` }));
    if (label !== undefined) {
      parts.push(svg("text", { x: x + width - 10, y: y + (small ? 12 + 19 * row : 44 + 22 * row), "text-anchor": "end",
        class: `story-label ${name}` }, label));
    }
  });
  if (at !== null) {
    parts.push(svg("path", { d: `M${px(at)} ${y}V${y + height}`, class: "story-here" }));
  }
  return parts;
}
