// What the story's screens share in texts and numbers.

import { h } from "../../dom.js";

/** Text with *words* and **terms** as elements. */
export function rich(text) {
  return text.split(/(\*{1,2}[^*]+\*{1,2})/).map((part) => (part.startsWith("**") ? h("strong", {}, part.slice(2, -2))
    : part.startsWith("*") ? h("em", {}, part.slice(1, -1)) : part));
}

/** 0.8412 -> "84 %". */
export function percent(value) {
  const hundred = 100 * value;
  return `${hundred >= 9.95 || hundred < 0.05 ? hundred.toFixed(0) : hundred.toFixed(1)} %`;
}

/** A number with a true minus sign. */
export const signed = (value, digits = 2) => value.toFixed(digits).replace(/^-(?=[\d.]*[1-9])/, "−").replace(/^-/, "");

export const SENTENCE = ["the", "pizza", "came", "out", "of", "the", "oven", "and", "it"];
export const ENDINGS = { pizza: ["tasted", "good"], oven: ["baked", "evenly"] };
export const IT = 8, NOUNS = { pizza: 1, oven: 6 };

/** The index of the largest number. */
export const largest = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
