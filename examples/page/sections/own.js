// "Your own": a sentence, a mask and a file of the reader's, and files to take away.

import { h } from "../dom.js";
import { t } from "../strings.js";
import { onRun } from "../run.js";
import { state } from "../state.js";
import { sentencePart } from "./own/sentence.js";
import { maskPart } from "./own/mask.js";
import { filePart } from "./own/file.js";
import { savePart } from "./own/save.js";

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export function begin(root) {
  const parts = { sentence: sentencePart, mask: maskPart, file: filePart, save: savePart };
  const shows = Object.entries(parts).map(([name, part]) => {
    const box = h("div.part");
    root.append(h("section.own", { "aria-labelledby": `own-part-${name}` }, h("h2", { id: `own-part-${name}` }, t(`own.${name}`)),
      h("p.not-presented", {}, t(`own.${name}.about`)), box));
    return part(box);
  });
  const show = () => shows.forEach((each) => each());
  onRun((what) => {
    if (state.tab === "own" && what !== "steps") {
      show();
    }
  });
  return { show };
}
