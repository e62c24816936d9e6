// Screen 7: attention does not know the order of words; positions as clock hands.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { stage, path, circle, label, choice, choices, actions, slider, WIDE } from "./stage.js";
import { sentencePicture } from "./sentence.js";
import { WORDS, percent, signed } from "./words.js";

export function begin(tools) {
  const views = { order: orderPart(tools), clocks: clocksPart(tools) };
  let view = "order";
  const parts = choices(Object.keys(views), (name) => t(`story.positions.${name}`), (name) => {
    view = name;
    show();
  });
  const body = h("div.story-holder"), row = actions();
  const element = h("div.story-screen", {}, body, row, actions(parts.element));
  function show() {
    parts.mark(view);
    tools.tell(view === "order" ? "text" : `${view}.text`);
    fill(body, views[view].element);
    fill(row, views[view].controls);
    return views[view].show();
  }
  return { element, show };
}

/** The sentence in any order. */
function orderPart({ ask, order }) {
  const picture = sentencePicture(t("story.it.picture"));
  let words = WORDS, random = 1;
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
  const button = (name, next) => choice(t(`story.positions.${name}`), () => {
    words = next();
    show();
  });
  async function show() {
    const { percents } = await order(words), pizza = words.indexOf("pizza"), it = words.indexOf("it");
    picture.show({ words, from: it, heads: [percents], classes: { [it]: "it", [pizza]: "meant" } });
    ask(words.some((word, i) => word !== WORDS[i]) ? "mixed" : "right", percent(percents[pizza]));
  }
  return { element: picture.element, controls: [button("shuffle", () => shuffled(words)), button("sort", () => WORDS)], show };
}

/** A position as the hands of clocks, each of which is two numbers of the encoding. */
function clocksPart({ ask, say, call }) {
  const MOST = 100;
  let places = null, wide = 0, at = 3; // wide: numbers of a position
  const place = stage(draw, t("story.positions.clocks.picture"));
  const position = slider(t("story.positions.grip"), [0, MOST, 1], move);
  /** How far right and how far up the tip of a hand is; hands begin at the top and turn clockwise. */
  const tip = (hand, of) => [places[of * wide + 2 * hand], places[of * wide + 2 * hand + 1]];
  function move(to) {
    at = to;
    position.set(at, t("story.positions.at", at));
    ask("clocks.now", at);
    say(Array.from({ length: wide / 2 }, (_, hand) => tip(hand, at).map((value) => signed(value)).join(", ")).join("; "));
    place.redraw();
  }
  function draw(width, height) {
    if (places === null) {
      return [];
    }
    const row = width >= WIDE ? 4 : 2, rows = wide / 2 / row, tall = height / rows, column = width / row;
    const radius = Math.max(10, Math.min(column * 0.4, (tall - 46) / 2));
    return Array.from({ length: wide / 2 }, (_, hand) => {
      const x = column * (hand % row + 0.5), y = tall * Math.floor(hand / row) + radius + 4, kind = `flow-${Math.min(hand, 4)}`;
      const [right, up] = tip(hand, at), turn = 2 * Math.PI / Math.atan2(...tip(hand, 1));
      return [circle(x, y, radius, "story-clock"),
        path(`M${x} ${y}L${x + 0.92 * radius * right} ${y - 0.92 * radius * up}`, `story-hand ${kind}`,
          { "data-hand": hand, "data-x": right, "data-y": up }),
        circle(x, y, 4, kind),
        label(x, y + radius + 19, `→ ${signed(right)}  ↑ ${signed(up)}`, "story-number", "middle"),
        label(x, y + radius + 37, t("story.positions.turn", turn.toFixed(0)), "story-small tight", "middle")];
    });
  }
  return { element: place.element, controls: position.element, async show() {
    if (places === null) {
      ({ places } = await call("storyPlaces", MOST + 1));
      wide = places.length / (MOST + 1);
    }
    move(at);
  } };
}
