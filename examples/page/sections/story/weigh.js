// Screen 5: softmax turns scores into percentages; then why scores are divided by the root of d.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { story, newest } from "./model.js";
import { stage, handle, moving } from "./stage.js";
import { SENTENCE, ENDINGS, NOUNS, percent, signed, whole } from "./words.js";

const SHOWN = [1, 6, 8, 10]; // positions of the words that are dragged
const MOST = 16, LEAST = 5; // of a score, up and down
const POWERS = 9, USUAL = 6, COUNT = 1000, SEED = 1; // d is at most 2^POWERS, at first 2^USUAL

export function begin({ tell, ask }) {
  let why = false;
  const machine = machinePart((...values) => why || ask("ahead", ...values));
  const root = rootPart((...values) => why && ask("root.do", ...values));
  const other = h("button.story-choice", { type: "button", onclick: () => {
    why = !why;
    show();
  } });
  const actions = h("div.story-actions"), body = h("div.story-holder");
  const element = h("div.story-screen", {}, body, actions);

  async function show() {
    tell(why ? "root" : "text");
    other.textContent = t(why ? "story.weigh.again" : "story.weigh.why");
    fill(actions, why ? root.slider : machine.buttons, other);
    const part = why ? root : machine;
    fill(body, part.element);
    ask(why ? "" : "do");
    await part.show();
  }
  return { element, show };
}

/** The scores of all words, some of which can be dragged, and the percentages that follow. say(word, points, other,
 * times): a word leads another one. */
