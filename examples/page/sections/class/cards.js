// Cards: one for each matrix that the current line does not draw, with its value and its gradient.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { matrix, sizes, DENSE } from "../../matrix.js";
import { readName, written } from "./cells.js";
import { picksOf } from "./picks.js";

const COMPACT = 12;   // wider matrices show colours instead of numbers

/** handlers: {onpoint, onpress, onleave} of tables; onbuilt(): tables were built as they came into view.
 * Returns {element, show(names), tables(): those built}. */
export function cardsOf(view, handlers, onbuilt) {
  const buildTable = (card, layer) => {
    const tensor = card.tensors[layer], { shape, values } = view.shown.pass.tensors[tensor];
    const { kind: ofValue, text } = view.matrices.get(card.name), title = card.title;
    const picked = picksOf(view, readName(card.name).base);
    const width = picked.pickColumns?.length ?? sizes(shape)[1];
    const kind = layer === "gradient" ? layer : ofValue;
    const table = matrix({
      tensor, shape, values, kind, ...picked, ...card.names,
      name: layer === "gradient" ? t("class.gradient_title", title) : title,
      compact: width > COMPACT && !view.numbers && kind !== "id",
      digits: width > DENSE ? 2 : 4,
      text: layer === "value" ? text : undefined,
      ...handlers,
    });
    table.tensor = tensor;
    card.built[layer] = table;
    card.places[layer].removeAttribute("style");
    fill(card.places[layer], table.element);
  };
  const of = (name) => {
    const { cards, shown } = view;
    if (!cards.has(name)) {
      const found = shown.find(name);
      const places = { value: h("div.layer"), gradient: h("div.layer") };
      const card = {
        name, title: written(name), names: shown.names(name),
        tensors: { value: found.tensor, gradient: found.gradient }, places, built: {},
      };
      card.buttons = found.gradient < 0 ? {} : Object.fromEntries(["value", "gradient"].map((layer) => [layer,
        h("button", { type: "button", onclick: () => toggle(card, layer) }, t(`class.${layer}`))]));
      const group = h("span.group.small", { role: "group", "aria-label": t("class.layers", card.title) },
        Object.values(card.buttons));
      card.element = h("div.card", { "data-name": name },
        h("div.card-bar", {}, found.gradient < 0 ? null : group), places.value, places.gradient);
      cards.set(name, card);
    }
    return cards.get(name);
  };
  const toggle = (card, layer) => {
    const now = visible(card);
    const other = layer === "value" ? "gradient" : "value";
    const next = { ...now, [layer]: !now[layer] };
    view.layers.set(card.name, next.value || next.gradient ? next : { ...next, [other]: true });
    view.render();
  };
  /** The layers that are shown: those that the reader chose, else the value, and the gradient once backward has it. */
  const visible = (card) => view.layers.get(card.name) ??
    { value: true, gradient: card.tensors.gradient >= 0 && view.known(card.name) };

  /** Puts a card up to date; tables that do not exist yet are built when they come into view. */
  const update = (card) => {
    const now = visible(card);
    for (const layer of ["value", "gradient"]) {
      card.places[layer].hidden = !now[layer];
      card.buttons[layer]?.setAttribute("aria-pressed", now[layer]);
      if (now[layer] && card.built[layer] === undefined) {
        reserve(card, layer);
      }
    }
    return card.element;
  };
  /** Keeps about as much space as the table will need. */
  const reserve = (card, layer) => {
    const [height, width] = sizes(view.shown.pass.tensors[card.tensors[layer]].shape);
    const compact = width > COMPACT && !view.numbers;
    const rows = Math.min(height, 32), place = card.places[layer].style;
    place.minHeight = `${2.5 + rows * (compact ? 0.9 : 1.6)}rem`;
    place.minWidth = `min(100%, ${5 + width * (compact ? 0.56 : 3)}rem)`;
  };

  const others = h("div.cards");
  const buildMissing = (card) => ["value", "gradient"].forEach((layer) =>
    visible(card)[layer] && card.built[layer] === undefined && buildTable(card, layer));
  const seen = new IntersectionObserver((entries) => {
    const missing = entries.filter((entry) => entry.isIntersecting)
      .map((entry) => view.cards.get(entry.target.dataset.name));
    missing.forEach((card) => card !== undefined && buildMissing(card));
    if (missing.length > 0) {
      onbuilt();
    }
  }, { rootMargin: "100px" });
  addEventListener("beforeprint", () => others.isConnected && [...others.children].forEach((element) =>
    buildMissing(view.cards.get(element.dataset.name))));
  const show = (names) => {
    fill(others, names.map((name) => update(of(name))));
    seen.disconnect();
    [...others.children].forEach((element) => seen.observe(element));
  };
  return { element: others, show, tables: () => [...view.cards.values()].flatMap((card) => Object.values(card.built)) };
}
