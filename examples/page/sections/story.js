// "The story": eleven screens that say what attention is.

import { screens } from "../screens.js";
import * as it from "./story/it.js";
import * as looks from "./story/looks.js";
import * as rows from "./story/rows.js";
import * as compare from "./story/compare.js";
import * as weigh from "./story/weigh.js";
import * as mix from "./story/mix.js";
import * as positions from "./story/positions.js";
import * as back from "./story/back.js";
import * as heads from "./story/heads.js";
import * as learn from "./story/learn.js";
import * as end from "./story/end.js";

/** The story's models, for tests. */
export { story as model } from "./story/model.js";

/** A line of the class with the trained model. */
const line = (number, more = {}) => ({ tab: "class", example: "pizza", step: 500, line: number, ...more });

/** Where the code of a screen is. */
const CODE = { rows: line(2), compare: line(5), weigh: line(8), mix: line(9), positions: line(1), back: line(7),
  heads: line(8, { heads: 2 }), learn: line(2, { phase: "backward" }) };

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export const begin = (root) =>
  screens(root, { it, looks, rows, compare, weigh, mix, positions, back, heads, learn, end }, CODE);
