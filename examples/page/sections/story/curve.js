// Curves of the loss as SVG.

import { t } from "../../strings.js";
import { path, label } from "./stage.js";

const MOST = 5.5; // the greatest loss

/** Parts of an SVG: axes and a curve of each list of losses in a picture of this size; steps: the last one; all: [{losses,
 * name, text}]; at: a step to mark. */
export function curves(width, height, steps, all, at = null) {
  const x = 34, y = 8, right = width - 16, low = height - 32;
  const small = low < 98; // then the texts stand above the ends of the curves
  const px = (i) => x + (right - x) * i / steps, py = (value) => y + (low - y) * (1 - Math.min(1, value / MOST));
  return [[0, 1, 2, 3, 4, 5].map((value) => [path(`M${x} ${py(value)}H${right}`, value === 0 ? "story-axis" : "story-grid"),
    small && value % 5 > 0 ? [] : label(x - 8, py(value) + 5, value, "story-small", "end")]), // place for each number
  label(right, low + 20, `${steps} ${t("story.steps")}`, "story-small", "end"),
  label(small ? x + (right - x) * 0.4 : right - 10, y + (small ? 12 : 18), t("story.loss"), "story-small strong", "end"),
  all.map(({ losses, name, text = "" }, row) => (losses.length === 0 ? [] : [
    path(`M${losses.map((value, i) => `${px(i + 1).toFixed(1)} ${py(value).toFixed(1)}`).join("L")}`, `story-curve ${name}`),
    label(right - 10, y + (small ? 12 + 19 * row : 44 + 22 * row), text, `story-label ${name}`, "end")])),
  at === null ? [] : path(`M${px(at)} ${y}V${low}`, "story-here")];
}
