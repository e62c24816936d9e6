// Going from line to line: the buttons and the direction. Backward, a line has several formulas, one after the other.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { state } from "../../state.js";
import { formulasOf } from "../../lines.js";

/** goToLine({line, phase, part}). Returns {element, draw(), drawPhase(): without lines, move(by), place: where the
 * reader is, in words}. */
export function stepsBar(view, goToLine) {
  const parts = (line) => formulasOf(view.steps[line], view.backward).length;
  const move = (by) => {
    const index = view.at(), { steps, backward } = view, part = Math.min(state.part, parts(index) - 1) + by;
    if (part >= 0 && part < parts(index)) {
      goToLine({ part });
    } else if (!backward && by > 0 && index === steps.length - 1) {
      goToLine({ phase: "backward" });
    } else if (backward && by < 0 && index === steps.length - 1) {
      goToLine({ phase: "forward" });
    } else {
      const next = index + (backward ? -by : by);
      if (next >= 0 && next < steps.length) {
        goToLine({ line: next, part: by < 0 ? parts(next) - 1 : 0 });
      }
    }
  };
  const place = h("strong.place", { "aria-live": "polite" });
  const previous = h("button", { type: "button", "data-key": "previous", onclick: () => move(-1) }, t("class.previous"));
  const next = h("button.primary", { type: "button", "data-key": "next", onclick: () => move(1) }, t("class.next"));
  const phases = ["forward", "backward"].map((phase) => h("button", { type: "button", onclick: () =>
    goToLine({ phase, line: phase === "forward" ? 0 : view.steps.length - 1 }) }, t(`class.${phase}`)));
  const element = h("div.steps", {},
    h("div.steps-buttons", {}, previous, next),
    h("div.steps-buttons", {}, h("span.group", { role: "group", "aria-label": t("class.phase") }, phases), place));
  const drawPhase = () =>
    phases.forEach((button, i) => button.setAttribute("aria-pressed", (i === 1) === view.backward));
  const draw = () => {
    const index = view.at(), { backward } = view, last = parts(index) - 1;
    fill(place, h("span.unseen", {}, t("class.place", index + 1, view.steps.length, t(`class.${backward ? "backward" : "forward"}`))),
      h("span", { "aria-hidden": true }, `${index + 1} / ${view.steps.length}`));
    previous.disabled = !backward && index === 0;
    next.disabled = backward && index === 0 && state.part >= last;
  };
  return { element, draw, drawPhase, move, place };
}
