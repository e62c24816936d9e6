// Next-token models that the story trains beside the page's run, in an engine of their own.

import { Engine } from "../../engine.js";
import { STEPS } from "../../run.js";

let engine = null;

/** Trains a model for `until` steps, one at a time; masked: later words are hidden; onstep(losses): whenever there are
 * more. Returns {measured: of a "measure" event for the sentence about the pizza, which is held out, guesses: with the
 * mask, the word it writes after each word of that sentence}. */
export async function train({ masked, until, onstep }) {
  const e = (engine ??= await Engine.create()), losses = [], guesses = [];
  const { words, heldOut, context, it } = await e.start({ seed: 0, heads: 1, lr: 0.02, steps: STEPS, breaks: 0 });
  await e.mask(masked ? null : new Uint8Array(context ** 2));
  const tokens = heldOut.find((ids) => words[ids[1]] === "pizza"), prompt = tokens.slice(0, it + 1);
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
  for (let i = 0; masked && i < context; i++) {
    const { written } = await e.measure({ tokens, prompt: tokens.slice(0, i + 1) });
    guesses.push(words[written[0]]);
  }
  return { guesses, measured: await e.measure({ tokens, prompt }) };
}
