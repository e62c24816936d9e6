// Screen 7: attention does not know the order of words; positions as clock hands.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { story } from "./model.js";
import { stage, handle } from "./stage.js";
import { sentencePicture } from "./sentence.js";
import { SENTENCE, ENDINGS, percent, signed } from "./words.js";

const WIDE = 700; // pixels

export function begin({ tell, ask }) {
  const views = { order: orderPart(ask), clocks: clocksPart(ask) };
  let view = "order";
  const choices = Object.keys(views).map((name) => h("button.story-choice", { type: "button", onclick: () => {
    view = name;
    show();
  } }, t(`story.positions.${name}`)));
  const body = h("div.story-holder"), actions = h("div.story-actions");
  const element = h("div.story-screen", {}, body, actions, h("div.story-actions", { role: "group",
    "aria-label": t("story.positions.views") }, choices));
  async function show() {
    choices.forEach((choice, i) => choice.setAttribute("aria-pressed", Object.keys(views)[i] === view));
    tell(view === "order" ? "text" : `${view}.text`);
    ask("");
    fill(body, views[view].element);
    fill(actions, views[view].actions ?? null);
    await views[view].show();
  }
  return { element, show };
}

/** The sentence in any order. */
function orderPart(ask) {
  const right = [...SENTENCE, ...ENDINGS.pizza], picture = sentencePicture(t("story.it.picture"));
  let words = right, random = 1;
  /** A shuffled copy; the same sequence of them for every reader of the page. */
  function shuffled(list) {
    const copy = [...list];
    for (let i = copy.length - 1; i > 0; i--) {
      random = (random * 48271) % 2147483647;
      const j = random % (i + 1);
      [copy[i], copy[j]] = [copy[j], copy[i]];
    }
    return copy;
  }
  const button = (name, next) => h("button.story-choice", { type: "button", onclick: () => {
    words = next();
    show();
  } }, t(`story.positions.${name}`));
  async function show() {
    const { order } = await story();
    const { percents } = await order(words), pizza = words.indexOf("pizza");
    picture.show({ words, from: words.indexOf("it"), heads: [percents], classes: { [words.indexOf("it")]: "it",
      [pizza]: "meant" } });
    const mixed = words.some((word, i) => word !== right[i]);
    ask(mixed ? "mixed" : "right", percent(percents[pizza]));
  }
  return { element: picture.element, actions: [button("shuffle", () => shuffled(words)), button("sort", () => right)], show };
}

/** A position as the hands of clocks, each of which is two numbers of the encoding. */
function clocksPart(ask) {
  const MOST = 100, CURVES = 4;
  let places = null, wide = 0, at = 3, geometry = null; // wide: numbers of a position
  const place = stage(draw, t("story.positions.clocks.picture"));
  const spoken = h("p.unseen", { role: "status" });
  const element = h("div.story-holder", {}, place.element, spoken);
  const grip = handle(place, { label: t("story.positions.grip"), min: 0, max: MOST, name: "position",
    onmove: (x) => move(Math.round((x - geometry.left) / geometry.step)), onkey: (dx, dy) => move(at + dx + dy) });
  /** How far right and how far up the tip of a hand is; hands begin at the top and turn clockwise. */
  const tip = (hand, position) => [places[position * wide + 2 * hand], places[position * wide + 2 * hand + 1]];
  function move(to) {
    at = Math.max(0, Math.min(MOST, to));
    place.redraw();
    ask("clocks.now", at);
    spoken.textContent = Array.from({ length: wide / 2 }, (_, hand) => tip(hand, at).map((value) =>
      signed(value)).join(", ")).join("; ");
  }
  function draw(width, height) {
    if (places === null) {
      return;
    }
    const hands = wide / 2, row = width >= WIDE ? hands : hands / 2, rows = hands / row, parts = [];
    const low = Math.max(110, height * 0.36), tall = (height - low) / rows, column = width / row;
    const radius = Math.max(10, Math.min(column * 0.4, (tall - 46) / 2, 74));
    for (let hand = 0; hand < hands; hand++) {
      const x = column * (hand % row + 0.5), y = tall * Math.floor(hand / row) + radius + 4;
      const [right, up] = tip(hand, at), [r, u] = tip(hand, 1), turn = 2 * Math.PI / Math.atan2(r, u);
      const kind = hand < CURVES ? `flow-${hand}` : "flow-4";
      parts.push(svg("circle", { cx: x, cy: y, r: radius, class: "story-clock" }),
        svg("path", { d: `M${x} ${y}L${x + 0.92 * radius * right} ${y - 0.92 * radius * up}`,
          class: `story-hand ${kind}`, "data-hand": hand, "data-x": right, "data-y": up }),
        svg("circle", { cx: x, cy: y, r: 4, class: kind }),
        svg("text", { x, y: y + radius + 19, "text-anchor": "middle", class: "story-number" },
          width >= WIDE ? `→ ${signed(right)}  ↑ ${signed(up)}` : `${signed(right, 1)} ${signed(up, 1)}`),
        svg("text", { x, y: y + radius + 37, "text-anchor": "middle", class: "story-small tight" },
          width >= WIDE ? t("story.positions.turn", turn.toFixed(0)) : `↻ ${turn.toFixed(0)}`));
    }
    // How far right the tips of the first hands are, for each position.
    const left = 16, step = (width - 2 * left) / MOST, middle = height - low / 2 + 4, deep = low / 2 - 30;
    geometry = { left, step };
    parts.push(svg("path", { d: `M${left} ${middle}H${width - left}`, class: "story-axis" }),
      svg("text", { x: left, y: height - 6, class: "story-small" }, "0"),
      svg("text", { x: width - left, y: height - 6, "text-anchor": "end", class: "story-small" },
        t("story.positions.axis", MOST)));
    for (let hand = CURVES - 1; hand >= 0; hand--) {
      parts.push(svg("path", { class: `story-wave flow-${hand}`, d: `M${Array.from({ length: MOST + 1 }, (_, i) =>
        `${(left + step * i).toFixed(1)} ${(middle - deep * tip(hand, i)[0]).toFixed(1)}`).join("L")}` }));
    }
    parts.push(svg("path", { d: `M${left + step * at} ${middle - deep - 8}V${middle + deep + 8}`,
      class: "story-here" }));
    fill(place.back, parts);
    grip.place(left + step * at, middle, at, String(at));
  }
  return { element, async show() {
    if (places === null) {
      const { call } = await story();
      ({ places } = await call("storyPlaces", MOST + 1));
      wide = places.length / (MOST + 1);
    }
    move(at);
  } };
}
