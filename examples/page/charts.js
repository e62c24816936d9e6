// Charts of lines. Lines are SVG that stretches with the page; their labels are text of the page, so they
// keep their size. The values can be read by pointer and keyboard.

import { h, svg, fill } from "./dom.js";
import { t } from "./strings.js";
import { number } from "./matrix.js";

const SIDE = 1000; // of the plot, in units of its own

/** About `most` round values from low to high. */
function ticks(low, high, most = 5) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
    found.push(i * step);
  }
  return found;
}

function logTicks(low, high) {
  const found = [];
  const many = Math.log10(high / low) > 2.5;
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
    found.push(...(many ? [power] : [power, 2 * power, 5 * power]).filter((v) => v >= low && v <= high));
  }
  return found;
}

/** The next value of 1, 2, 5, 10, ... that is at least (up) or at most a positive one. */
function round(value, up) {
  const power = 10 ** Math.floor(Math.log10(value));
  const found = [1, 2, 5, 10].map((n) => n * power);
  return up ? found.find((n) => n >= value * 0.999) : found.findLast((n) => n <= value * 1.001);
}

const short = (value) => String(Number(value.toPrecision(6))).replace(/-/g, "−");

/** draw() before the next frame, once however often it is asked for. */
function beforeFrame(draw) {
  let wanted = 0;
  return () => (wanted ||= requestAnimationFrame(() => {
    wanted = 0;
    draw();
  }));
}

/**
 * A plot to point at: pointer and arrow keys choose an x, for which read() is called; a click or Enter picks
 * it. most: the largest x; end(): the largest now; here(): where keys begin. Returns a function that gives the chosen x, or null.
 */
