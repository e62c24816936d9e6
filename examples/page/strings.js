// The texts of the page in three languages, from one table per section. Every entry is
// key: [English, German, French]; {0}, {1}, ... stand for arguments.

import { shell } from "./strings/shell.js";
import { classroom } from "./strings/class.js";
import { explaining } from "./strings/explain.js";
import { training } from "./strings/training.js";
import { breaks } from "./strings/breaks.js";
import { quiz } from "./strings/quiz.js";
import { teachers } from "./strings/teachers.js";
import { gpt } from "./strings/gpt.js";
import { story } from "./strings/story.js";

export const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français" };

const table = { ...shell, ...classroom, ...explaining, ...training, ...breaks, ...teachers,
  ...quiz, ...gpt, ...story };
const order = Object.keys(LANGUAGES);
const FRENCH = order.indexOf("fr"); // whose signs are not to be parted from their words
let column = 0;

/** The sign behind a number: "84%", in German and French "84 %". */
export const percentSign = () => (column === 0 ? "%" : "\u00a0%");

/** A value in a sentence: German and French write a comma where tables, formulas and code have a point. */
function inSentence(value) {
  const text = String(value);
  return column > 0 && /^[<>−-]?\d+\.\d+(\s?%)?$/.test(text) ? text.replace(".", ",") : text;
}

export function setLanguage(code) {
  column = Math.max(0, order.indexOf(code));
  document.documentElement.lang = order[column];
}

/** The text of a key in the chosen language. */
export function t(key, ...values) {
  const entry = table[key];
  if (entry === undefined) {
    throw new Error(`no text "${key}"`);
  }
  const text = column === FRENCH ? entry[column].replace(/ (?=[?!:;»%])|(?<=«) /g, "\u00a0") : entry[column];
  return text.replace(/\{(\d)\}/g, (all, i) => inSentence(values[i]));
}

/** Every key with its texts, for tests. */
export const allStrings = table;
