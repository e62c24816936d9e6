// "The story": nine screens that say what attention is.

import { screens } from "../screens.js";
import * as it from "./story/it.js";
import * as compare from "./story/compare.js";
import * as weigh from "./story/weigh.js";
import * as mix from "./story/mix.js";
import * as back from "./story/back.js";
import * as heads from "./story/heads.js";
import * as learn from "./story/learn.js";
import * as onward from "./story/onward.js";
import * as positions from "./story/positions.js";

/** The story's models, for tests. */
export { story as model } from "./story/model.js";

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export const begin = (root) => screens(root, "story", { it, compare, weigh, mix, back, heads, learn, onward, positions });
