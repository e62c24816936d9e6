// How large the cells of tables can be that have to be seen together. Numbers are written where they fit; where they
// do not, cells are colours. The result comes first, then the smaller tables.

const SMALL = 4, LARGE = 16; // px of cells without numbers; in narrow windows they are still smaller
const EASY = 7;              // px of those that are easy to point at
const NAMES = 11;            // px of the smallest names
const TIED = 9;              // px of the height of operands that are compared number by number
const FEW = 16;              // rows: these have names where a row is as high as a name

const range = (count) => Array.from({ length: count }, (_, i) => i);
const most = (list) => list.reduce((a, b) => Math.max(a, b), 0);

/** The px that a number and the names need with a font; down: numbers are written from top to bottom. */
const along = (em, font) => Math.ceil((em + 0.5) * font) + 1;
const across = (font) => Math.ceil(font * 1.5);
const namesWide = (em, font) => (em === 0 ? 0 : Math.ceil((em + 0.6) * Math.max(NAMES, font * 0.82)) + 4);

/** One attempt: these tables with numbers, this font, cells without numbers of these sizes. */
function layOut(tables, { texts, font, down, width, height, few = 0, slack = 1 }, { gap, title }) {
  const isText = (i) => texts.has(i);
  const fixed = (group, size) => most(tables.map((table, i) => (isText(i) && table[group] === size.of ? size.px(table) : 0)));
  const cellWidth = (table) => Math.ceil(slack * fixed("gx", { of: table.gx,
    px: (t) => (down ? across(font) : Math.max(along(t.em, font), namesWide(t.headEm, font))) })) || width;
  const cellHeight = (table) => fixed("gy", { of: table.gy, px: (t) => (down ? along(t.em, font) : across(font)) }) ||
    (table.rows > 1 && table.rows <= FEW ? Math.max(few, height) : height);
  const first = (table) => !tables.some((other) => other.y === table.y && other.x < table.x);
  const sizes = tables.map((table, i) => {
    const h = cellHeight(table), named = first(table) && (isText(i) || (table.rows <= FEW && h >= NAMES));
    return { width: cellWidth(table), height: h, font: isText(i) ? font : Math.min(font, Math.max(NAMES, h)),
      names: named ? namesWide(table.nameEm, font) : 0, heads: 0, text: isText(i) ? (down ? "down" : "across") : "" };
  });
  const inLine = (key, value) => range(tables.length).filter((i) => tables[i][key] === value);
  for (const y of new Set(tables.map((table) => table.y))) { // rows of neighbours stay level
    const heads = most(inLine("y", y).map((i) => (isText(i) && tables[i].heads
      ? (down ? namesWide(Math.min(tables[i].headLength, 5), font) : Math.ceil(font * 1.4)) : 0)));
    inLine("y", y).forEach((i) => (sizes[i].heads = heads));
  }
  for (const x of new Set(tables.map((table) => table.x))) { // and columns of those below each other
    const names = most(inLine("x", x).map((i) => sizes[i].names));
    inLine("x", x).forEach((i) => (sizes[i].names = sizes[i].names > 0 ? names : 0));
  }
  const outer = tables.map((table, i) => ({
    w: Math.max(sizes[i].names + table.columns * sizes[i].width, table.title) + 4,
    h: title + sizes[i].heads + table.rows * sizes[i].height + 4,
  }));
  outer.forEach(({ w }, i) => (sizes[i].outer = w));
  const total = (key, side) => [...new Set(tables.map((table) => table[key]).filter((at) => at !== "all"))]
    .reduce((sum, at) => sum + gap + most(inLine(key, at).map((i) => outer[i][side])), -gap);
  return { sizes, font, texts, w: total("x", "w"), h: total("y", "h") };
}

/** Are cells of colours as large as they can be? */
function withColours(tables, attempt, room, least = room.small) {
  const low = Math.max(room.small, ...tables.map((table) => (table.tied ? TIED : 0)));
  const fits = (width, height, few) => {
    const found = layOut(tables, { ...attempt, width, height, few }, room);
    return found.w <= room.width && found.h <= room.height ? found : null;
  };
  if (fits(least, low, 0) === null) {
    return null;
  }
  const largestOf = (isRight) => range(LARGE - room.small + 1).map((i) => LARGE - i).find(isRight);
  const few = [NAMES + 2, NAMES].find((size) => fits(least, low, size) !== null) ?? 0;
  const width = largestOf((size) => fits(size, low, few) !== null);
  const height = largestOf((size) => fits(width, size, few) !== null);
  const more = [22, 20, 18].find((size) => fits(width, height, size) !== null) ?? few;
  return fits(width, height, more);
}

/**
 * tables: [{x, y: places in a grid ("all": over all columns), gx, gy: groups with cells of one width, one height,
 * rows, columns: counts, em: of the widest number, nameEm, headEm: of the names of rows and columns (0: they
 * may be cut off), headLength: of all names of columns, heads: has them, title: px, result: is it one, words: are its
 * cells words, tied: are its cells at least TIED high}]; room: {width, height, small, gap, title: px
 * of a title line, fonts: [smallest, largest]}.
 * Returns {sizes: of matrix.js, w, h, texts: the number of tables with numbers}.
 */
export function fitCells(tables, { small = SMALL, ...rest }) {
  const room = { small, ...rest };
  const order = range(tables.length).sort((a, b) => tables[b].words - tables[a].words || tables[b].result - tables[a].result ||
    tables[a].rows * tables[a].columns - tables[b].rows * tables[b].columns);
  const [smallest, largest] = room.fonts;
  const attempt = (count, down, least) => {
    const texts = new Set(order.slice(0, count));
    for (let font = largest; font >= smallest; font--) {
      const found = withColours(tables, { texts, font, down }, room, least);
      if (found !== null) {
        const wide = count === order.length && !down ? [1.5, 1.35, 1.2, 1.1].map((slack) =>
          withColours(tables, { texts, font, down, slack }, room)).find((x) => x !== null) : null;
        return { ...wide ?? found, texts: count };
      }
    }
    return null;
  };
  const counts = range(order.length).map((i) => order.length - i);
  const oneRow = tables.some(({ rows, result }) => result && rows === 1);
  for (const [count, down] of [...counts.map((n) => [n, false]), ...(oneRow ? counts.map((n) => [n, true]) : []), [0, false]]) {
    const found = attempt(count, down, EASY) ?? attempt(count, down, room.small);
    if (found !== null) {
      return found;
    }
  }
  const least = layOut(tables, { texts: new Set(), font: smallest, width: small, height: small }, room);
  return { ...least, texts: -1 };
}
