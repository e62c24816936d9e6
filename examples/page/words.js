// Sentences over the toy language.

import { t } from "./strings.js";
import { run } from "./run.js";

/** Reads a text without capitals and punctuation; an emoji is a word, which the model does not know. Returns {ids, problem: a sentence
 * that says why the model cannot read it, or null}. */
export function readSentence(text) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}'’-]+|\p{Extended_Pictographic}/gu) ?? [];
  const { words: known, context } = run.language, unknown = words.filter((word) => !known.includes(word));
  return { ids: words.map((word) => known.indexOf(word)), problem: unknown.length > 0 ? t("own.unknown", unknown.join(", "))
    : words.length < 2 || words.length > context ? t("own.length", context) : null };
}
