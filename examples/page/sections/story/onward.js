// Screen 8: one switch of "Break it", the other tabs with a sentence each, and the course.

import { h } from "../../dom.js";
import { t } from "../../strings.js";
import { linkTo } from "../../state.js";
import { train } from "./lab.js";
import { sentencePicture } from "./sentence.js";
import { percent, largest, CLEAR } from "./words.js";

export const UNTIL = 300;
const SWITCHES = { healthy: 0, broken: 128 }; // BREAK_LR_100 of forward.h
const TABS = ["class", "training", "gradients", "breaks", "own", "onward", "gpt", "quiz", "teachers"];

export function begin({ ask }) {
  const picture = sentencePicture(t("story.onward.picture"));
  const trained = {};
  let kind = "healthy", begun = null;
  const toggle = h("button.story-switch", { type: "button", role: "switch", "aria-checked": false, onclick: () => {
    kind = kind === "healthy" ? "broken" : "healthy";
    show();
  } }, h("span.knob"), t("story.onward.switch"));
  // The site has the course beside the page (package/site.py); elsewhere its file is named.
  const course = h(location.protocol.startsWith("http") ? "a" : "span", { href: "examples/index.html" },
    t("story.onward.course", "examples/README.md"));
  const links = h("ul.story-links", {}, h("li.story-sum", {}, t("story.onward.sum")), TABS.map((tab) => h("li", {}, h("a", { href: linkTo({ tab, story: 8 }) },
    t(`tab.${tab}`)),
    h("span", {}, t(`story.onward.${tab}`)))), h("li", {}, course));
  const element = h("div.story-screen.two", {}, h("div.story-holder", {}, picture.element, h("div.story-actions", {},
    toggle)), links);

  async function show() {
    toggle.setAttribute("aria-checked", kind === "broken");
    begun ??= {};
    const chosen = kind;
    if (trained[chosen] === undefined) {
      ask("learning");
      picture.show({ words: ["the", "pizza", "came", "out", "of", "the", "oven", "and", "it", "tasted", "good"],
        heads: [], reserve: true, from: 8, curtain: 9, classes: { 8: "it" } });
    }
    trained[chosen] ??= await (begun[chosen] ??= train({ breaks: SWITCHES[chosen], until: UNTIL }));
    if (chosen !== kind) {
      return;
    }
    const { measured, language, tokens } = trained[chosen], { it, words, context } = language, { seen,
      weights } = measured;
    const row = Array.from(weights.subarray(it * seen, (it + 1) * seen)), most = largest(row);
    picture.show({ words: tokens.slice(0, context).map((id) => words[id]), from: it, hints: [],
      heads: [row], curtain: it + 1, classes: { [it]: "it", ...(row[most] >= CLEAR ? { [most]: "meant" } : {}) } });
    ask(chosen, percent(measured.score.accuracy));
  }
  return { element, show };
}
