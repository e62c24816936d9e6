// The program beside the matrices: Python, and C where the reader asks for it.

import { h } from "../../dom.js";
import { t } from "../../strings.js";
import { state } from "../../state.js";
import { listing } from "../../listing.js";

/** onchoose(step): a line was pressed; onresize(): the listings became larger or smaller. Returns {element, draw():
 * new lines, mark(): the current line, showC(shown), toggleC(), shownC()}. */
export function codeOf(view, onchoose, onresize) {
  let whole = false;
  const cShown = { true: false, false: innerWidth >= 900 }; // is the listing in C shown in presenter mode, and else?
  const code = listing(onchoose);
  const draw = () => code.draw(view.lines, view.steps, whole);
  const mark = () => code.mark(view.at());
  const shownC = () => cShown[state.present];
  const showC = (shown) => {
    cShown[state.present] = shown;
    cListing.hidden = !shown;
    cButton.setAttribute("aria-pressed", shown);
    mark();
    onresize();
  };
  const toggleC = () => showC(!shownC());
  const program = h("button.program", { type: "button", "aria-pressed": "false", onclick: () => {
    whole = !whole;
    program.setAttribute("aria-pressed", whole);
    draw();
    mark();
  } }, t("class.whole"));
  const cButton = h("button.program", { type: "button", "aria-keyshortcuts": "c", title: t("class.c"),
    onclick: toggleC }, t("class.show_c"));
  const cListing = h("div.listing", {}, h("div.listing-title", {}, h("h2", {}, t("class.c"))), code.c);
  const element = h("div.listings", {},
    h("div.listing", {},
      h("div.listing-title", {}, h("h2", {}, t("class.python")), h("span.toolbar", {}, cButton, program)),
      code.python),
    cListing);
  return { element, draw, mark, showC, toggleC, shownC };
}
