// Screen 9: attention does not know the order of words; positions as clock hands; the learned words as a map.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { story } from "./model.js";
import { stage, handle } from "./stage.js";
import { sentencePicture } from "./sentence.js";
import { principal } from "./components.js";
import { SENTENCE, ENDINGS, percent, signed } from "./words.js";

const WIDE = 700; // pixels

export function begin({ tell, ask }) {
  const views = { order: orderPart(ask), clocks: clocksPart(ask), map: mapPart(tell, ask) };
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
    tell(view === "order" ? "text" : `${view}.text`, "");
    ask("");
    fill(body, views[view].element);
    fill(actions, views[view].actions ?? null);
    await views[view].show();
  }
  return { element, show };
}

/** The sentence in any order, read by the reader that knows positions and by the one that does not. */
function orderPart(ask) {
  const right = [...SENTENCE, ...ENDINGS.pizza], picture = sentencePicture(t("story.it.picture"));
  let words = right, positions = false, random = 1;
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
  const toggle = h("button.story-switch.calm", { type: "button", role: "switch", onclick: () => {
    positions = !positions;
    show();
  } }, h("span.knob"), t("story.positions.with"));
  async function show() {
    toggle.setAttribute("aria-checked", positions);
    const { order } = await story();
    const { percents } = await order(words, positions), pizza = words.indexOf("pizza");
    picture.show({ words, from: words.indexOf("it"), heads: [percents], classes: { [words.indexOf("it")]: "it",
      [pizza]: "meant" } });
    const mixed = words.some((word, i) => word !== right[i]);
    ask(`${positions ? "placed" : "plain"}.${mixed ? "mixed" : "right"}`, percent(percents[pizza]));
  }
  return { element: picture.element, actions: [button("shuffle", () => shuffled(words)), button("sort", () => right),
    toggle], show };
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

/** The words of the reader in the plane in which their encodings differ most. */
function mapPart(tell, ask) {
  const NEAR = 3, NAMED = ["good", "wonderful", "delicious"]; // in the text
  let words = null, rows = null, found = null, kindOf = [], chosen = 0, at = null; // kindOf: noun, end, other
  const place = stage(draw, t("story.positions.map.picture"));
  const element = h("div.story-holder", {}, place.element);
  const select = h("select.story-choice", { "aria-label": t("story.positions.word"), onchange: () =>
    choose(words.indexOf(select.value)) });
  place.picture.addEventListener("pointerdown", (event) => {
    const box = place.picture.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const far = found.points.map((point) => Math.hypot(at(point)[0] - x, at(point)[1] - y));
    choose(far.indexOf(Math.min(...far)));
  });
  const distance = (i, j) => Math.hypot(...rows[i].map((value, k) => value - rows[j][k]));
  const nearest = (i) => words.map((_, j) => j).filter((j) => j !== i)
    .sort((a, b) => distance(i, a) - distance(i, b)).slice(0, NEAR);
  function choose(next) {
    chosen = next;
    select.value = words[chosen];
    place.redraw();
    ask("map.near", words[chosen], ...nearest(chosen).map((i) => words[i]));
  }
  function draw(width, height) {
    if (found === null) {
      return;
    }
    const box = [0, 1].map((c) => [Math.min, Math.max].map((end) => end(...found.points.map((p) => p[c]))));
    const unit = [0, 1].map((c) => ([width - 110, height - 50][c]) / (box[c][1] - box[c][0]));
    const middle = box.map(([a, b]) => (a + b) / 2);
    at = (p) => [width / 2 + (p[0] - middle[0]) * unit[0], height / 2 + 8 - (p[1] - middle[1]) * unit[1]];
    const near = nearest(chosen), parts = [], taken = [];
    const kinds = (i) => (i === chosen ? "chosen" : near.includes(i) ? "near" : "");
    near.forEach((i) => parts.push(svg("path", { d: `M${at(found.points[chosen])}L${at(found.points[i])}`,
      class: "story-near" })));
    found.points.forEach((p, i) => parts.push(svg("circle", { cx: at(p)[0], cy: at(p)[1], r: i === chosen ? 7 : 4.5,
      class: `story-word-point kind-${kindOf[i]}`, "data-word": words[i], "data-x": p[0], "data-y": p[1] })));
    // Names where there is place: first the chosen word, then those of the texts, then the others.
    const size = 15, order = [chosen, ...NAMED.map((word) => words.indexOf(word)), ...near, ...words.map((_, i) => i)];
    [...new Set(order)].sort((a, b) => order.indexOf(a) - order.indexOf(b)).forEach((i) => {
      const [x, y] = at(found.points[i]), long = words[i].length * size * 0.58;
      const spots = [[9, 5, "start"], [-9, 5, "end"], [0, -9, "middle"], [0, 20, "middle"], [0, 24, "middle"],
        [9, 22, "start"], [-9, 22, "end"]];
      const spot = spots.find(([dx, dy, anchor]) => {
        const from = x + dx - (anchor === "end" ? long : anchor === "middle" ? long / 2 : 0);
        const mine = [from, y + dy - 13, from + long, y + dy + 4];
        const free = mine[0] > 0 && mine[2] < width && mine[1] > 0 && mine[3] < height &&
          taken.every((o) => mine[2] < o[0] || mine[0] > o[2] || mine[3] < o[1] || mine[1] > o[3]);
        free && taken.push(mine);
        return free;
      });
      if (spot !== undefined) {
        parts.push(svg("text", { x: x + spot[0], y: y + spot[1], "text-anchor": spot[2],
          class: `story-label map ${kinds(i)}` }, words[i]));
      }
    });
    fill(place.back, parts);
  }
  return { element, actions: select, async show() {
    const { call, about } = await story();
    if (found === null) {
      words = about.words;
      const { embedding } = await call("storyWords"), wide = embedding.length / words.length;
      rows = words.map((_, i) => embedding.slice(i * wide, (i + 1) * wide));
      const [first, count] = about.nouns, verbs = words.indexOf("tasted");
      kindOf = words.map((_, i) => (i >= first && i < first + count ? 0 : i >= verbs ? 1 : 2));
      found = principal(rows);
      fill(select, [...words].sort().map((word) => h("option", {}, word)));
      chosen = words.indexOf("good");
    }
    tell("map.text", percent(found.shares[0] + found.shares[1]));
    choose(chosen);
  } };
}