function pointable(plot, { most, end, here, read, onpick }) {
  let x = null;
  const page = Math.round(most / 20);
  const within = (to) => Math.min(end(), Math.max(0, to));
  const under = (event) => {
    const box = plot.getBoundingClientRect();
    return within(Math.round(most * (event.clientX - box.left) / box.width));
  };
  const choose = (to) => {
    x = to;
    read();
  };
  plot.addEventListener("pointermove", (event) => choose(under(event)));
  plot.addEventListener("pointerleave", () => choose(null));
  plot.addEventListener("blur", () => choose(null));
  plot.addEventListener("click", (event) => onpick?.(under(event)));
  plot.addEventListener("keydown", (event) => {
    const from = x ?? here();
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, ArrowDown: from - 1, ArrowUp: from + 1,
      PageDown: from - page, PageUp: from + page, Home: 0, End: end() }[event.key];
    if (to !== undefined) {
      choose(within(to));
    } else if (event.key === "Enter" && x !== null) {
      onpick?.(x);
    } else if (event.key === "Escape") {
      choose(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
  return () => x;
}

/**
 * A chart of lines over whole numbers x. options: {title, x, y: names of the axes; most: the largest x;
 * series: [{name, short: for the reading, style: 0 to 3, faint: true}]; low, high: bounds of y, which only values outside
 * move, to a round number, so that the axis stays where it is; log: true, also for another low bound;
 * format(y): text of a value; onpick(x): a click or Enter chose x}.
 * Returns {element, update({series: [[[x, y], ...], ...], at: x of the upright line})}; the values
 * may hold gaps (NaN), and a log axis leaves out what is not above 0.
 */
export function lineChart(options) {
  const { title, most, series, format = (y) => number(y, 3), onpick } = options;
  const { log = false } = options;
  let data = series.map(() => []), at = null, low = 0, high = 1;

  const styleOf = ({ style, faint }) => `line style-${style}` + (faint ? " faint" : "");
  const paths = series.map((line) => svg("path", { class: styleOf(line) }));
  const grid = svg("path", { class: "grid" });
  const here = svg("line", { class: "here", y1: 0, y2: SIDE });
  const pointed = svg("line", { class: "pointed", y1: 0, y2: SIDE });
  const picture = svg("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    grid, ...paths, here, pointed);
  const labels = h("div.chart-labels", { "aria-hidden": "true" });
  const plot = h("div.chart-plot", { tabindex: 0, role: "slider", "aria-label": title, "aria-valuemin": 0,
    "aria-valuemax": most, "aria-valuenow": 0 }, picture, labels);
  const reading = h("p.chart-reading");
  const sample = (line) => svg("svg", { viewBox: "0 0 30 10", class: "chart-sample", "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 30, y1: 5, y2: 5, class: styleOf(line) }));

  /** The value of a line at x, or at the last point before it. */
  function valueAt(points, x) {
    let first = 0, last = points.length - 1;
    while (first < last) {
      const middle = (first + last + 1) >> 1;
      points[middle][0] <= x ? (first = middle) : (last = middle - 1);
    }
    return points.length > 0 && points[first][0] <= x ? points[first][1] : NaN;
  }

  const place = (y) => SIDE * (1 - (log ? Math.log(y / low) / Math.log(high / low) : (y - low) / (high - low)));
  const across = (x) => (SIDE * x) / most;
  const shown = (y) => Number.isFinite(y) && (!log || y > 0);

  function path(points) {
    let text = "", pen = "M";
    for (const [x, y] of points) {
      if (shown(y)) {
        text += `${pen}${across(x).toFixed(1)} ${Math.min(SIDE, Math.max(0, place(y))).toFixed(1)}`;
        pen = "L";
      } else {
        pen = "M";
      }
    }
    return text;
  }

  function bounds() {
    let least = Infinity, largest = -Infinity;
    for (const points of data) {
      for (const [, y] of points) {
        if (shown(y)) {
          least = Math.min(least, y);
          largest = Math.max(largest, y);
        }
      }
    }
    low = log ? options.low : 0;
    high = options.high;
    if (log && least < low) {
      low = round(least, false);
    }
    if (largest > high) {
      high = round(largest, true);
    }
  }

  function read() {
    const x = probe() ?? at ?? 0;
    const values = series.map(({ name, short: brief = name }, i) => [brief, valueAt(data[i], x)])
      .filter(([, y]) => !Number.isNaN(y));
    const text = values.length === 0 ? `${options.x} ${x}` : `${options.x} ${x}: ` + values.map(([name, y]) => `${name} ${format(y)}`).join("; ");
    reading.textContent = text;
    plot.setAttribute("aria-valuenow", x);
    plot.setAttribute("aria-valuetext", text);
    pointed.setAttribute("class", probe() === null ? "off" : "pointed");
    pointed.setAttribute("x1", across(x));
    pointed.setAttribute("x2", across(x));
  }

  function draw() {
    bounds();
    const ys = log ? logTicks(low, high) : ticks(low, high, 4), xs = ticks(0, most, 4);
    const level = ys.map((y) => `M0 ${place(y)}H${SIDE}`), up = xs.map((x) => `M${across(x)} 0V${SIDE}`);
    grid.setAttribute("d", [...level, ...up].join(""));
    fill(labels,
      ys.map((y) => h("span.tick-y", { style: `top:${place(y) / 10}%` }, (options.tick ?? short)(y))),
      xs.map((x) => h("span.tick-x", { style: `left:${across(x) / 10}%` }, short(x))));
    paths.forEach((element, i) => element.setAttribute("d", path(data[i])));
    here.setAttribute("class", at === null ? "off" : "here");
    here.setAttribute("x1", across(at ?? 0));
    here.setAttribute("x2", across(at ?? 0));
    read();
  }

  const redraw = beforeFrame(draw);

  const end = () => Math.max(0, ...data.map((points) => points.at(-1)?.[0] ?? 0));
  const probe = pointable(plot, { most, end, here: () => at ?? 0,
    read, onpick });

  const element = h("figure.chart", {},
    h("figcaption", {}, title),
    h("ul.chart-legend", {}, series.map((line) => h("li", {}, sample(line), line.name))),
    h("p.chart-axis", {}, options.y),
    plot, h("p.chart-axis.chart-x", {}, options.x), reading);
  draw();
  return {
    element,
    update(now) {
      data = now.series ?? data;
      at = now.at ?? at;
      redraw();
    },
  };
}
