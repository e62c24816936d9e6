// The engine of "Onward", of its own, so that the page's run stays as it is.

import { Engine } from "../../engine.js";
import { STEPS } from "../../run.js";

const TRAINED = 800; // steps of the model that writes: the toy is learnt

let engine = null, writing = null;

/** The result of one of the engine's functions (worker_onward.js). */
export async function call(name, args) {
  engine ??= Engine.create();
  return (await engine).call(name, args);
}

async function train() {
  engine ??= Engine.create();
  const language = await (await engine).start({ seed: 0, heads: 1, lr: 0.02, steps: STEPS, breaks: 0 });
  await (await engine).goTo(TRAINED);
  return language;
}

/** The language of the model that writes, which is trained once. */
export function writer() {
  writing ??= train();
  return writing;
}
