// The section "own".

import { h } from "../dom.js";

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export function begin(root) {
  root.append(h("p", {}, "own"));
  return { show() {} };
}
