// Screen 1: what *it* means; arcs of the reader's *it*, before and after the end of the sentence changes.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { story } from "./model.js";
import { choices, actions } from "./stage.js";
import { sentencePicture } from "./sentence.js";
import { SENTENCE, ENDINGS, IT, NOUNS, largest, percent } from "./words.js";

export function begin({ tell, ask }) {
  const picture = sentencePicture(t("story.it.picture"));
  let ending = "pizza", guess = null;
  const endings = choices(Object.keys(ENDINGS), (name) => `… ${ENDINGS[name].join(" ")}`, (name) => {
    ending = name;
    show();
  });
  const row = actions(), element = h("div.story-screen", {}, picture.element, row);
  const press = Object.fromEntries(Object.entries(NOUNS).map(([noun, i]) => [i, () => {
    guess = noun;
    show();
  }]));
  const nouns = (name) => Object.fromEntries(Object.values(NOUNS).map((i) => [i, name]));

  async function show() {
    const words = [...SENTENCE, ...ENDINGS[ending]];
    if (guess === null) {
      ask("guess");
      picture.show({ words, from: IT, heads: [], hints: Object.values(NOUNS), buttons: press,
        classes: { ...nouns("answer"), [IT]: "it" } });
      return;
    }
    const { read, about } = await story(), { percents, answers } = await read(ending);
    const noun = about.words[about.nouns[0] + largest(answers)];
    fill(row, endings.element);
    endings.mark(ending);
    tell("looked", noun, percent(percents[NOUNS[noun]]));
    ask(ending === "pizza" ? (guess === noun ? "agree" : "differ") : "moved");
    const changed = ending === "oven" ? { 9: "changed", 10: "changed" } : {};
    picture.show({ words, from: IT, heads: [percents], buttons: press,
      classes: { ...nouns("again"), [NOUNS[noun]]: "again meant", [IT]: "it", ...changed } });
  }
  return { element, show };
}
