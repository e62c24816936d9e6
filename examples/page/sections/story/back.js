// Screen 8: two next-token models learn, with the curtain (the causal mask) and without; without, the model cheats.

import { h } from "../../dom.js";
import { t } from "../../strings.js";
import { train } from "./lab.js";
import { stage, handle, rect, label, choices, actions } from "./stage.js";
import { sentencePicture } from "./sentence.js";
import { curves } from "./curve.js";
import { WORDS, IT, largest, percent, signed } from "./words.js";

const UNTIL = 300; // steps
const CHEAT = 1; // the word that takes most from the next one when it can
const KINDS = ["closed", "open"]; // the curtain: are later words hidden?

export function begin({ ask, say }) {
  const picture = sentencePicture(t("story.back.picture"));
  const losses = { closed: [], open: [] }, trained = {};
  let kind = "closed", begun = null, at = IT, spots = null; // at: the word that looks
  const lossOf = (name) => signed(trained[name].measured.score.loss);
  const chart = stage((width, height) => curves(width, height, UNTIL, KINDS.map((name) => ({ losses: losses[name], name,
    text: trained[name] && `${t(`story.back.${name}.short`)} ${lossOf(name)}` }))), t("story.back.chart"));
  const kinds = choices(KINDS, (name) => t(`story.back.${name}`), (name) => {
    kind = name;
    at = name === "closed" ? IT : CHEAT;
    draw();
  });
  const element = h("div.story-screen.two", {},
    h("div.story-holder", {}, picture.element, actions(kinds.element)), chart.element);
  const pull = (to) => {
    at = Math.max(0, Math.min(WORDS.length - 1, to));
    draw(200);
  };
  const grip = handle(picture.stage, { label: t("story.back.grip"), min: 1, max: WORDS.length, name: "curtain",
    onmove: (x, y) => pull(spots.list.filter((spot) => (spots.upright ? spot.y < y : spot.x < x)).length - 1),
    onkey: (dx, dy) => pull(at + Math.sign(dx - dy)) });
  const hem = rect(0, 0, 0, 0, "story-touch"); // the whole edge can be pulled
  grip.element.prepend(hem);

  /** The cloth over the words that the curtain hides. */
  function cloth({ upright, spots: list, size, width, height }) {
    spots = { list, upright };
    const here = list[at], next = list[at + 1], far = upright ? height : width;
    const edge = upright ? here.y + here.step / 2 : next === undefined ? here.x + here.width / 2 + size * 0.3
      : (here.x + here.width / 2 + next.x - next.width / 2) / 2;
    grip.element.style.display = kind === "closed" ? "" : "none";
    if (kind === "open") {
      return [];
    }
    const [x, y] = upright ? [width - 40, edge] : [edge, height * 0.2], guess = trained.closed?.guesses[at];
    Object.entries(upright ? { x: -x, y: -12, width, height: 36 } : { x: -12, y: -y, width: 36, height })
      .forEach(([name, value]) => hem.setAttribute(name, value));
    grip.place(x, y, at + 1, guess === undefined ? WORDS[at] : `${WORDS[at]}; ${t("story.back.guess", guess)}`);
    const folds = Math.max(1, Math.round((far - edge) / 46)), deep = (far - edge) / folds;
    const [tx, ty] = upright ? [width - 70, next?.y + 6] : [edge + 24, here.y + size * 1.7];
    return [Array.from({ length: folds }, (_, i) => {
      const from = edge + deep * i, kind = `story-curtain fold-${i % 2}`;
      return upright ? rect(0, from, width, deep + 0.5, kind) : rect(from, 0, deep + 0.5, height, kind);
    }), guess === undefined || next === undefined ? [] : label(tx, ty,
      `${t("story.back.guess", guess)} ${guess === WORDS[at + 1] ? "✓" : "✗"}`, "story-guess", upright ? "end" : "start")];
  }
  function draw(ms) {
    kinds.mark(kind);
    const { seen, weights } = trained[kind]?.measured ?? {};
    const row = seen === undefined ? null : Array.from(weights.subarray(at * seen, (at + 1) * seen));
    picture.show({ words: WORDS, from: at, heads: row === null ? [] : [row], after: cloth,
      curtain: kind === "closed" ? at + 1 : Infinity, classes: { [at]: "it" } }, ms);
    if (trained.open !== undefined) { // the second one
      const most = largest(row);
      ask(`${kind}.loss`, lossOf(kind), WORDS[at], WORDS[most], percent(row[most]));
      say(`${t("story.back.said", ...KINDS.map(lossOf))} ${WORDS[at]} → ${WORDS[most]} ${percent(row[most])}`);
    }
  }
  async function learn() {
    for (const name of KINDS) {
      trained[name] = await train({ masked: name === "closed", until: UNTIL, onstep: (list) => {
        losses[name] = list;
        chart.redraw();
      } });
      chart.redraw();
      draw();
    }
  }
  return { element, show() {
    if (begun === null) {
      ask("learning");
      begun = learn();
    }
    draw();
    return begun;
  } };
}
