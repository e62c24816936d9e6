// The picture of a loss over one number, with straight lines through it.

import { svg, fill } from "./dom.js";
import { ticks } from "./charts.js";

const HEIGHT = 300, LEFT = 70, RIGHT = 14, TOP = 10, BOTTOM = 44; // the picture and its margins

/** Ticks with as many decimals as tell them apart: [[value, text], ...]. */
function labelled(low, high, most) {
  const values = ticks(low, high, most);
  const digits = values.length < 2 ? 6 : Math.max(0, Math.ceil(-Math.log10(values[1] - values[0]) - 1e-9));
  return values.map((value) => [value, value.toFixed(digits).replace(/^-/, "−")]);
}

/**
 * Draws into an element: curve: [[x, y], ...]; start, now: points; slope: of the tangent in start; secant: two points
 * of another line, or null; name, unit: what x and y are; label: all of it in words.
 */
export function drawCurve(box, { curve, start, now, slope, secant, name, unit, label }) {
  const width = Math.max(260, Math.min(760, box.clientWidth)), right = width - RIGHT, bottom = HEIGHT - BOTTOM;
  const losses = [...curve, start, now].map(([, y]) => y).filter(Number.isFinite);
  const least = Math.min(...losses), most = Math.max(...losses), margin = 0.08 * (most - least) || 1e-6;
  const low = least - margin, high = most + margin, from = curve[0][0], to = curve[curve.length - 1][0];
  const placeX = (x) => LEFT + ((right - LEFT) * (x - from)) / (to - from);
  const placeY = (y) => bottom - ((bottom - TOP) * (y - low)) / (high - low);
  const path = (points) => "M" + points.filter(([, y]) => Number.isFinite(y))
    .map(([x, y]) => `${placeX(x).toFixed(1)} ${placeY(y).toFixed(1)}`).join("L");
  const line = ([x, y], rise) => path([from, to].map((end) => [end, y + rise * (end - x)]));
  const point = (className, [x, y], r) => svg("circle", { class: className, cx: placeX(x), cy: placeY(y), r });
  const gridY = labelled(low, high, 5).map(([y, text]) => svg("g", {},
    svg("line", { class: "grid", x1: LEFT, x2: right, y1: placeY(y), y2: placeY(y) }),
    svg("text", { x: LEFT - 6, y: placeY(y) + 4, "text-anchor": "end" }, text)));
  const gridX = labelled(from, to, width < 420 ? 3 : 6).map(([x, text]) => svg("g", {},
    svg("line", { class: "grid", x1: placeX(x), x2: placeX(x), y1: TOP, y2: bottom }),
    svg("text", { x: placeX(x), y: bottom + 17, "text-anchor": "middle" }, text)));
  const square = ([x, y]) =>
    svg("rect", { class: "secant-end", x: placeX(x) - 4, y: placeY(y) - 4, width: 8, height: 8 });
  const ends = secant ?? [];
  const rise = secant === null ? 0 : (ends[1][1] - ends[0][1]) / (ends[1][0] - ends[0][0]);
  fill(box, svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": label },
    svg("clipPath", { id: "curve-area" }, svg("rect", { x: LEFT, y: TOP, width: right - LEFT, height: bottom - TOP })),
    gridY, gridX,
    svg("text", { x: (LEFT + right) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, name),
    svg("text", { x: 4, y: TOP + 4, "dominant-baseline": "hanging" }, unit),
    svg("g", { "clip-path": "url(#curve-area)" },
      ends.length > 0 ? svg("path", { class: "secant", d: line(ends[0], rise) }) : [],
      svg("path", { class: "tangent", d: line(start, slope) }),
      svg("path", { class: "curve", d: path(curve) }),
      ends.map(square)),
    point("start", start, 5), point("now", now, 6)));
}
