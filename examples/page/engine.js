// The page's end of a worker with one engine. Every method returns a promise, which rejects with the
// engine's sentence if there is an error.

/** The bytes of base64 text. */
export function bytesOf(base64) {
  const binary = atob(base64.trim()), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) {
    bytes[i] = binary.charCodeAt(i);
  }
  return bytes;
}

/** The bytes of base64 text after gzip. */
export function decode(base64) {
  const bytes = bytesOf(base64);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

let wasm; // a promise: decoded once, for all engines

export class Engine {
  /** An engine in a worker of its own. */
  static async create() {
    const script = document.getElementById("engine-worker").textContent;
    wasm ??= decode(document.getElementById("engine-wasm").textContent);
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const engine = new Engine(new Worker(url));
    await engine.call("load", await wasm);
    URL.revokeObjectURL(url);
    return engine;
  }

  constructor(worker) {
    this.worker = worker;
    this.waiting = new Map();
    this.next = 0;
    this.listeners = new Set();
    worker.onmessage = ({ data }) => {
      if (data.event !== undefined) {
        this.listeners.forEach((listen) => listen(data));
        return;
      }
      const { resolve, reject } = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      data.error !== undefined ? reject(new Error(data.error)) : resolve(data.result);
    };
    worker.onerror = (event) => {
      this.waiting.forEach(({ reject }) => reject(new Error(event.message)));
      this.waiting.clear();
    };
  }

  call(name, ...args) {
    return new Promise((resolve, reject) => {
      this.waiting.set(this.next, { resolve, reject });
      this.worker.postMessage({ id: this.next++, name, args });
    });
  }

  /** Calls listen(event) for {event: "steps", first, losses, step}: losses of the steps from `first`;
   * {event: "measure", step, score: {accuracy, attention, loss}, heads, seen, weights, written, hash}:
   * weights are (heads, seen, seen); {event: "stopped", step, error}. Returns a function that ends it. */
  listen(listen) {
    this.listeners.add(listen);
    return () => this.listeners.delete(listen);
  }

  end() {
    this.worker.terminate();
  }

  // ---- training ----

  /** A new run at step 0. Returns the language: {words, train, heldOut, context, it, subject}. */
  start({ seed, heads, lr, steps, breaks }) { return this.call("start", { seed, heads, lr, steps, breaks }); }
  /** Trains until step `until`, at most perSecond steps a second (0: as fast as possible), and measures
   * every `every` steps: attention over the ids `tokens`, continuation of the ids `prompt`. */
  play(options) { return this.call("play", options); }
  stop() { return this.call("stop"); }
  /** One step: {step, loss}. */
  step() { return this.call("step"); }
  /** To the state after `step` steps, bit by bit as it was. */
  goTo(step) { return this.call("goTo", step); }
  /** The data of a "measure" event, now; {tokens, prompt}. */
  measure(watched) { return this.call("measure", watched); }
  hash() { return this.call("hash"); }
  /** blocked: 0 or 1 for each of context x context cells; null: the causal mask. Training uses it only
   * if it is set at step 0. */
  mask(blocked) { return this.call("mask", blocked); }

  // ---- passes: {loss, marks, leaves, tensors} as in engine.h; tensors: {dtype, shape, values};
  // step: of the run ----

  pass(tokens) { return this.call("pass", tokens); }
  /** Attention without a model: encodings (count, dModel), blocked (count x count) or null. */
  passAlone({ encodings, count, blocked = null }) { return this.call("passAlone", { encodings, count, blocked }); }
  /** The loss of the last pass, in double precision, with one element of a leaf set to each value. */
  losses({ leaf, cell, values }) { return this.call("losses", { leaf, cell, values }); }

  /** The attention module for passAlone, with weights from a seed. */
  alone({ seed, dModel }) { return this.call("alone", { seed, dModel }); }

  // ---- the map of a GPT (gpt_map.h) ----

  /** Opens the bytes of a file of gpt train: {level, vocab, context, layers, heads, width, parameters, steps,
   * tokens: the text of each}. */
  gptOpen(bytes) { return this.call("gptOpen", bytes); }
  /** The forward over a text: {left_out, ids, parts: {name: {shape, values}}}. */
  gptRead(text) { return this.call("gptRead", text); }
}
