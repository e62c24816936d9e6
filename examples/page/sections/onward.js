// "Onward": screens in the style of the story, from one head to a model that writes.

import { screens } from "../screens.js";
import * as heads from "./onward/heads.js";
import * as cache from "./onward/cache.js";
import * as rope from "./onward/rope.js";

/** The engine's functions, for tests. */
export { call } from "./onward/model.js";

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export const begin = (root) => screens(root, "onward", { heads, cache, rope });
