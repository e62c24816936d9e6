// The worker: one instance of the engine (engine.h), which computes off the page's own thread.
// It answers messages {id, name, args} with {id, result} or {id, error}; while it plays, it also
// sends {event, ...}. engine.js is the other end.

import { imports } from "./wasi.js";
import { storyFunctions } from "./worker_story.js";
import { gptFunctions } from "./worker_gpt.js";

let e; // the engine's exports
let printed = "";
const encoder = new TextEncoder(), decoder = new TextDecoder();

// ---- memory ----

const bytes = () => new Uint8Array(e.memory.buffer);

function text(at) {
  const all = bytes();
  return decoder.decode(all.subarray(at, all.indexOf(0, at)));
}

/** Throws the engine's pending error, if any. */
function check() {
  const message = e.page_error();
  if (message !== 0) {
    throw new Error(text(message));
  }
}

/** Calls use(address) with a copy of a typed array in the engine's memory; 0 for null. */
function lend(array, use) {
  if (array === null || array === undefined) {
    return use(0);
  }
  const at = e.page_alloc(array.byteLength);
  check();
  bytes().set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at);
  try {
    return use(at);
  } finally {
    e.page_free(at);
  }
}

/** Calls use(path) with the path of a file of these bytes. */
function lendFile(file, use) {
  const path = encoder.encode("the file\0"); // BROWSER_FILE_PATH
  return lend(file, (at) => {
    e.page_file(at, file.byteLength);
    return lend(path, use);
  });
}

function json(address) {
  check();
  return JSON.parse(text(address));
}

const ARRAYS = { f32: Float32Array, f64: Float64Array, i64: BigInt64Array, bool: Uint8Array };

/** The elements of a tensor in row-major order; f64 and f32 as such, i64 as numbers. */
function elements({ dtype, shape, strides, at }) {
  const count = shape.reduce((a, b) => a * b, 1);
  const Type = ARRAYS[dtype], size = Type.BYTES_PER_ELEMENT;
  const out = dtype === "i64" ? new Float64Array(count) : new Type(count);
  let reach = 1;
  shape.forEach((n, d) => (reach += (n - 1) * strides[d]));
  if (count === 0) {
    return out;
  }
  const from = new Type(e.memory.buffer, at, reach);
  const index = shape.map(() => 0);
  for (let i = 0; i < count; i++) {
    let offset = 0;
    index.forEach((n, d) => (offset += n * strides[d]));
    out[i] = Number(from[offset]);
    for (let d = shape.length - 1; d >= 0 && ++index[d] === shape[d]; d--) {
      index[d] = 0;
    }
  }
  return out;
}

/** A recorded pass (engine.h), whose tensors have their values instead of addresses, with the run's step. */
function pass(address) {
  const recorded = json(address);
  recorded.step = e.page_steps();
  recorded.tensors = recorded.tensors.map((t) => ({ dtype: t.dtype, shape: t.shape, values: elements(t) }));
  return recorded;
}

// ---- training ----

let playing = null; // {until, perSecond, slowUntil, every, tokens, prompt, due}
let timer = 0;      // of the next steps

/** Score, attention over the watched sentence and what the model writes after it. */
function measure({ tokens, prompt }) {
  const watched = Int32Array.from(tokens);
  const { heads, tokens: seen, at } = lend(watched, (p) => json(e.page_attention(p, watched.length)));
  const weights = new Float32Array(e.memory.buffer, at, heads * seen * seen).slice();
  const start = Int32Array.from(prompt ?? tokens);
  const written = lend(start, (p) => json(e.page_write(p, start.length, 4))).words;
  const score = json(e.page_score());
  for (const name in score) {
    score[name] ??= NaN;
  }
  return { step: e.page_steps(), score, heads, seen, weights, written, hash: text(e.page_hash()) };
}

/** Takes steps for about 15 ms, then lets messages in. */
function play() {
  if (playing === null) {
    return;
  }
  const p = playing, begin = performance.now(), first = e.page_steps(), losses = [];
  if (first >= p.slowUntil) {
    p.perSecond = 0;
  }
  try {
    let measured = false;
    do {
      const late = p.perSecond > 0 && performance.now() < p.due;
      if (late || e.page_steps() >= p.until) {
        break;
      }
      losses.push(e.page_step());
      check();
      p.due = Math.max(p.due, begin - 200) + 1000 / (p.perSecond || Infinity);
      measured = e.page_steps() % p.every === 0 || e.page_steps() >= p.until;
    } while (!measured && performance.now() - begin < 15);
    if (losses.length > 0) {
      postMessage({ event: "steps", first, losses, step: e.page_steps() });
    }
    if (measured || (p.perSecond > 0 && losses.length > 0)) {
      postMessage({ event: "measure", ...measure(p) });
    }
    if (e.page_steps() >= p.until) {
      playing = null;
      postMessage({ event: "stopped", step: e.page_steps() });
      return;
    }
  } catch (error) {
    playing = null;
    postMessage({ event: "stopped", step: e.page_steps(), error: error.message });
    return;
  }
  timer = setTimeout(play, p.perSecond > 0 ? Math.max(0, p.due - performance.now()) : 0);
}

// ---- what the page can ask for (engine.js documents each) ----

const functions = {
  start({ seed, heads, lr, steps, breaks }) {
    playing = null;
    e.page_start(seed, heads, lr, steps, breaks);
    return json(e.page_language());
  },
  play({ until, perSecond, slowUntil, every, tokens, prompt }) {
    playing = { until, perSecond, slowUntil, every, tokens, prompt, due: performance.now() };
    clearTimeout(timer);
    timer = setTimeout(play, 0);
  },
  stop() {
    playing = null;
    return e.page_steps();
  },
  step() {
    playing = null;
    const loss = e.page_step();
    check();
    return { step: e.page_steps(), loss };
  },
  goTo(step) {
    playing = null;
    e.page_go_to(step);
    check();
    return e.page_steps();
  },
  measure,
  hash() {
    const at = e.page_hash();
    check();
    return text(at);
  },
  mask(blocked) {
    lend(blocked && Uint8Array.from(blocked), (p) => e.page_set_mask(p));
    check();
  },
  pass(tokens) {
    const ids = Int32Array.from(tokens);
    return lend(ids, (p) => pass(e.page_pass(p, ids.length)));
  },
  passAlone({ encodings, count, blocked }) {
    return lend(Float32Array.from(encodings), (x) =>
      lend(blocked && Uint8Array.from(blocked), (b) => pass(e.page_pass_alone(x, count, b))));
  },
  losses({ leaf, cell, values }) {
    const given = Float64Array.from(values);
    return lend(given, (v) => lend(given, (out) => {
      e.page_losses(leaf, cell, v, given.length, out);
      check();
      return Array.from(new Float64Array(e.memory.buffer, out, given.length));
    }));
  },
  alone({ seed, dModel }) {
    e.page_alone(seed, dModel);
    check();
  },
};

Object.assign(functions, storyFunctions({ exports: () => e, lend, json }));
Object.assign(functions, gptFunctions({ exports: () => e, lend, lendFile, json, elements }));

onmessage = async ({ data: { id, name, args } }) => {
  try {
    if (name === "load") {
      const module = await WebAssembly.compile(args[0]);
      const instance = await WebAssembly.instantiate(module, imports(module, () => e.memory, (t) => (printed += t)));
      e = instance.exports;
      e._initialize();
      postMessage({ id });
    } else {
      postMessage({ id, result: functions[name](...args) });
    }
  } catch (error) {
    postMessage({ id, error: printed + error.message });
    printed = "";
  }
};
