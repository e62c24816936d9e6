// The story's models: an engine of their own, with the weights that were trained when the page was built.

import { Engine, bytesOf } from "../../engine.js";
import { SENTENCE, ENDINGS } from "./words.js";

let opened = null;

/** {call(name, args): of the engine, about: of page_story_open, order(words): the reader's numbers for words in any order,
 * read(ending): for the sentence that ends so, pizza: if it ends with the pizza}. The same for all screens. */
export function story() {
  opened ??= begin();
  return opened;
}

async function begin() {
  const engine = await Engine.create();
  const about = await engine.call("storyOpen", bytesOf(document.getElementById("story-weights").textContent));
  const known = {};
  const read = (ending) => (known[ending] ??= order([...SENTENCE, ...ENDINGS[ending]]));
  const order = (words) => engine.call("storyRead", { tokens: words.map((word) => about.words.indexOf(word)),
    at: words.indexOf("it") });
  return { call: (name, args) => engine.call(name, args), about, read, order, pizza: await read("pizza") };
}

/** Calls use(result) of the newest call alone; while one is computed, only the last of the others is kept. */
export function newest(compute, use) {
  let busy = false, waiting = null;
  return async function ask(args) {
    if (busy) {
      waiting = args;
      return;
    }
    busy = true;
    use(await compute(args));
    busy = false;
    if (waiting !== null) {
      const next = waiting;
      waiting = null;
      await ask(next);
    }
  };
}
