// A place for a question about the current line, which its numbers answer.

import { h } from "../../dom.js";

/** view: of view.js. Returns {element, draw(): called at each line}; an empty place takes no room. */
export function questionOf(view) { // eslint-disable-line no-unused-vars
  const element = h("div.question", { hidden: true });
  return { element, draw() {} };
}
