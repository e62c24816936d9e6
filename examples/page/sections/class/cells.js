// Numbers of the shown pass: what each is in words, and its name in the URL.

import { t } from "../../strings.js";
import { sizes } from "../../matrix.js";

/** Returns {words(tensor, index), nameOf(tensor, index), find(name)}. visible(card): its layers that are shown. */
export function cellsOf(view, visible) {
  /** Which matrix, layer, row and column an element of a tensor is. */
  const locate = (tensor, index) => {
    for (const card of view.cards.values()) {
      const layer = card.tensors.value === tensor ? "value" : card.tensors.gradient === tensor ? "gradient" : null;
      if (layer !== null && (layer === "value" || visible(card).gradient)) {
        const width = sizes(view.shown.pass.tensors[tensor].shape)[1];
        return { card, layer, r: Math.floor(index / width), c: index % width };
      }
    }
    return null;
  };
  return {
    words(tensor, index) {
      const place = locate(tensor, index);
      if (place === null) {
        return null;
      }
      const { card, layer, r, c } = place, { rows, columns } = card.names;
      const kind = card.name.split("@")[0];
      const key = /^W_/.test(kind) ? "cell.weight" : `cell.${kind}`;
      const title = t(key, rows[r], columns[c]);
      return {
        title: layer === "gradient" ? t("cell.gradient", title) : title,
        place: [rows[r], columns[c]].filter((x) => x !== "").join(", "),
      };
    },
    nameOf(tensor, index) {
      const place = locate(tensor, index);
      return place === null ? `t${tensor}:${index}:0`
        : `${place.layer === "gradient" ? "grad." : ""}${place.card.name}:${place.r}:${place.c}`;
    },
    /** {tensor, index} of a name, or null. */
    find(text) {
      const { shown, cards } = view;
      const [, gradient, name, r, c] = /^(grad\.)?([^:]+):(\d+):(\d+)$/.exec(text) ?? [];
      if (name === undefined || shown === null) {
        return null;
      }
      const unnamed = /^t(\d+)$/.exec(name);
      const found = unnamed !== null ? { tensor: Number(unnamed[1]) } : cards.has(name) ? shown.find(name) : null;
      const tensor = gradient === undefined ? found?.tensor : found?.gradient;
      const data = shown.pass.tensors[tensor];
      const index = unnamed !== null ? Number(r) : Number(r) * sizes(data?.shape ?? [])[1] + Number(c);
      return data !== undefined && index < data.values.length ? { tensor, index } : null;
    },
  };
}
