// Screen 5: softmax turns scores into percentages; then why scores are divided by the root of d.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { newest } from "./model.js";
import { stage, handle, moving, path, rect, label, choice, actions, slider, WIDE } from "./stage.js";
import { WORDS, NOUNS, percent, signed, whole } from "./words.js";

const SHOWN = [1, 6, 8, 10]; // positions of the words that are dragged
const MOST = 16, LEAST = 5; // of a score, up and down
const POWERS = 9, USUAL = 6, COUNT = 1000, SEED = 1; // d is at most 2^POWERS, at first 2^USUAL
const KEYS = 6, REACH = 75, DRAWN = 1500; // of each query; the greatest score in the picture; how many are drawn

export function begin(tools) {
  const { tell, ask } = tools;
  let why = false;
  const machine = machinePart(tools), root = rootPart(tools);
  const other = choice("", () => {
    why = !why;
    show();
  });
  const row = actions(), body = h("div.story-holder"), element = h("div.story-screen", {}, body, row);

  function show() {
    tell(why ? "root" : "text");
    other.textContent = t(why ? "story.weigh.again" : "story.weigh.why");
    fill(row, why ? root.slider : machine.buttons, other);
    fill(body, (why ? root : machine).element);
    return (why ? root : machine).show();
  }
  return { element, show };
}

/** A piece of the bar of all shares, with its number where there is place. */
const piece = (i, x, y, width, height, text, more = {}) => [rect(x, y, width, height, `story-piece flow-${i}`, more),
  width > 12 * text.length + 8 ? label(x + width / 2, y + height / 2 + 7, text, "story-number on", "middle") : []];

/** The scores of all words, some of which can be dragged, and the percentages that follow. */
function machinePart({ ask, say, call, pizza }) {
  const others = WORDS.map((_, i) => i).filter((i) => !SHOWN.includes(i));
  const columns = [...SHOWN.map((i) => ({ name: WORDS[i], of: [i] })),
    { name: t("story.weigh.others", others.length), of: others }];
  let aim = null, shown = { scores: pizza.scores, percents: pizza.percents }, geometry = null; // aim: scores at rest
  const share = (of) => of.reduce((sum, i) => sum + shown.percents[i], 0);
  const compute = newest(async (scores) => ({ scores, ...(await call("storyWeigh", { scores })) }), (result) => {
    shown = result;
    place.redraw();
    if (result.scores === aim) { // at rest: one word leads the next
      const [first, second] = [...SHOWN].sort((a, b) => shown.scores[b] - shown.scores[a]);
      const times = shown.percents[first] / shown.percents[second];
      ask("ahead", WORDS[first], signed(shown.scores[first] - shown.scores[second]), WORDS[second],
        times < 10 ? signed(times, 1) : whole(Math.round(times)));
    }
    say(columns.map(({ name, of }) => `${name} ${percent(share(of))}`).join(", "));
  });
  const motion = moving(WORDS.map(() => 0), compute);
  const place = stage(draw, t("story.weigh.picture"));
  function go(scores, ms = 0) {
    aim = scores;
    ms > 0 ? motion.to(aim, ms) : motion.jump(aim);
    steps.forEach(([, , can], i) => buttons[i].setAttribute("aria-disabled", !can()));
  }
  const inside = (value) => Math.max(-LEAST, Math.min(MOST, value));
  const set = (i, value) => go(aim.map((old, j) => (i === j ? inside(value) : old)));
  const grips = SHOWN.map((at) => handle(place, { name: "score", label: t("story.weigh.grip", WORDS[at]), min: -LEAST, max: MOST,
    onmove: (x, y) => set(at, (geometry.zero - y) / geometry.unit),
    onkey: (dx, dy) => set(at, Math.round(10 * aim[at] + dx + dy) / 10) }));

  // Halves and doubles are exact, and neither is clipped: what would leave the picture cannot be pressed.
  const steps = [["sharper", (value) => value * 2, () => aim.every((value) => inside(2 * value) === 2 * value)],
    ["flatter", (value) => value / 2, () => aim.some((value) => Math.abs(value) > 0.5)],
    ["reset", (_, i) => pizza.scores[i], () => aim.some((value, i) => value !== pizza.scores[i])]];
  const buttons = steps.map(([name, step, can]) =>
    choice(t(name === "reset" ? "story.reset" : `story.weigh.${name}`), () => can() && go(aim.map(step), 400)));

  function draw(width, height) {
    const wide = width >= WIDE, top = 52, strip = Math.max(40, Math.min(70, height * 0.13)), down = height - strip - 2;
    const fall = Math.max(36, height * 0.14), foot = down - fall, turn = foot + fall * 0.6; // where the streams begin and turn
    const unit = (foot - (wide ? 78 : 96) - top) / (MOST + LEAST), zero = top + unit * MOST;
    const column = Math.min(240, width / columns.length), bar = Math.min(36, column * 0.3);
    const left = (width - column * columns.length) / 2, right = width - left;
    geometry = { unit, zero };
    let x = 0;
    const parts = columns.map(({ name, of }, i) => {
      const middle = left + column * (i + 0.5), p = share(of), x1 = width * x, x2 = x1 + width * p, one = 2 * bar / of.length;
      x += p;
      if (of.length === 1) {
        grips[i].place(middle, zero - unit * shown.scores[of[0]], shown.scores[of[0]], signed(shown.scores[of[0]]));
      }
      return [of.map((at, j) => {
        const score = shown.scores[at], y = zero - unit * score;
        const beside = y + (score < 0 ? 46 : -34); // the handle's ring
        return [rect(middle - bar + one * j, Math.min(y, zero), one * (of.length > 1 ? 0.8 : 1), Math.abs(y - zero),
          `story-score flow-${i}`, { rx: Math.min(6, one / 4), "data-score": score }),
        of.length > 1 ? [] : label(middle, beside, signed(score), "story-number", "middle")];
      }),
      path(`M${middle - bar} ${foot}C${middle - bar} ${turn} ${x1} ${turn} ${x1} ${down}` +
        `H${x2}C${x2} ${turn} ${middle + bar} ${turn} ${middle + bar} ${foot}Z`, `story-flow flow-${i}`),
      svg("text", { x: Math.min(middle, width - 38), y: foot - (wide ? 12 : 28), "text-anchor": "middle", class: "story-label" }, name,
        svg("tspan", { class: "story-share", "data-percent": p, ...(wide ? { dx: 8 } : { x: middle, dy: 18 }) }, percent(p))),
      piece(i, x1, down, width * p, strip, percent(p))];
    });
    return [path(`M${left} ${zero}H${right}`, "story-axis"),
      label(left, zero - 6, "0"), parts];
  }
  return { element: place.element, buttons, show: () => go(aim ?? [...pizza.scores], aim === null ? 1100 : 0) };
}

