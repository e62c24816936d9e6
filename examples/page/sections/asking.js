// What questions about numbers share: the quiz, and those of Line by line.

import { number } from "../matrix.js";

const OPTIONS = 4;
const DIGITS = 2; // decimals that a typed answer needs

const range = (count) => Array.from({ length: count }, (_, i) => i);

/** The answer that is near enough to a number: half a unit of the second decimal, and 1 % of large numbers. */
export const isNear = (answer, value) =>
  Math.abs(answer - value) <= Math.max(0.5 * 10 ** -DIGITS + 1e-9, 0.01 * Math.abs(value));

/** The number that a reader has typed, with a comma or a point, or NaN. */
export const typed = (text) => (text.trim() === "" ? NaN
  : Number(text.trim().replace("−", "-").replace(",", ".").replace(/ ?%$/, "")));

/** The formula of a number, in one line of text. */
export const formulaText = (found) =>
  `${found.parts.map((part) => part.text ?? part).join("")} ${found.comesOut ? "=" : "≈"} ${number(found.value)}`;

/** At most four of the candidates in their order, the best among them; the others are spread evenly. */
export function choose(candidates, best) {
  const others = candidates.filter((x) => x !== best);
  const step = others.length / Math.min(OPTIONS - 1, others.length);
  const few = range(Math.min(OPTIONS - 1, others.length)).map((i) => others[Math.floor(i * step)]);
  return candidates.filter((x) => x === best || few.includes(x));
}
