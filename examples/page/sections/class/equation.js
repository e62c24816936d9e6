// The formula of the current line, drawn with its matrices: a product as a product, with the left operand left of the
// result and the right one above it, so that a number stands where its row and its column meet.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { state } from "../../state.js";
import { run } from "../../run.js";
import { matrix, sizes, titleOf, DENSE } from "../../matrix.js";
import { termsOf, readName, formulasOf, resultsOf } from "../../lines.js";
import { textsOf, written } from "./cells.js";
import { picksOf } from "./picks.js";
import { fitCells } from "./fit.js";

const NARROW = 700;      // px of a stage that shows one row of a result at a time
const LEAST = 220;       // px of height that a line gets even in a low window
const PAPER = 680;       // px of the width of a printed page, and of the height that matrices get there
const SYMBOL = 1.1;      // rem of the font of symbols
const BOLD = 1.1;        // how much wider names are when they are marked
const NAMED = 8.5, NAMED_NARROW = 7; // em of the names that are translated

const canvas = document.createElement("canvas").getContext("2d");
/** The em of the widest of some texts. */
function widest(texts) {
  canvas.font = `100px ${getComputedStyle(document.body).fontFamily}`;
  return most([...new Set(texts)].map((text) => canvas.measureText(text).width / 100));
}

const most = (list) => list.reduce((a, b) => Math.max(a, b), 0);
const range = (count) => Array.from({ length: count }, (_, i) => i);

/** A symbol with the numbers of the shown pass. */
function symbolOf({ shown }, text) {
  const [, others] = /^\+ (\d+) …$/.exec(text) ?? [];
  return others !== undefined ? `+ ${t("class.other_parts", others)}`
    : text.replace("√d", `√${shown.width}`).replace("÷ n", () => {
      const [count] = shown.find("targets").shape;
      return `÷ ${count}${count < shown.tokens.length ? ` (${t("class.last_row")})` : ""}`;
    });
}

