// The characters that the model expects after the chosen one, the likeliest first; pressing one writes it.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { percent } from "../../matrix.js";
import { shown } from "./boxes.js";

const MOST = 10;

/** onwrite(id). Returns {element, update(read, at, writes)}; writes: whether something can be written after `at`. */
export function next(onwrite) {
  const title = h("h2"), list = h("ol.gpt-next");
  const element = h("section.gpt-after", { "aria-label": t("gpt.next") }, title, list, h("p.faint", {}, t("gpt.next.press")));
  return {
    element,
    update(read, at, writes) {
      const { shape, values } = read.parts.shares, row = values.subarray(at * shape[1], (at + 1) * shape[1]);
      const best = Array.from(row.keys()).sort((a, b) => row[b] - row[a]).slice(0, MOST);
      const focus = list.contains(document.activeElement);
      fill(title, t("gpt.next.after", shown(read.tokens[at]), at + 1));
      fill(list, best.map((id) => {
        const token = shown(read.vocabulary[id]), share = percent(row[id]);
        return h("li", {}, h("button", { type: "button", disabled: !writes, "data-id": id, "aria-label": t("gpt.next.write", token, share),
          onclick: () => onwrite(id) }, h("code", {}, token), h("span.gpt-bar", {}, h("span", { style: `width:${100 * row[id]}%` })),
        h("span.gpt-share", {}, share)));
      }));
      if (focus) {
        list.querySelector("button")?.focus({ preventScroll: true });
      }
    },
  };
}
