// Screen 9: one head mixes two words into one vector; two heads keep them apart.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { stage, path, circle, label, choice, choices, actions } from "./stage.js";
import { sentencePicture } from "./sentence.js";
import { percent, largest } from "./words.js";

const WHO = 1, WHOM = 4, STOP = 5, LENGTH = 6; // positions

export function begin({ ask, say, call, about: { animals, accuracy } }) {
  const picture = sentencePicture(t("story.heads.picture")), dots = stage(drawDots, t("story.heads.dots"));
  let heads = 1, pair = nextPair([0, 0]);
  const numbers = choices([1, 2], (n) => t(`story.heads.${n}`), (n) => {
    heads = n;
    show();
  });
  const another = choice(t("story.heads.another"), () => {
    pair = nextPair(pair);
    show();
  });
  const answers = h("div.story-answers");
  const element = h("div.story-screen.two", {},
    h("div.story-holder", {}, picture.element, answers, actions(numbers.element, another)), dots.element);

  // Pairs that no model has seen: their numbers add up to 3 more than a multiple of 4.
  function nextPair([who, whom]) {
    const count = animals.length;
    for (let i = who * count + whom + 37; ; i++) {
      const found = [Math.floor(i / count) % count, i % count];
      if ((found[0] + found[1]) % 4 === 3) {
        return found;
      }
    }
  }
  /** A dot for each model, of one head above, of two below: how many new sentences it gets right. */
  function drawDots(width, height) {
    const x0 = 30, wide = width - x0 - 30, half = (height - 42) / 2, apart = Math.min(15, (height - 60) / 24);
    return [[0, 25, 50, 75, 100].map((tick) => {
      const x = x0 + wide * tick / 100;
      return [path(`M${x} 8V${height - 34}`, tick === 0 ? "story-axis" : "story-grid"),
        label(x, height - 14, percent(tick / 100), "story-small", "middle")];
    }), label(x0 + wide, 22, t("story.heads.axis"), "story-small", "end"), accuracy.map((list, row) => {
      const at = {}; // dots of a place, above and below each other
      return [label(x0 + 8, 8 + half * row + 20, t(`story.heads.${row + 1}`), `story-label head-${row}`), list.map((value) => {
        const slot = Math.round(value * wide / 16), up = (at[slot] = (at[slot] ?? -1) + 1);
        const y = 20 + half * (row + 0.5) + (up % 2 === 0 ? 1 : -1) * Math.ceil(up / 2) * apart;
        return circle(x0 + wide * value, y, apart < 8 ? 5 : 7, `story-run head-${row}`,
          { "data-heads": row + 1, "data-value": value });
      })];
    })];
  }
  function range(list) {
    const [least, most] = [Math.min(...list), Math.max(...list)].map((value) => Math.round(100 * value) / 100);
    return least === most ? percent(least) : `${Math.round(100 * least)}–${percent(most)}`;
  }
  async function show() {
    ask("measured", accuracy[0].length, ...accuracy.map(range));
    numbers.mark(heads);
    const { percents, who, whom } = await call("storyHeads", { heads, who: pair[0], whom: pair[1] });
    const rows = Array.from({ length: heads }, (_, head) => percents.slice(head * LENGTH, (head + 1) * LENGTH));
    const named = pair.map((animal) => animals[animal]), said = [who, whom].map((list) => animals[largest(list)]);
    const classes = { [WHO]: "meant", [WHOM]: "meant", [STOP]: "it" };
    rows.forEach((row, head) => heads > 1 && (classes[largest(row)] = `meant-${head}`));
    picture.show({ words: ["the", named[0], "chased", "the", named[1], "."], from: STOP, heads: rows, classes });
    fill(answers, [who, whom].map((list, i) => h(`p.${said[i] === named[i] ? "right" : "wrong"}`, {},
      t(`story.heads.${i === 0 ? "who" : "whom"}`), h("b", { "data-percent": Math.max(...list) }, ` ${said[i]} `),
      said[i] === named[i] ? "✓ " : "✗ ", h("span.faint", {}, `(${t("story.heads.sure", percent(Math.max(...list)))})`))),
    h("p.faint", {}, heads === 1 && said.join() === named.join() ? t("story.heads.luck") : ""));
    say(t("story.heads.said", ...said));
  }
  return { element, show };
}
