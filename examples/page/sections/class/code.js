// The program beside the matrices: Python, and C where the reader asks for it.

import { h } from "../../dom.js";
import { t } from "../../strings.js";
import { listing } from "../../listing.js";

/** onchoose(step): a line was pressed; onresize(): there is more or less room now. Returns {element, draw(): new lines,
 * mark(): the current line, toggleC()}. */
export function codeOf(view, onchoose, onresize) {
  let whole = false;
  const code = listing(onchoose);
  const draw = () => code.draw(view.lines, view.steps, whole);
  const mark = () => code.mark(view.at());
  const toggleC = () => {
    cListing.hidden = !cListing.hidden;
    cButton.setAttribute("aria-pressed", !cListing.hidden);
    element.classList.toggle("both", !cListing.hidden);
    onresize();
    mark();
  };
  const program = h("button.program", { type: "button", "aria-pressed": "false", onclick: () => {
    whole = !whole;
    program.setAttribute("aria-pressed", whole);
    draw();
    mark();
  } }, t("class.whole"));
  const cButton = h("button.program", { type: "button", "aria-keyshortcuts": "c", "aria-pressed": false, title: t("class.c"),
    onclick: toggleC }, t("class.show_c"));
  const cListing = h("div.listing", { hidden: true }, h("div.listing-title", {}, h("h2", {}, t("class.c"))), code.c);
  const element = h("div.listings", {},
    h("div.listing", {},
      h("div.listing-title", {}, h("h2", {}, t("class.python")), h("span.toolbar", {}, cButton, program)),
      code.python),
    cListing);
  return { element, draw, mark, toggleC };
}
