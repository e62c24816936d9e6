// Attention masks as text: "" (causal), the name of another preset, or three hex digits for each of the
// 11 queries, whose bits are the blocked keys.

const DIGITS = 3;

// Is key j blocked for query i?
const presets = {
  "": (i, j) => j > i,
  none: () => false,
  self: (i, j) => j !== i,
  window: (i, j) => j > i || j <= i - 3,
};

export const PRESETS = Object.keys(presets);

/** The mask of a text: 0 or 1 for each of count x count cells, row by row; 1 blocks. */
export function blockedOf(text, count) {
  const rows = text.match(/[0-9a-f]{3}/g);
  const blocks = presets[text] ?? ((i, j) => ((parseInt(rows[i] ?? "0", 16) >> j) & 1) === 1);
  return Array.from({ length: count * count }, (_, at) => Number(blocks(Math.floor(at / count), at % count)));
}

/** The text of a mask. */
export function maskText(blocked, count) {
  const preset = PRESETS.find((name) => blockedOf(name, count).every((b, i) => b === blocked[i]));
  return preset ?? Array.from({ length: count }, (_, i) => {
    const bits = blocked.slice(i * count, (i + 1) * count).reduce((sum, b, j) => sum + b * 2 ** j, 0);
    return bits.toString(16).padStart(DIGITS, "0");
  }).join("");
}
