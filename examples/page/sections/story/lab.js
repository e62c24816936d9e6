// Next-token models that the story trains beside the page's run: one engine of their own, one model at a time.

import { Engine } from "../../engine.js";
import { STEPS } from "../../run.js";

let engine = null, last = Promise.resolve();

/** The language of a run, and the sentence about the pizza that is held out. */
function pizzaOf(language) {
  const pizza = language.words.indexOf("pizza");
  return language.heldOut.find((ids) => ids[1] === pizza);
}

/** Trains a model for `until` steps: {seed, masked: whether later words are hidden, breaks}; onstep(losses) whenever there are more.
 * Returns {language, losses, tokens, measured: of a "measure" event, guesses: the word it writes after each word of the
 * sentence, if they are wanted}. One after the other. */
export function train({ seed = 0, masked = true, breaks = 0, until, guessing = false, onstep = () => {} }) {
  const mine = last.catch(() => null).then(async () => {
    engine ??= Engine.create();
    const e = await engine;
    const language = await e.start({ seed, heads: 1, lr: 0.02, steps: STEPS, breaks });
    await e.mask(masked ? null : new Uint8Array(language.context ** 2));
    const tokens = pizzaOf(language), prompt = tokens.slice(0, language.it + 1), losses = [];
    await new Promise((resolve, reject) => {
      const end = e.listen((data) => {
        if (data.event === "steps") {
          data.losses.forEach((loss, i) => (losses[data.first + i] = loss));
          onstep(losses);
        } else if (data.event === "stopped") {
          end();
          data.error === undefined ? resolve() : reject(new Error(data.error));
        }
      });
      e.play({ until, perSecond: 0, every: until, tokens, prompt }).catch(reject);
    });
    const guesses = [];
    for (let i = 0; guessing && i < language.context; i++) {
      const { written } = await e.measure({ tokens, prompt: tokens.slice(0, i + 1) });
      guesses.push(language.words[written[0]]);
    }
    return { language, losses, tokens, guesses, measured: await e.measure({ tokens, prompt }) };
  });
  last = mine;
  return mine;
}

