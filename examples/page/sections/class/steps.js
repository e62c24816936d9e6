// Going from line to line: the buttons and the direction.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";

/** goToLine({line, phase}). Returns {element, draw(), drawPhase(), move(by), place: where the
 * reader is, in words}. */
export function stepsBar(view, goToLine) {
  const move = (by) => {
    const index = view.at(), { steps, backward } = view;
    if (!backward && by > 0 && index === steps.length - 1) {
      goToLine({ phase: "backward" });
    } else if (backward && by < 0 && index === steps.length - 1) {
      goToLine({ phase: "forward" });
    } else {
      const next = index + (backward ? -by : by);
      if (next >= 0 && next < steps.length) {
        goToLine({ line: next });
      }
    }
  };
  const place = h("strong.place", { "aria-live": "polite" });
  const first = h("button.first", { type: "button", onclick: () => goToLine({ phase: "forward", line: 0 }) },
    t("class.first"));
  const previous = h("button", { type: "button", onclick: () => move(-1) }, t("class.previous"));
  const next = h("button.primary", { type: "button", onclick: () => move(1) }, t("class.next"));
  const phases = ["forward", "backward"].map((phase) => h("button", { type: "button", onclick: () =>
    goToLine({ phase, line: phase === "forward" ? 0 : view.steps.length - 1 }) }, t(`class.${phase}`)));
  const element = h("div.toolbar.steps", {},
    h("span.group", { role: "group", "aria-label": t("class.phase") }, phases), first, previous, next, place);
  /** The direction alone, while there is nothing to step through. */
  const drawPhase = () =>
    phases.forEach((button, i) => button.setAttribute("aria-pressed", (i === 1) === view.backward));
  const draw = () => {
    const index = view.at(), { backward } = view;
    fill(place, t("class.place", index + 1, view.steps.length, t(`class.${backward ? "backward" : "forward"}`)));
    first.disabled = previous.disabled = !backward && index === 0;
    next.disabled = backward && index === 0;
  };
  return { element, draw, drawPhase, move, place };
}