/** A formula in one line of text. Of pieces for each head, only the first is named in full; so are parts of a sum. */
export function formulaText(view, formula) {
  const terms = termsOf(formula), pieces = terms.filter(({ name }) => readName(name).head !== null);
  const short = (name) => {
    const { part, head } = readName(name);
    return part !== undefined && terms.length > 3 ? t("class.part_of_sum", part)
      : head !== null && name !== pieces[0].name ? `${head + 1}` : written(name);
  };
  return terms.map(({ before, name, transposed, after }) =>
    [before === "" ? pieces.length > 1 && name !== terms[0].name && readName(name).head !== null ? ", " : "" : ` ${symbolOf(view, before)} `,
      short(name), transposed ? "ᵀ" : "", after === "" ? "" : ` ${symbolOf(view, after)}`].join(""))
    .join("").replace(/\( /g, "(").replace(/ ([,)²[])/g, "$1");
}

// ---- where matrices stand ----

/** Ways to place the terms in a grid: each a list of {x, y, gx, gy} (fit.js). */
function arrangements(terms, shapes) {
  const [first, second, third] = terms;
  if (third?.before === "·") {
    const results = terms.length > 3 ? 2 : 1; // the row of a bias stands between
    const place = (x, y) => ({ x, y, gx: `x${x}`, gy: `y${y}` });
    return [{ name: "product", places: [place(1, results), place(0, results), place(1, 0), place(1, 1)].slice(0, terms.length) }];
  }
  if (/^= (cat|split)/.test(second?.before ?? "") || /^= split/.test(terms[terms.length - 1].before)) {
    const whole = first.name === "all_heads" ? 0 : terms.length - 1;
    const y = whole === 0 ? { pieces: 0, whole: 1 } : { pieces: 1, whole: 0 };
    let x = 0;
    return [{ name: "stack", places: terms.map((_, i) => (i === whole ? { x: "all", y: y.whole, gx: "g", gy: "w" }
      : { x: x++, y: y.pieces, gx: "g", gy: "p" })) }];
  }
  // Tables of one size that stand above or beside each other have cells of one size, and so have operands of ∘.
  const operands = range(terms.length).filter((i) => i > 0 && terms.some(({ before }) => before.startsWith("∘")) &&
    shapes[i][1] === shapes[1][1]);
  const inGrid = (name, across) => ({ name, places: terms.map((_, i) => {
    const x = i % across, y = Math.floor(i / across), tied = operands.includes(i);
    return { x, y, gx: tied ? "∘" : `${x}: ${shapes[i][1]}`, gy: tied && name !== "row" ? "∘" : `${y}: ${shapes[i][0]}`, tied };
  }) });
  return [inGrid("row", terms.length), inGrid("column", 1), ...(terms.length < 3 ? [] : [inGrid("grid", 2)])];
}

// ---- drawing ----

/** handlers: of tables. Returns {element, tables(): those drawn, draw(), formula(): the chosen one}. */
export function equationOf(view, handlers) {
  const element = h("div.equation");
  let tables = [];

  const formula = () => {
    const all = formulasOf(view.line, view.backward), chosen = all[Math.min(state.part, all.length - 1)];
    const [kind, name] = state.embed.split(":");
    return kind === "matrix" && chosen.includes(name) ? [name] : chosen; // alone, with the names of its rows
  };

  /** What is drawn of a term: {matrix, transposed, upright, pickRows, pickColumns, shape: [rows, columns] drawn}. */
  const drawn = (term, chosen, zoomed, narrow) => {
    const [result] = resultsOf(chosen), found = view.matrices.get(term.name), { base } = readName(term.name);
    const upright = base === "targets" && !(narrow && result === "loss"); // a list of words, one for each row
    const turned = term.transposed || upright;
    const picked = view.line.every.includes(result) ? {} : picksOf(view, base);
    const [height, width] = sizes(found.shape);
    let [pickRows, pickColumns] = turned ? [picked.pickColumns, picked.pickRows] : [picked.pickRows, picked.pickColumns];
    if (result === "logits" && ["logits", "residual"].includes(base)) {
      pickRows = [view.row];
    }
    const rows = pickRows ?? range(turned ? width : height), columns = pickColumns ?? range(turned ? height : width);
    return { term, matrix: found, turned, pickRows: zoomed === null ? rows : zoomed(rows, term), pickColumns: columns };
  };

  const spec = ({ matrix: found, turned, pickRows, pickColumns, digits }, place, isResult, { rem, narrow }) => {
    const [, width] = sizes(found.shape);
    const elements = pickRows.flatMap((r) => pickColumns.map((c) => (turned ? c * width + r : r * width + c)));
    const [rows, columns] = turned ? [found.columns, found.rows] : [found.rows, found.columns];
    const { tokens } = view.shown;
    const em = (list, picks) => (list === tokens || list === run.language.words ? widest(picks.map((i) => list[i]))
      : most(picks.map((i) => (list?.[i] ?? "").length)) === 0 ? 0 : narrow ? NAMED_NARROW : NAMED); // alike in all languages
    const title = titleText(found, turned);
    return { ...place, rows: pickRows.length, columns: pickColumns.length, em: widest(textsOf(found, digits, elements)),
      nameEm: em(rows, pickRows), headEm: pickColumns.length <= DENSE || (!narrow && [tokens, run.language.words].includes(columns)) ? BOLD * em(columns, pickColumns) : 0,
      headLength: widest(pickColumns.map((i) => columns?.[i] ?? "")), heads: em(columns, pickColumns) > 0,
      words: found.kind === "id", result: isResult, title: Math.min(title.length * 0.48, narrow ? 6.5 : Infinity) * rem, tied: place.tied && !narrow };
  };
  const titleText = ({ name, shape }, turned) => {
    const sign = turned && readName(name).base !== "targets" ? "ᵀ" : "";
    return titleOf(written(name) + sign, sign === "" ? shape : [...shape].reverse());
  };

  /** The best arrangement: the most numbers, then the largest cells. */
  const arrange = (chosen, room, zoomed) => {
    const terms = termsOf(chosen), results = resultsOf(chosen).length, { narrow } = room;
    const parts = terms.map((term) => ({ ...drawn(term, chosen, zoomed, narrow), short: terms.length > 3 }));
    parts.forEach((part) => (part.digits = part.pickColumns.length > DENSE ? 2 : 4));
    const shapes = parts.map((part) => [part.pickRows.length, part.pickColumns.length]);
    const symbolWidth = (text) => (text === "" ? 0 : widest([symbolOf(view, text)]) * SYMBOL * room.rem + 18);
    const found = arrangements(terms, shapes).map(({ name, places }) => {
      const above = narrow && name === "column"; // symbols stand above, not before
      const symbols = above ? 0 : name === "row" ? terms.reduce((sum, x) => sum + symbolWidth(x.before) + symbolWidth(x.after), 0)
        : name === "product" || name === "stack" ? 0
        : range(name === "grid" ? 2 : 1).reduce((sum, x) => {
          const below = terms.filter((_, i) => places[i].x === x);
          return sum + most(below.map((y) => symbolWidth(y.before))) + most(below.map((y) => symbolWidth(y.after)));
        }, 0);
      const specs = parts.map((part, i) => spec(part, places[i], i < results, room));
      if (name === "stack") {
        specs.forEach((one) => (one.title = 0)); // titles are cut, so that columns stay below each other
      }
      return { name, places, ...fitCells(specs, { ...room, width: room.width - symbols,
        height: room.height - (above ? terms.length * (1.5 * room.rem + room.gap) : 0) }) };
    });
    const area = ({ sizes: cells }) => cells.reduce((sum, { width, height }) => sum + Math.min(width, 60) * height, 0);
    const best = found.reduce((a, b) => (b.texts > a.texts || (b.texts === a.texts && area(b) > area(a)) ? b : a));
    return { ...best, parts, terms, results };
  };

  const build = ({ term, matrix: found, turned, pickRows, pickColumns, digits, short }, size, isResult, layout) => {
    const title = titleText(found, turned), { head, part } = readName(found.name);
    const seen = layout === "stack" && head !== null ? `${t("class.head")} ${head + 1}`
      : short && part !== undefined ? t("class.part_of_sum", part) : title;
    const table = matrix({ tensor: found.name, shape: found.shape, values: found.values, kind: found.kind,
      rows: found.rows, columns: found.columns, corner: size.heads > 0 && size.text === "across" && !turned ? found.corner : "", text: found.text,
      name: title, transposed: turned, pickRows, pickColumns, digits, size, changed: isResult, ...handlers });
    table.name = found.name;
    tables.push(table);
    return h("div.card", { "data-name": term.name, "data-transposed": String(term.transposed) },
      h("h3.card-title", { title }, h("span.name", {}, seen.replace(/ \(\d.*/, "")), h("span.size", {}, / \(\d.*/.exec(seen)?.[0] ?? "")),
      table.element);
  };

  const draw = () => {
    const chosen = formula();
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize), width = view.printed ? PAPER : element.clientWidth - 4;
    const narrow = width < NARROW && !view.printed;
    // A narrow window is scrolled until the map is at its top.
    const above = narrow ? element.closest("section").getBoundingClientRect().top : -scrollY;
    const below = innerHeight - (element.getBoundingClientRect().top - above) - 8;
    const room = { rem, narrow, small: narrow ? 2 : undefined, gap: 10, title: Math.ceil(1.45 * rem), width: Math.max(width, 200),
      height: view.printed ? PAPER : Math.max(LEAST, narrow ? Math.min(below, 0.5 * innerHeight) : below),
      fonts: state.present ? [Math.ceil(0.6 * rem), Math.floor(1.6 * rem)] : [Math.ceil(0.7 * rem), Math.floor(1.3 * rem)] };
    let found = arrange(chosen, room, null);
    view.zoomed = null;
    const rows = found.parts[0].pickRows;
    if (narrow && found.texts < 1 && rows.length > 1) { // the numbers of one row
      const row = Math.min(view.row, rows.length - 1), right = found.name === "product" ? found.terms[2].name : null;
      const one = arrange(chosen, room, (list, { name }) =>
        (list.length === rows.length && name !== right ? [list[row]] : list));
      if (one.texts >= 1) {
        view.zoomed = rows.map((r) => (found.parts[0].turned ? found.parts[0].matrix.columns : found.parts[0].matrix.rows)[r]);
        found = one;
      }
    }
    element.style.minHeight = narrow ? `${Math.round(room.height) + 8}px` : null; // what stands below does not move
    tables = [];
    const { name, places, parts, terms, results } = found;
    const hidden = name === "product" || name === "stack"; // the places say it
    const at = (x, y) => `grid-column:${x};grid-row:${y}`;
    const symbol = (text, style) => (text === "" ? null
      : h(hidden ? "span.symbol.unseen" : "span.symbol", { style, "data-symbol": text }, symbolOf(view, text)));
    const shown = terms.flatMap((term, i) => {
      const { x, y } = places[i], card = build(parts[i], found.sizes[i], i < results, name);
      if (narrow && name === "column") {
        card.setAttribute("style", `${at(1, 2 * y + 2)};width:${found.sizes[i].outer}px`);
        return [symbol(term.before, at(1, 2 * y + 1)), card, symbol(term.after, at(1, 2 * y + 3))];
      }
      const column = !hidden ? 3 * x + 2 : x === "all" ? "1 / -1" : x + 1;
      card.setAttribute("style", `${at(column, y + 1)};width:${name === "stack" ? "auto" : `${found.sizes[i].outer}px`}`);
      return [symbol(term.before, hidden ? null : at(column - 1, y + 1)), card,
        symbol(term.after, hidden ? null : at(column + 1, y + 1))];
    });
    element.dataset.layout = name;
    // The whole matrix spans all columns, and only the last one grows with it.
    element.style.gridTemplateColumns = name === "stack" ? `repeat(${terms.length - 1}, max-content) 1fr` : null;
    fill(element, shown);
  };
  return { element, draw, formula, tables: () => tables };
}
