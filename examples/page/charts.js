// Small charts. Lines are SVG that stretches with the page; their labels are text of the page, so they
// keep their size. The values can be read by pointer and keyboard, and as a table.

import { h, svg, fill } from "./dom.js";
import { t } from "./strings.js";
import { number } from "./matrix.js";

const SIDE = 1000; // of the plot, in units of its own

/** About `most` round values from low to high. */
export function ticks(low, high, most = 5) {
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
 * it. xOf(fraction of the width): the x there; step: of an arrow key; most: the largest x; end(): the largest
 * now; here(): where keys begin. Returns a function that gives the chosen x, or null.
 */
function pointable(plot, { xOf, step, most, end, here, read, onpick }) {
  let x = null;
  const page = step * Math.round(most / 20 / step);
  const within = (to) => Math.min(end(), Math.max(0, to));
  const under = (event) => {
    const box = plot.getBoundingClientRect();
    return within(xOf((event.clientX - box.left) / box.width));
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
    const to = { ArrowLeft: from - step, ArrowRight: from + step, ArrowDown: from - step, ArrowUp: from + step,
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

/** A table that is built only when it is opened; rows() gives its rows. */
function tableBehind(title, heads, rows) {
  const table = h("table.chart-table");
  const build = () => fill(table, h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, rows().map(([head, ...cells]) =>
      h("tr", {}, h("th", { scope: "row" }, head), cells.map((cell) => h("td", {}, cell))))));
  const details = h("details.chart-behind", { ontoggle: () => details.open && build() },
    h("summary", {}, t("chart.table")),
    h("button", { type: "button", onclick: build }, t("chart.refresh")),
    h("div.scroll", { tabindex: 0, role: "region", "aria-label": `${title}: ${t("chart.table")}` }, table));
  return details;
}

/**
 * A chart of lines over whole numbers x. options: {title, x, y: names of the axes; most: the largest x;
 * series: [{name, short: for the reading, style: 0 to 3, faint: true}]; low, high: bounds of y, which only values outside
 * move, to a round number, so that the axis stays where it is; log: true, also for another low bound;
 * format(y): text of a value; onpick(x): a click or Enter chose x; tableEvery: x of the rows of its table}.
 * Returns {element, update({series: [[[x, y], ...], ...], at: x of the upright line, log})}; the values
 * may hold gaps (NaN), and a log axis leaves out what is not above 0.
 */
export function lineChart(options) {
  const { title, most, series, format = (y) => number(y, 3), onpick, tableEvery = 25 } = options;
  let data = series.map(() => []), at = null, log = options.log ?? false, low = 0, high = 1;

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
  const probe = pointable(plot, { xOf: (part) => Math.round(most * part), step: 1, most, end, here: () => at ?? 0,
    read, onpick });

  const rows = () => {
    const found = [];
    for (let x = 0; x <= end(); x += tableEvery) {
      found.push([String(x), ...data.map((points) => {
        const y = valueAt(points, x);
        return Number.isNaN(y) ? "" : format(y);
      })]);
    }
    return found;
  };
  const element = h("figure.chart", {},
    h("figcaption", {}, title),
    h("ul.chart-legend", {}, series.map((line) => h("li", {}, sample(line), line.name))),
    h("p.chart-axis", {}, options.y),
    plot, h("p.chart-axis.chart-x", {}, options.x), reading,
    tableBehind(title, [options.x, ...series.map(({ name }) => name)], rows));
  draw();
  return {
    element,
    update(now) {
      data = now.series ?? data;
      at = now.at ?? at;
      log = now.log ?? log;
      redraw();
    },
  };
}

/**
 * Shares over time: a row of shades for each name, one column for each measurement. options: {title, x,
 * names, most: the largest x, every: width of a column in x, onpick(x)}. Returns {element,
 * update(columns: [[x, [share, ...]], ...], at)}.
 */
export function stripes({ title, x: xName, names, most, every, onpick }) {
  let columns = [], at = 0;
  const drawn = new Map(); // x -> the column's values and group
  const body = svg("g");
  const here = svg("line", { class: "here", y1: 0, y2: names.length });
  const picture = svg("svg", { viewBox: `0 0 ${most + every} ${names.length}`, preserveAspectRatio: "none",
    "aria-hidden": "true" }, body, here);
  const plot = h("div.stripes-plot", { style: `--rows:${names.length}`, tabindex: 0, role: "slider",
    "aria-label": title, "aria-valuemin": 0, "aria-valuemax": most, "aria-valuenow": 0 }, picture,
  h("div.chart-labels", { "aria-hidden": "true" },
    ticks(0, most, 4).map((x) => h("span.tick-x", { style: `left:${(100 * x) / (most + every)}%` }, short(x)))));
  const reading = h("p.chart-reading");
  const now = names.map(() => h("span.stripes-now"));

  const columnAt = (x) => columns.findLast(([from]) => from <= x) ?? columns[0];
  function read() {
    const column = columnAt(probe() ?? at);
    if (column === undefined) {
      return;
    }
    now.forEach((span, i) => (span.textContent = `${Math.round(100 * column[1][i])} %`));
    const best = column[1].map((share, i) => [share, names[i]]).sort((a, b) => b[0] - a[0]).slice(0, 3);
    const shares = best.map(([share, name]) => `${name} ${Math.round(100 * share)} %`);
    const text = `${xName} ${column[0]}: ${shares.join(", ")}`;
    reading.textContent = text;
    plot.setAttribute("aria-valuenow", column[0]);
    plot.setAttribute("aria-valuetext", text);
  }
  function draw() {
    const kept = new Set(columns.map(([x]) => x));
    drawn.forEach(({ group }, x) => {
      if (!kept.has(x)) {
        group.remove();
        drawn.delete(x);
      }
    });
    for (const [x, shares] of columns) {
      if (drawn.get(x)?.shares === shares) {
        continue;
      }
      drawn.get(x)?.group.remove();
      const group = svg("g", {}, shares.map((share, i) =>
        svg("rect", { x, y: i, width: every, height: 1, "fill-opacity": share.toFixed(3) })));
      drawn.set(x, { shares, group });
      body.append(group);
    }
    here.setAttribute("x1", at);
    here.setAttribute("x2", at);
    read();
  }
  const probe = pointable(plot, { xOf: (part) => every * Math.floor(((most + every) * part) / every), step: every,
    most, end: () => columns.at(-1)?.[0] ?? 0, here: () => every * Math.round(at / every), read, onpick });
  const element = h("figure.chart", {}, h("figcaption", {}, title),
    h("div.stripes", {}, h("div.stripes-names", { "aria-hidden": "true" },
      names.map((name, i) => h("span", {}, name, " ", now[i]))), plot),
    h("p.chart-axis.chart-x", {}, xName), reading,
    tableBehind(title, [xName, ...names], () =>
      columns.map(([x, shares]) => [String(x), ...shares.map((share) => `${Math.round(100 * share)} %`)])));
  const redraw = beforeFrame(draw);
  return {
    element,
    update(given, where) {
      columns = given;
      at = where;
      redraw();
    },
  };
}