/** Scores of random queries and keys with d numbers, and the shares of six keys, with and without the root. */
function rootPart({ ask, say, call }) {
  const asked = new Map();
  let shown = null, power = USUAL;
  const place = stage(draw, t("story.weigh.histogram"));
  const compute = newest(async (d) => {
    asked.has(d) || asked.set(d, await call("storyDots", { seed: SEED + d, d, count: COUNT }));
    return { d, ...asked.get(d) };
  }, (result) => {
    shown = result;
    place.redraw();
    const most = [0, KEYS].map((i) => percent(shown.shares[i]));
    ask("root.do", shown.d, ...most);
    say(t("story.weigh.said", shown.d, ...shown.spread.map((spread) => signed(spread, 1)), ...most));
  });
  const size = slider("d", [1, POWERS, 1], choose);
  function choose(next) {
    power = next;
    size.set(power, `d = ${2 ** power}`);
    return compute(2 ** power);
  }
  function draw(width, height) {
    const half = height / 2, across = (value) => width * (value + REACH) / 2 / REACH;
    return shown === null ? [] : [["raw", shown.dots], ["scaled", shown.scores]].map(([name, scores], row) => {
      const y = half * row, base = y + 28 + (half - 100) * 0.45, low = base + 46, deep = y + half - 12 - low;
      let x = 0;
      return [label(2, y + 20, t(`story.weigh.${name}`, signed(shown.spread[row], 1)), `story-label ${name}`),
        path(scores.slice(0, DRAWN).filter((score) => Math.abs(score) < REACH).map((score) =>
          `M${across(score).toFixed(1)} ${y + 28}V${base.toFixed(1)}`).join(""), `story-count ${name}`),
        path(`M0 ${base}H${width}`, "story-axis"),
        (width < WIDE ? [-50, -25, 0] : [-50, -25, 0, 25]).map((tick) =>
          label(across(tick), base + 17, signed(tick, 0), "story-small", "middle")),
        label(width, base + 17, t("story.weigh.axis"), "story-small", "end"), label(0, low - 8, t("story.weigh.six")),
        shown.shares.slice(KEYS * row, KEYS * (row + 1)).map((p, i) => { // the largest first, on average
          const wide = width * p, left = x;
          x += wide;
          return piece(i, left, low, Math.max(0, wide - 2), deep, percent(p), { "data-percent": p });
        })];
    });
  }
  return { element: place.element, slider: size.element, show: () => choose(power) };
}