function machinePart(say) {
  const words = [...SENTENCE, ...ENDINGS.pizza], others = words.map((_, i) => i).filter((i) => !SHOWN.includes(i));
  const columns = [...SHOWN.map((i) => ({ name: words[i], of: [i] })), { name: t("story.weigh.others", others.length),
    of: others }];
  let learned = null, aim = null, shown = null, geometry = null; // aim: the scores without the animation
  const place = stage(draw, t("story.weigh.picture"));
  const spoken = h("p.unseen", { role: "status" });
  const element = h("div.story-holder", {}, place.element, spoken);
  const share = (of) => of.reduce((sum, i) => sum + shown.percents[i], 0);
  const compute = newest(async (given) => {
    const { call } = await story();
    return { scores: given, ...(await call("storyWeigh", { scores: given })) };
  }, (result) => {
    shown = result;
    place.redraw();
    if (result.scores === aim) { // at rest
      tellLead();
    }
    spoken.textContent = columns.map(({ name, of }) => `${name} ${percent(share(of))}`).join(", ");
  });
  const motion = moving(words.map(() => 0), compute);
  function tellLead() {
    const [first, second] = Object.keys(NOUNS).sort((a, b) => shown.scores[NOUNS[b]] - shown.scores[NOUNS[a]]);
    const times = shown.percents[NOUNS[first]] / shown.percents[NOUNS[second]];
    say(first, signed(shown.scores[NOUNS[first]] - shown.scores[NOUNS[second]]), second,
      times < 10 ? signed(times, 1) : whole(Math.round(times)));
  }
  function go(scores, ms = 0) {
    aim = scores;
    ms > 0 ? motion.to(aim, ms) : motion.jump(aim);
    enable();
  }
  const inside = (value) => Math.max(-LEAST, Math.min(MOST, value));
  const set = (i, value) => go(aim.map((old, j) => (i === j ? inside(value) : old)));
  const grips = SHOWN.map((at) => handle(place, { label: t("story.weigh.grip", words[at]), min: -LEAST, max: MOST,
    name: "score",
    onmove: (x, y) => set(at, (geometry.zero - y) / geometry.unit),
    onkey: (dx, dy) => set(at, Math.round(10 * aim[at] + dx + dy) / 10) }));

  // Halves and doubles are exact, and neither is clipped: what would leave the picture cannot be pressed.
  const steps = { sharper: (value) => value * 2, flatter: (value) => value / 2, reset: (_, i) => learned[i] };
  const allowed = { sharper: () => aim.every((value) => inside(2 * value) === 2 * value),
    flatter: () => aim.some((value) => Math.abs(value) > 0.5),
    reset: () => aim.some((value, i) => value !== learned[i]) };
  const can = (name) => aim !== null && allowed[name]();
  const buttons = Object.entries(steps).map(([name, step]) => h("button.story-choice", { type: "button",
    "aria-disabled": true, onclick: () => can(name) && go(aim.map(step), 400) }, t(`story.weigh.${name}`)));
  const enable = () => Object.keys(steps).forEach((name, i) => buttons[i].setAttribute("aria-disabled", !can(name)));

  function draw(width, height) {
    const wide = width >= 700, top = 52, strip = Math.max(40, Math.min(70, height * 0.13)), down = height - strip - 2;
    const fall = Math.max(36, height * 0.14), foot = down - fall; // where the streams begin
    const unit = (foot - (wide ? 78 : 96) - top) / (MOST + LEAST), zero = top + unit * MOST;
    geometry = { unit, zero };
    if (shown === null) {
      return;
    }
    const column = Math.min(240, width / columns.length), bar = Math.min(36, column * 0.3),
      left = (width - column * columns.length) / 2;
    const parts = [svg("path", { d: `M${left} ${zero}H${left + column * columns.length}`, class: "story-axis" }),
      svg("text", { x: left, y: zero - 6, class: "story-small" }, wide ? t("story.weigh.zero") : "0")];
    let x = 0;
    columns.forEach(({ name, of }, i) => {
      const middle = left + column * (i + 0.5), p = share(of), one = 2 * bar / of.length;
      const x1 = width * x, across = width * p, x2 = x1 + across;
      x += p;
      const turn = foot + fall * 0.6;
      of.forEach((at, j) => {
        const y = zero - unit * shown.scores[at];
        parts.push(svg("rect", { x: middle - bar + one * j, y: Math.min(y, zero), width: one * (of.length > 1 ? 0.8 : 1),
          height: Math.abs(y - zero), rx: Math.min(6, one / 4), class: `story-score flow-${i}`,
          "data-score": shown.scores[at] }));
      });
      if (of.length === 1) { // beside the handle, also when that has a ring
        parts.push(svg("text", { x: middle, y: zero - unit * shown.scores[of[0]] + (shown.scores[of[0]] < 0 ? 46 : -34),
          "text-anchor": "middle", class: "story-number" }, signed(shown.scores[of[0]])));
      }
      parts.push(svg("path", { class: `story-flow flow-${i}`,
        d: `M${middle - bar} ${foot}C${middle - bar} ${turn} ${x1} ${turn} ${x1} ${down}` +
          `H${x2}C${x2} ${turn} ${middle + bar} ${turn} ${middle + bar} ${foot}Z` }),
      svg("text", { x: Math.min(middle, width - 38), y: foot - (wide ? 12 : 28), "text-anchor": "middle", class: "story-label" }, name,
        svg("tspan", { class: "story-share", "data-percent": p, ...(wide ? { dx: 8 } : { x: middle, dy: 18 }) },
          percent(p))),
      svg("rect", { x: x1, y: down, width: across, height: strip, class: `story-piece flow-${i}` }));
      if (fits(percent(p), across, 20)) {
        parts.push(svg("text", { x: x1 + across / 2, y: down + strip / 2 + 7, "text-anchor": "middle",
          class: "story-number on" }, percent(p)));
      }
    });
    fill(place.back, parts);
    SHOWN.forEach((at, i) => grips[i].place(left + column * (i + 0.5), zero - unit * shown.scores[at],
      shown.scores[at], signed(shown.scores[at])));
  }

  return { element, buttons, async show() {
    if (aim === null) {
      learned = (await (await story()).read("pizza")).scores;
    }
    go(aim ?? [...learned], aim === null ? 1100 : 0);
  } };
}

