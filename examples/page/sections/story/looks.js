// Screen 2: the two layers of the reader: first *it* reads the ending, then it knows what to look for.

import { h } from "../../dom.js";
import { t } from "../../strings.js";
import { story } from "./model.js";
import { sentencePicture } from "./sentence.js";
import { SENTENCE, ENDINGS, IT, largest, percent, whole } from "./words.js";

const LOOKS = ["first", "second"];

export function begin({ tell, ask }) {
  const picture = sentencePicture(t("story.it.picture"));
  let ending = "pizza", look = "first";
  const choice = (text, choose) => h("button.story-choice", { type: "button", onclick: () => {
    choose();
    show();
  } }, text);
  const looks = LOOKS.map((name) => choice(t(`story.looks.${name}`), () => (look = name)));
  const endings = Object.keys(ENDINGS).map((name) => choice(`… ${ENDINGS[name].join(" ")}`, () => (ending = name)));
  const element = h("div.story-screen", {}, picture.element, h("div.story-actions", {}, looks, endings));

  async function show() {
    const { read, about } = await story(), { first, percents } = await read(ending);
    looks.forEach((button, i) => button.setAttribute("aria-pressed", LOOKS[i] === look));
    endings.forEach((button, i) => button.setAttribute("aria-pressed", Object.keys(ENDINGS)[i] === ending));
    const words = [...SENTENCE, ...ENDINGS[ending]], row = look === "first" ? first : percents, most = largest(row);
    tell(`${look}.text`, words[most], percent(row[most]), whole(about.train));
    ask(`${look}.do`);
    picture.show({ words, from: IT, heads: [row], classes: { [most]: "meant", [IT]: "it" } });
  }
  return { element, show };
}
