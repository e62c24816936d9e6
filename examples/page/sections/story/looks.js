// Screen 2: the two layers of the reader: first *it* reads the ending, then it knows what to look for.

import { h } from "../../dom.js";
import { t } from "../../strings.js";
import { choices, actions } from "./stage.js";
import { sentencePicture } from "./sentence.js";
import { SENTENCE, ENDINGS, IT, largest, percent, whole } from "./words.js";

export function begin({ tell, ask, read, about }) {
  const picture = sentencePicture(t("story.it.picture"));
  let ending = "pizza", look = "first";
  const looks = choices(["first", "second"], (name) => t(`story.looks.${name}`), (name) => {
    look = name;
    show();
  });
  const endings = choices(Object.keys(ENDINGS), (name) => `… ${ENDINGS[name].join(" ")}`, (name) => {
    ending = name;
    show();
  });
  async function show() {
    const { first, percents } = await read(ending);
    const words = [...SENTENCE, ...ENDINGS[ending]], row = look === "first" ? first : percents, most = largest(row);
    looks.mark(look);
    endings.mark(ending);
    tell(`${look}.text`, words[most], percent(row[most]), whole(about.train));
    ask(`${look}.do`);
    picture.show({ words, from: IT, heads: [row], classes: { [most]: "meant", [IT]: "it" } });
  }
  return { element: h("div.story-screen", {}, picture.element, actions(looks.element, endings.element)), show };
}