/** Whether a short text of a size in pixels has place in a width. */
const fits = (text, width, size) => width > (text.length * 0.6 + 0.4) * size;

/** Products of random queries and keys with d numbers, and the shares of six keys, with and without the root. say(d,
 * share, divided): the largest share of the six, on average. */
function rootPart(say) {
  const asked = new Map();
  let d = 2 ** USUAL, shown = null;
  const input = h("input", { type: "range", min: 1, max: POWERS, value: USUAL, step: 1,
    oninput: () => choose(2 ** Number(input.value)) });
  const said = h("output");
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
    const most = shown.shares.map(([largest]) => percent(largest));
    say(shown.d, ...most);
    spoken.textContent = t("story.weigh.said", shown.d, signed(shown.spread[0][0], 1), signed(shown.spread[1][0], 1),
      ...most);
  });
  function choose(next) {
    d = next;
    said.textContent = `d = ${d}`;
    input.setAttribute("aria-valuetext", `d = ${d}`);
    return compute(d);
  }

  const REACH = 75, BINS = 200; // values beyond are not drawn
  function draw(width, height) {
    if (shown === null) {
      return;
    }
    const wide = width >= 700, rows = [["dots", "raw"], ["scores", "scaled"]];
    const half = height / 2, parts = [];
    rows.forEach(([key, name], row) => {
      const w = wide ? width * 0.62 : width, y0 = half * row, base = y0 + half - (wide ? 30 : 80);
      const counts = new Array(BINS).fill(0);
      shown[key].forEach((value) => {
        const bin = Math.floor((value + REACH) / (2 * REACH) * BINS);
        if (bin >= 0 && bin < BINS) {
          counts[bin]++;
        }
      });
      const top = y0 + 34, most = Math.max(...counts), tall = base - top;
      const title = `${t(`story.weigh.${name}`)}: ${t("story.weigh.spread", signed(shown.spread[row][0], 1))}`;
      parts.push(svg("text", { x: 2, y: y0 + 20, class: `story-label ${name}` }, title),
        svg("text", { x: 2, y: y0 + 42, class: "story-small" }, t("story.weigh.often")),
        svg("text", { x: w, y: base + (wide ? 18 : -8), "text-anchor": "end", class: "story-small" },
          t("story.weigh.axis")));
      counts.forEach((n, i) => n > 0 && parts.push(svg("rect", { x: w * i / BINS, y: base - tall * n / most,
        width: w / BINS + 0.3,
        height: tall * n / most, class: `story-count ${name}` })));
      parts.push(svg("path", { d: `M0 ${base}H${w}`, class: "story-axis" }));
      [-50, -25, 0, 25, 50].forEach((tick) => parts.push(svg("text", { x: w * (tick + REACH) / 2 / REACH, y: base + 18,
        "text-anchor": "middle", class: "story-small" }, signed(tick, 0))));
      // The shares of six keys, the largest first, on average.
      const x0 = wide ? w + 30 : 0, across = wide ? width - x0 : width, y = wide ? y0 + half / 2 - 18 : base + 46,
        deep = wide ? 52 : 22;
      let x = x0;
      shown.shares[row].forEach((p, i) => {
        parts.push(svg("rect", { x, y, width: Math.max(0, across * p - 2), height: deep,
          class: `story-piece flow-${i}`, "data-percent": p }));
        if (fits(percent(p), across * p, wide ? 20 : 14)) {
          parts.push(svg("text", { x: x + across * p / 2, y: y + deep / 2 + 6, "text-anchor": "middle",
            class: `story-number on ${wide ? "" : "little"}` }, percent(p)));
        }
        x += across * p;
      });
      parts.push(svg("text", { x: x0, y: y - (wide ? 10 : 7), class: "story-small" }, t("story.weigh.six")));
    });
    fill(place.back, parts);
  }
  return { element, slider, show: () => choose(d) };
}
