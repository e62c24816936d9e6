// The section "gradients".

import { h } from "../dom.js";

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export function begin(root) {
  root.append(h("p", {}, "gradients"));
  return { show() {} };
}
