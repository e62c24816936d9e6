// Sentences over the toy language: reading them, and words to replace unknown ones.

import { run } from "./run.js";

const END = "<eos>"; // the end of a sentence, which nobody writes

/** The words that a sentence may contain. */
export function vocabulary() {
  return run.language.words.filter((word) => word !== END);
}

/** The words of a text without capitals and punctuation; an emoji is a word, which the model does not know. */
export function wordsOf(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}'’-]+|\p{Extended_Pictographic}/gu) ?? [];
}

/** {words, ids, unknown: positions of unknown words, tooMany: words above the limit, ready: it has two to
 * `context` known words}. */
export function readSentence(text) {
  const words = wordsOf(text);
  const ids = words.map((word) => (word === END ? -1 : run.language.words.indexOf(word)));
  const unknown = words.map((_, i) => i).filter((i) => ids[i] < 0);
  const tooMany = Math.max(0, words.length - run.language.context);
  return { words, ids, unknown, tooMany, ready: words.length >= 2 && unknown.length === 0 && tooMany === 0 };
}

/** The words at a position of the language's sentences. */
export function wordsAt(position) {
  const { words, train, heldOut } = run.language;
  return [...new Set([...train, ...heldOut].map((ids) => words[ids[position]]))].filter((w) => w && w !== END);
}

/** The number of letters to insert, delete, replace or swap with the next one to get from a to b. */
export function editDistance(a, b) {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)]; // rows[i][j]: from i letters of a to j of b
  for (let i = 1; i <= a.length; i++) {
    const row = [i], above = rows[i - 1];
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(above[j] + 1, row[j - 1] + 1, above[j - 1] + Number(a[i - 1] !== b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(row[j], rows[i - 2][j - 2] + 1);
      }
    }
    rows.push(row);
  }
  return rows[a.length][b.length];
}

/** Known words for an unknown one: {spelled: those spelled alike, fitting: others that sentences have there}. */
export function suggestions(word, position, most = 5) {
  const short = word.slice(0, 40);
  const byDistance = (words) => words.map((w) => [editDistance(short, w), w]).sort(([a], [b]) => a - b);
  const near = Math.max(1, Math.min(3, Math.floor(short.length / 3)));
  const spelled = byDistance(vocabulary()).filter(([d]) => d <= near).slice(0, most).map(([, w]) => w);
  const fitting = byDistance(wordsAt(position)).map(([, w]) => w).filter((w) => !spelled.includes(w)).slice(0, most);
  return { spelled, fitting };
}
