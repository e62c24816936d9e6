// Screen 1: what *it* means; arcs of the reader's *it*, before and after the end of the sentence changes.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { story } from "./model.js";
import { sentencePicture } from "./sentence.js";
import { SENTENCE, ENDINGS, IT, NOUNS, largest, percent } from "./words.js";

export function begin({ tell, ask }) {
  const picture = sentencePicture(t("story.it.picture"));
  const endings = h("div.story-actions");
  const element = h("div.story-screen", {}, picture.element, endings);
  let ending = "pizza", guess = null;

  const words = () => [...SENTENCE, ...ENDINGS[ending]];
  const choose = (noun) => {
    guess = noun;
    draw();
  };
  const buttons = Object.keys(ENDINGS).map((name) => h("button.story-choice", { type: "button", onclick: () => {
    ending = name;
    draw();
  } }, `… ${ENDINGS[name].join(" ")}`));

  async function draw() {
    const guessed = guess !== null;
    fill(endings, guessed ? buttons : null);
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", Object.keys(ENDINGS)[i] === ending));
    const press = { [NOUNS.pizza]: () => choose("pizza"), [NOUNS.oven]: () => choose("oven") };
    if (!guessed) {
      tell("text");
      ask("guess");
      picture.show({ words: words(), from: IT, heads: [], reserve: true, hints: Object.values(NOUNS), buttons: press,
        classes: { [NOUNS.pizza]: "answer", [NOUNS.oven]: "answer", [IT]: "it" } });
      return;
    }
    const { read, about } = await story();
    const { percents, answers } = await read(ending);
    const noun = about.words[about.nouns[0] + largest(answers)], share = percent(percents[NOUNS[noun]]);
    tell("looked", noun, share);
    ask(ending === "pizza" ? (guess === noun ? "agree" : "differ") : "moved");
    picture.show({ words: words(), heads: [percents], hints: [], buttons: press, classes: { [NOUNS.pizza]: "again",
      [NOUNS.oven]: "again", [NOUNS[noun]]: "again meant", [IT]: "it",
      ...(ending === "oven" ? { 9: "changed", 10: "changed" } : {}) } });
  }
  return { element, show: draw };
}
