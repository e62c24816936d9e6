// The engine of "Onward", of its own, so that the page's run stays as it is.

import { Engine } from "../../engine.js";

let engine = null;

/** The result of one of the engine's functions (worker_onward.js). */
export async function call(name, args) {
  engine ??= Engine.create();
  return (await engine).call(name, args);
}
