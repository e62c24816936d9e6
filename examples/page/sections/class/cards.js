// Cards: one for each matrix, with its value and its gradient.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { run } from "../../run.js";
import { matrix, sizes, DENSE } from "../../matrix.js";

const LIKELIEST = 10; // words shown of a row of logits
const COMPACT = 12;   // wider matrices show colours instead of numbers
const KINDS = { attention_percents: "percent", mask: "mask", targets: "id" };

/** handlers: {onpoint, onpress, onleave} of tables; onbuilt(): tables were built as they came into view.
 * Returns {of(name), visible(card), update(card, how), element: of the other matrices, showOthers(names)}. */
export function cardsOf(view, handlers, onbuilt) {
  const likeliest = () => {
    const { shown, row } = view;
    const { tensor } = shown.find("logits"), { shape, values } = shown.pass.tensors[tensor], width = shape[1];
    const order = Array.from({ length: width }, (_, i) => i);
    const best = order.sort((a, b) => values[row * width + b] - values[row * width + a]).slice(0, LIKELIEST);
    const follows = shown.sentence.ids[row + 1];
    return follows === undefined || best.includes(follows) ? best : [...best, follows];
  };
  const picks = (name) => {
    const { ids } = view.shown.sentence, { allWords, row } = view;
    switch (name) {
      case "we": return { pickRows: allWords ? undefined : [...new Set(ids.slice(0, view.shown.tokens.length))] };
      case "logits": return { pickRows: allWords ? undefined : [row], pickColumns: allWords ? undefined : likeliest() };
      case "fc_layer.weight": return { pickRows: allWords ? undefined : likeliest() };
      case "fc_layer.bias": return { pickColumns: allWords ? undefined : likeliest() };
      default: return {};
    }
  };
  const buildTable = (card, layer) => {
    const tensor = card.tensors[layer], { shape, values } = view.shown.pass.tensors[tensor];
    const name = card.name.split("@")[0], title = card.title;
    const picked = picks(name);
    const width = picked.pickColumns?.length ?? sizes(shape)[1];
    const kind = layer === "gradient" ? layer : KINDS[name] ?? "value";
    const table = matrix({
      tensor, shape, values, kind, ...picked, ...card.names,
      name: layer === "gradient" ? t("class.gradient_title", title) : title,
      compact: width > COMPACT && !view.numbers && kind !== "id",
      digits: width > DENSE ? 2 : 4,
      text: name === "targets" ? (id) => run.language.words[id] : undefined,
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
      const [base, head] = name.split("@");
      const card = {
        name, title: head === undefined ? base : `${base}, ${t("class.head")} ${head}`, names: shown.names(name),
        tensors: { value: found.tensor, gradient: found.gradient }, places, built: {},
      };
      card.fresh = h("span.fresh", { hidden: true }, t("class.new"));
      card.buttons = found.gradient < 0 ? {} : Object.fromEntries(["value", "gradient"].map((layer) => [layer,
        h("button", { type: "button", onclick: () => toggle(card, layer) }, t(`class.${layer}`))]));
      const group = h("span.group.small", { role: "group", "aria-label": t("class.layers", card.title) },
        Object.values(card.buttons));
      card.element = h("div.card", { "data-name": name },
        h("div.card-bar", {}, card.fresh, found.gradient < 0 ? null : group), places.value, places.gradient);
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

  /** Puts a card up to date; tables that do not exist yet are built now, or later, when they come into view. */
  const update = (card, { fresh, later }) => {
    const now = visible(card);
    card.fresh.hidden = fresh === null || !now[fresh];
    for (const layer of ["value", "gradient"]) {
      card.places[layer].hidden = !now[layer];
      card.buttons[layer]?.setAttribute("aria-pressed", now[layer]);
      if (now[layer] && card.built[layer] === undefined) {
        later ? reserve(card, layer) : buildTable(card, layer);
      }
      card.built[layer]?.element.classList.toggle("changed", fresh === layer && now[layer]);
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

  // ---- the matrices that the current line does not need ----

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
  const showOthers = (names) => {
    fill(others, names.map((name) => update(of(name), { fresh: null, later: true })));
    seen.disconnect();
    [...others.children].forEach((element) => seen.observe(element));
  };
  return { of, visible, update, element: others, showOthers };
}
