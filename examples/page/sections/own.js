// "Your own": a sentence of the reader's.

import { h } from "../dom.js";
import { t } from "../strings.js";
import { onRun } from "../run.js";
import { state } from "../state.js";
import { sentencePart } from "./own/sentence.js";

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export function begin(root) {
  const box = h("div.part");
  root.append(h("section.own", {}, h("h2", {}, t("own.sentence")), h("p.not-presented", {}, t("own.sentence.about")), box));
  const show = sentencePart(box);
  onRun((what) => {
    if (state.tab === "own" && what !== "steps") {
      show();
    }
  });
  return { show };
}
