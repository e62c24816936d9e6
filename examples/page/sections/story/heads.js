// Screen 9: one head mixes two words into one vector; two heads keep them apart.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { story } from "./model.js";
import { stage } from "./stage.js";
import { sentencePicture } from "./sentence.js";
import { percent, largest } from "./words.js";

const AT = { who: 1, verb: 2, whom: 4, stop: 5 };

export function begin({ ask }) {
  const picture = sentencePicture(t("story.heads.picture"));
  const dots = stage(drawDots, t("story.heads.dots"));
  const spoken = h("p.unseen", { role: "status" });
  let about = null, heads = 1, pair = [0, 1], accuracy = null, fresh = [], seeds = 0; // seeds: used so far
  const buttons = [1, 2].map((n) => h("button.story-choice", { type: "button", onclick: () => {
    heads = n;
    draw();
  } }, t(`story.heads.${n}`)));
  const another = h("button.story-choice", { type: "button", onclick: () => {
    pair = nextPair(pair);
    draw();
  } }, t("story.heads.another"));
  const answers = h("div.story-answers");
  const again = h("button.story-choice", { type: "button", onclick: () => retrain() }, t("story.heads.train"));
  const element = h("div.story-screen.two", {},
    h("div.story-holder", {}, picture.element, answers, h("div.story-actions", {}, buttons, another)),
    h("div.story-holder", {}, dots.element, h("div.story-actions", {}, again)), spoken);

  // Pairs that no model has seen: their numbers add up to 3 more than a multiple of 4.
  function nextPair([who, whom]) {
    const count = about.animals.length, next = (who * count + whom + 37) % (count * count);
    for (let i = next; ; i = (i + 1) % (count * count)) {
      const found = [Math.floor(i / count), i % count];
      if ((found[0] + found[1]) % 4 === 3) {
        return found;
      }
    }
  }
  function drawDots(width, height) {
    if (accuracy === null) {
      return;
    }
    const x0 = 30, wide = width - x0 - 30, parts = [];
    [0, 25, 50, 75, 100].forEach((tick) => {
      const x = x0 + wide * tick / 100;
      parts.push(svg("path", { d: `M${x} 8V${height - 34}`, class: tick === 0 ? "story-axis" : "story-grid" }),
        svg("text", { x, y: height - 14, "text-anchor": "middle", class: "story-small" }, percent(tick / 100)));
    });
    parts.push(svg("text", { x: x0 + wide, y: 22, "text-anchor": "end", class: "story-small" },
      t("story.heads.axis")));
    const apart = Math.min(15, (height - 60) / 24);
    [0, 1].forEach((row) => {
      const y = 8 + (height - 42) * (row + 0.5) / 2, list = fresh[row] ?? accuracy[row];
      parts.push(svg("text", { x: x0 + 8, y: y - (height - 42) / 4 + 20, class: `story-label head-${row}` },
        t(`story.heads.${row + 1}`)));
      const at = {};
      list.forEach((value, seed) => {
        const slot = Math.round(value * wide / 16), up = (at[slot] = (at[slot] ?? -1) + 1);
        parts.push(svg("circle", { cx: x0 + wide * value,
          cy: y + 12 + (up % 2 === 0 ? 1 : -1) * Math.ceil(up / 2) * apart, r: apart < 8 ? 5 : 7,
          class: `story-run head-${row}`, "data-heads": row + 1, "data-value": value }));
      });
    });
    fill(dots.back, parts);
  }
  async function draw() {
    const { call } = await story();
    const { percents, who, whom } = await call("storyHeads", { heads, who: pair[0], verb: 0, whom: pair[1] });
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", i + 1 === heads));
    const words = ["the", about.animals[pair[0]], about.verbs[0], "the", about.animals[pair[1]], "."];
    const said = [who, whom].map((list) => about.animals[largest(list)]);
    const classes = { [AT.who]: "meant", [AT.whom]: "meant", [AT.stop]: "it" };
    percents.forEach((row, head) => (heads > 1 ? classes[largest(row)] = `meant-${head}` : null));
    picture.show({ words, from: AT.stop, heads: percents, classes });
    fill(answers, [[who, 0, "who"], [whom, 1, "whom"]].map(([list, i,
      name]) => h(`p.${said[i] === about.animals[pair[i]] ? "right" : "wrong"}`, {},
      t(`story.heads.${name}`), h("b", { "data-percent": Math.max(...list) }, ` ${said[i]} `),
      said[i] === about.animals[pair[i]] ? "✓ " : "✗ ", h("span.faint", {}, `(${t("story.heads.sure",
        percent(Math.max(...list)))})`))), h("p.faint", {}, heads === 1 && said.every((animal, i) => animal === about.animals[pair[i]]) ? t("story.heads.luck") : ""));
    spoken.textContent = t("story.heads.said", said[0], said[1]);
    dots.redraw();
  }
  function range(list) {
    const [least, most] = [Math.min(...list), Math.max(...list)].map((value) => Math.round(100 * value) / 100);
    return least === most ? percent(least) : `${Math.round(100 * least)}–${percent(most)}`;
  }
  async function retrain() {
    const { call } = await story();
    again.disabled = true;
    fresh = [[], []];
    for (let i = 0; i < accuracy[0].length; i++) {
      const seed = seeds++;
      for (const row of [0, 1]) {
        fresh[row].push((await call("storyTrain", { heads: row + 1, seed })).unseen);
        dots.redraw();
      }
    }
    again.disabled = false;
    ask("measured", accuracy[0].length, range(fresh[0]), range(fresh[1]));
  }
  return { element, retrain, async show() {
    if (about === null) {
      ({ about } = await story());
      pair = nextPair([0, 0]);
      accuracy = about.accuracy;
      seeds = accuracy[0].length;
      ask("measured", accuracy[0].length, range(accuracy[0]), range(accuracy[1]));
    }
    await draw();
  } };
}
