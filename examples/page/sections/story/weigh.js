// Screen 3: softmax turns scores into percentages; then why scores are divided by the root of d.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { story, newest } from "./model.js";
import { stage, handle, moving } from "./stage.js";
import { SENTENCE, ENDINGS, percent, signed } from "./words.js";

const SHOWN = [1, 6, 8, 10]; // positions in the sentence
const MOST = 6, LEAST = 3; // of a score, up and down
const POWERS = 9, COUNT = 2000, SEED = 1;

export function begin({ tell, ask }) {
  let why = false;
  const machine = machinePart(), root = rootPart();
  const other = h("button.story-choice", { type: "button", onclick: () => {
    why = !why;
    show();
  } });
  const sharper = h("button.story-choice", { type: "button", onclick: () => machine.scale(2) },
    t("story.weigh.sharper"));
  const flatter = h("button.story-choice", { type: "button", onclick: () => machine.scale(0.5) },
    t("story.weigh.flatter"));
  const actions = h("div.story-actions"), body = h("div.story-holder");
  const element = h("div.story-screen", {}, body, actions);

  async function show() {
    tell(why ? "root" : "text");
    ask(why ? "root.do" : "do");
    other.textContent = t(why ? "story.weigh.again" : "story.weigh.why");
    fill(actions, why ? root.slider : [sharper, flatter], other);
    const part = why ? root : machine;
    fill(body, part.element);
    await part.show();
  }
  return { element, show };
}

/** Scores to drag, and the percentages that follow. */
function machinePart() {
  const words = SHOWN.map((i) => [...SENTENCE, ...ENDINGS.pizza][i]);
  let scores = words.map(() => 0), shown = null, begun = false, geometry = null;
  const place = stage(draw, t("story.weigh.picture"));
  const spoken = h("p.unseen", { role: "status" });
  const element = h("div.story-holder", {}, place.element, spoken);
  const compute = newest(async (given) => {
    const { call } = await story();
    return { scores: given, ...(await call("storyWeigh", { scores: given })) };
  }, (result) => {
    shown = result;
    place.redraw();
    spoken.textContent = words.map((word, i) => `${word} ${percent(result.percents[i])}`).join(", ");
  });
  const motion = moving(scores, (values) => {
    scores = values.map((value) => Math.max(-LEAST, Math.min(MOST, value)));
    compute(scores);
  });
  const set = (i, value) => motion.jump(scores.map((old, j) => (i === j ? value : old)));
  const grips = words.map((word, i) => handle(place, { label: t("story.weigh.grip", word), min: -LEAST, max: MOST,
    name: "score",
    onmove: (x, y) => set(i, (geometry.zero - y) / geometry.unit),
    onkey: (dx, dy) => set(i, Math.round(10 * scores[i] + dx + dy) / 10) }));

  function draw(width, height) {
    const wide = width >= 700, top = 34, strip = Math.max(40, Math.min(70, height * 0.13)), down = height - strip - 2;
    const fall = Math.max(36, height * 0.14), foot = down - fall; // where the streams begin
    const unit = (foot - (wide ? 58 : 82) - top) / (MOST + LEAST), zero = top + unit * MOST;
    geometry = { unit, zero };
    if (shown === null) {
      return;
    }
    const column = Math.min(260, width / words.length), bar = Math.min(36, column * 0.3),
      left = (width - column * words.length) / 2;
    const parts = [svg("path", { d: `M${left} ${zero}H${left + column * words.length}`, class: "story-axis" }),
      svg("text", { x: left, y: zero - 6, class: "story-small" }, wide ? t("story.weigh.zero") : "0"),
      svg("text", { x: left, y: 16, class: "story-small" }, t("story.weigh.four"))];
    let x = 0;
    words.forEach((word, i) => {
      const middle = left + column * (i + 0.5), y = zero - unit * shown.scores[i], p = shown.percents[i];
      const x1 = width * x, across = width * p, x2 = x1 + across;
      x += p;
      const turn = foot + fall * 0.6;
      parts.push(svg("rect", { x: middle - bar, y: Math.min(y, zero), width: 2 * bar, height: Math.abs(y - zero),
        rx: 6, class: `story-score flow-${i}` }),
        svg("text", { x: middle, y: y + (shown.scores[i] < 0 ? 34 : -18), "text-anchor": "middle",
          class: "story-number" }, signed(shown.scores[i], 1)),
        svg("path", { class: `story-flow flow-${i}`,
          d: `M${middle - bar} ${foot}C${middle - bar} ${turn} ${x1} ${turn} ${x1} ${down}` +
            `H${x2}C${x2} ${turn} ${middle + bar} ${turn} ${middle + bar} ${foot}Z` }),
        svg("text", { x: middle, y: foot - (wide ? 12 : 28), "text-anchor": "middle", class: "story-label" }, word,
          svg("tspan", { class: "story-share", "data-percent": p, ...(wide ? { dx: 8 } : { x: middle, dy: 18 }) },
            percent(p))),
        svg("rect", { x: x1, y: down, width: across, height: strip, class: `story-piece flow-${i}` }));
      if (across > 52) {
        parts.push(svg("text", { x: x1 + across / 2, y: down + strip / 2 + 7, "text-anchor": "middle",
          class: "story-number on" }, percent(p)));
      }
    });
    fill(place.back, parts);
    words.forEach((word, i) => grips[i].place(left + column * (i + 0.5), zero - unit * shown.scores[i],
      shown.scores[i], signed(shown.scores[i], 1)));
  }

  return { element, scale: (by) => motion.to(scores.map((value) => value * by), 400), async show() {
    if (begun) {
      return;
    }
    begun = true;
    const all = (await (await story()).read("pizza")).scores;
    motion.to(SHOWN.map((i) => all[i]), 1100);
  } };
}

