// Screen 8: two next-token models learn, with the curtain (the causal mask) and without; without, the model cheats.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { train } from "./lab.js";
import { stage, handle } from "./stage.js";
import { sentencePicture } from "./sentence.js";
import { curves } from "./curve.js";
import { IT, largest, percent, signed } from "./words.js";

export const UNTIL = 300; // steps
const CHEAT = 1; // the word that takes most from the next one when it can
const KINDS = { closed: true, open: false }; // the curtain: are later words hidden?
const WORDS = ["the", "pizza", "came", "out", "of", "the", "oven", "and", "it", "tasted", "good"];

export function begin({ ask }) {
  const picture = sentencePicture(t("story.back.picture"));
  const losses = { closed: [], open: [] }, trained = {};
  let kind = "closed", begun = null, at = IT, spots = null; // at: the word that looks
  const chart = stage(drawChart, t("story.back.chart"));
  const spoken = h("p.unseen", { role: "status" });
  const buttons = Object.keys(KINDS).map((name) => h("button.story-choice", { type: "button", onclick: () => {
    kind = name;
    at = name === "closed" ? IT : CHEAT;
    draw();
  } }, t(`story.back.${name}`)));
  const element = h("div.story-screen.two", {}, h("div.story-holder", {}, picture.element, h("div.story-actions", {},
    buttons)),
    chart.element, spoken);
  const grip = handle(picture.stage, { label: t("story.back.grip"), min: 1, max: WORDS.length, name: "curtain",
    onmove: (x, y) => pull(spots.list.filter((spot) => (spots.upright ? spot.y < y : spot.x < x)).length - 1),
    onkey: (dx, dy) => pull(at + Math.sign(dx - dy)) });

  const hem = svg("rect", { class: "story-touch" }); // the whole edge can be pulled
  grip.element.prepend(hem);

  function pull(to) {
    at = Math.max(0, Math.min(WORDS.length - 1, to));
    draw(200);
  }
  function drawChart(width, height) {
    fill(chart.back, curves({ x: 34, y: 8, width: width - 50, height: height - 40, steps: UNTIL, most: 5.5,
      loss: t("story.loss"), step: t("story.steps"), curves: Object.keys(KINDS).map((name) => ({ losses: losses[name],
        name,
        label: trained[name] === undefined ? undefined : `${t(`story.back.${name}.short`)} ${signed(trained[name].measured.score.loss)}` })) }));
  }
  /** The cloth over the words that the curtain hides. */
  function cloth(place, { upright, spots: list, size, width, height }) {
    spots = { list, upright };
    const here = list[at], next = list[at + 1];
    const edge = upright ? here.y + here.step / 2 : next === undefined ? here.x + here.width / 2 + size * 0.3
      : (here.x + here.width / 2 + next.x - next.width / 2) / 2;
    grip.element.style.display = kind === "closed" ? "" : "none";
    if (kind === "open") {
      return;
    }
    const far = upright ? height : width, folds = Math.max(1, Math.round((far - edge) / 46));
    for (let i = 0; i < folds; i++) {
      const from = edge + (far - edge) * i / folds, deep = (far - edge) / folds;
      place.back.append(svg("rect", upright ? { x: 0, y: from, width, height: deep + 0.5,
        class: `story-curtain fold-${i % 2}` }
        : { x: from, y: 0, width: deep + 0.5, height, class: `story-curtain fold-${i % 2}` }));
    }
    const [x, y] = upright ? [width - 40, edge] : [edge, height * 0.2];
    Object.entries(upright ? { x: -x, y: -12, width, height: 36 } : { x: -12, y: -y, width: 36, height })
      .forEach(([name, value]) => hem.setAttribute(name, value));
    const guess = trained.closed?.guesses[at];
    grip.place(x, y, at + 1, guess === undefined ? WORDS[at] : `${WORDS[at]}; ${t("story.back.guess", guess)}`);
    if (guess !== undefined && next !== undefined) {
      const text = `${t("story.back.guess", guess)} ${guess === WORDS[at + 1] ? "✓" : "✗"}`;
      place.back.append(svg("text", { class: "story-guess", ...(upright ? { x: width - 70, y: next.y + 6,
        "text-anchor": "end" } : { x: edge + 24, y: here.y + size * 1.7 }) }, text));
    }
  }
  function draw(ms) {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", Object.keys(KINDS)[i] === kind));
    const now = trained[kind], curtain = kind === "closed" ? at + 1 : Infinity;
    const looks = { words: WORDS, from: at, after: cloth, curtain, reserve: true };
    if (now === undefined) {
      picture.show({ ...looks, heads: [], classes: { [at]: "it" } });
      return;
    }
    const { seen, weights, score } = now.measured;
    const row = Array.from(weights.subarray(at * seen, (at + 1) * seen)), most = largest(row);
    picture.show({ ...looks, heads: [row], classes: { [at]: "it" } }, ms);
    if (trained.open !== undefined && trained.closed !== undefined) {
      ask(`${kind}.loss`, signed(score.loss), WORDS[at], WORDS[most], percent(row[most]));
      spoken.textContent = `${t("story.back.said", signed(trained.closed.measured.score.loss), signed(trained.open.measured.score.loss))
      } ${WORDS[at]} → ${WORDS[most]} ${percent(row[most])}`;
    }
  }
  async function learn() {
    for (const [name, masked] of Object.entries(KINDS)) {
      trained[name] = await train({ masked, until: UNTIL, guessing: name === "closed", onstep: (list) => {
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
