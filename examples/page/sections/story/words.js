// What the story's screens share in texts and numbers.

import { h } from "../../dom.js";
import { percentSign } from "../../strings.js";

/** Text with *words* and **terms** as elements. */
export function rich(text) {
  return text.split(/(\*{1,2}[^*]+\*{1,2})/).map((part) => (part.startsWith("**") ? h("strong", {}, part.slice(2, -2))
    : part.startsWith("*") ? h("em", {}, part.slice(1, -1)) : part));
}

const language = () => document.documentElement.lang;

/** Digits with the language's decimal sign. */
const local = (text) => (language() === "en" ? text : text.replace(".", ","));

/** 0.8412 -> "84%", in German and French "84 %"; "0%" is exactly 0. */
export function percent(value) {
  const hundred = 100 * value;
  return local(hundred > 0 && hundred < 0.05 ? "<0.1" : hundred.toFixed(hundred >= 9.95 || hundred === 0 ? 0 : 1)) +
    percentSign();
}

/** A number with a true minus sign. */
export const signed = (value, digits = 2) =>
  local(value.toFixed(digits).replace(/^-(?=[\d.]*[1-9])/, "−").replace(/^-/, ""));

/** 3792 -> "3,792", in German and French "3 792": a point would be taken for a decimal one (strings.js). */
export const whole = (value) => value.toLocaleString(language()).replace(".", "\u202f");

export const SENTENCE = ["the", "pizza", "came", "out", "of", "the", "oven", "and", "it"];
export const ENDINGS = { pizza: ["tasted", "good"], oven: ["baked", "evenly"] };
export const WORDS = [...SENTENCE, ...ENDINGS.pizza];
export const IT = 8, NOUNS = { pizza: 1, oven: 6 };

/** A share from which a word stands out. */
export const CLEAR = 0.2;

/** The index of the largest number. */
export const largest = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