/** Products of random queries and keys with d numbers, and a softmax of some, with and without the root. */
function rootPart() {
  const asked = new Map();
  let d = 2, shown = null;
  const input = h("input", { type: "range", min: 1, max: POWERS, value: 1, step: 1,
    oninput: () => choose(2 ** Number(input.value)) });
  const said = h("output", {}, "d = 2");
  const slider = h("label.story-slider", {}, said, input);
  const place = stage(draw, t("story.weigh.histogram"));
  const spoken = h("p.unseen", { role: "status" });
  const element = h("div.story-holder", {}, place.element, spoken);
  const compute = newest(async (wanted) => {
    const { call } = await story();
    asked.has(wanted) || asked.set(wanted, await call("storyDots", { seed: SEED + wanted, d: wanted, count: COUNT }));
    return { d: wanted, ...asked.get(wanted) };
  }, (result) => {
    shown = result;
    place.redraw();
    const most = (list) => percent(Math.max(...list));
    spoken.textContent = t("story.weigh.said", shown.d, signed(shown.spread[0][0], 1), signed(shown.spread[1][0], 1),
      most(shown.percents[0]), most(shown.percents[1]));
  });
  function choose(next) {
    d = next;
    said.textContent = `d = ${d}`;
    input.setAttribute("aria-valuetext", `d = ${d}`);
    return compute(d);
  }

  const REACH = 50, BINS = 200; // values beyond are not drawn
  function draw(width, height) {
    if (shown === null) {
      return;
    }
    const wide = width >= 700, rows = [["dots", "raw"], ["scores", "scaled"]];
    const half = height / 2, parts = [];
    rows.forEach(([key, name], row) => {
      const w = wide ? width * 0.62 : width, y0 = half * row, base = y0 + half - 30 - (wide ? 0 : 34);
      const counts = new Array(BINS).fill(0);
      shown[key].forEach((value) => {
        const bin = Math.floor((value + REACH) / (2 * REACH) * BINS);
        if (bin >= 0 && bin < BINS) {
          counts[bin]++;
        }
      });
      const top = y0 + 34, most = Math.max(...counts), tall = base - top;
      const title = t(`story.weigh.${name}`);
      parts.push(svg("text", { x: 2, y: y0 + 20, class: `story-label ${name}` }, title));
      counts.forEach((n, i) => n > 0 && parts.push(svg("rect", { x: w * i / BINS, y: base - tall * n / most,
        width: w / BINS + 0.3,
        height: tall * n / most, class: `story-count ${name}` })));
      parts.push(svg("path", { d: `M0 ${base}H${w}`, class: "story-axis" }));
      [-40, -20, 0, 20, 40].forEach((tick) => parts.push(svg("text", { x: w * (tick + REACH) / 2 / REACH, y: base + 18,
        "text-anchor": "middle", class: "story-small" }, signed(tick, 0))));
      // The percentages of six of the products.
      const x0 = wide ? w + 30 : 0, across = wide ? width - x0 : width, y = wide ? y0 + half / 2 - 18 : base + 26,
        deep = wide ? 52 : 22;
      let x = x0;
      shown.percents[row].forEach((p, i) => {
        parts.push(svg("rect", { x, y, width: Math.max(0, across * p - 2), height: deep,
          class: `story-piece flow-${i % 4}`, "data-percent": p }));
        if (across * p > 46) {
          parts.push(svg("text", { x: x + across * p / 2, y: y + deep / 2 + 6, "text-anchor": "middle",
            class: `story-number on ${wide ? "" : "little"}` }, percent(p)));
        }
        x += across * p;
      });
      if (wide) {
        parts.push(svg("text", { x: x0, y: y - 10, class: "story-small" }, t("story.weigh.six")));
      }
    });
    fill(place.back, parts);
  }
  return { element, slider, show: () => choose(d) };
}
