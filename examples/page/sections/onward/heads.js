// Screen 1: one matrix for all heads, split and merged, right and by view alone.

import { h } from "../../dom.js";
import { t } from "../../strings.js";
import { state, setState, onState } from "../../state.js";
import { BREAKS } from "../../lines.js";
import { placesOf } from "./places.js";

const WAYS = { right: 0, split_view: BREAKS.SPLIT_VIEW, merge_view: BREAKS.MERGE_VIEW };

/** What the picture shows: of the state. */
const wanted = () => ({ heads: Number(state.in_heads), breaks: WAYS[state.parted] });

export function begin({ ask }) {
  const places = placesOf(wanted());
  const choices = (key, values, label) => values.map((value) => h("button.story-choice",
    { type: "button", "data-value": value, onclick: () => setState({ [key]: value }) }, label(value)));
  const ways = choices("parted", Object.keys(WAYS), (way) => t(`onward.heads.${way}`));
  const counts = choices("in_heads", ["2", "4"], (count) => t("onward.heads.count", count));
  const element = h("div.story-screen", {}, h("div.places-holder", {}, places.element),
    h("div.story-actions", {}, ways, counts));
  const follow = () => {
    ways.forEach((button) => button.setAttribute("aria-pressed", button.dataset.value === state.parted));
    counts.forEach((button) => button.setAttribute("aria-pressed", button.dataset.value === state.in_heads));
    ask(`do.${state.parted}`);
  };
  onState((changed) => {
    if (changed.has("parted") || changed.has("in_heads")) {
      follow();
      places.set(wanted());
    }
  });
  follow();
  return { element, show: () => places.set(wanted()) };
}
