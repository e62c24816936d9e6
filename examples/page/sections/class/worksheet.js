// The printed line: as a worksheet, its new numbers are left blank.

import { h } from "../../dom.js";
import { t } from "../../strings.js";

/** Returns {label: the choice, title: a line for a name and a date}. */
export function worksheetOf(stage) {
  const blanks = h("input", { type: "checkbox", "data-key": "blanks",
    onchange: () => stage.classList.toggle("blanks", blanks.checked) });
  return { label: h("label", {}, blanks, t("class.blanks")), title: h("p.printed", {}, t("class.worksheet")) };
}
