// The training run that all sections share: its engine, its history, and the sentence it watches.

import { Engine } from "./engine.js";
import { state, setState, onState } from "./state.js";
import { blockedOf } from "./mask.js";

export const STEPS = 2000; // of a whole run, as in next_token
export const MEASURE_EVERY = 25;

const listeners = new Set();

export const run = {
  engine: null,
  of: {},           // {seed, heads, lr, trained} of this run
  opened: false,    // its weights come from a file
  language: null,   // {words, train, heldOut, context, it, subject}
  step: 0,
  losses: [],       // losses[i]: of step i + 1
  measures: new Map(), // step -> the data of a "measure" event
  playing: false,
  changes: 0,       // grows whenever the weights change, to tell whether a pass is out of date
};

/** Calls listen(what) after each change: "restarted", "steps", "measure", "stopped", "weights". */
export function onRun(listen) {
  listeners.add(listen);
  return () => listeners.delete(listen);
}

function tell(what, detail) {
  listeners.forEach((listen) => listen(what, detail));
}

/** The ids of words, or null for those that the language does not have. */
export function idsOf(words) {
  return words.map((word) => {
    const id = run.language.words.indexOf(word);
    return id >= 0 ? id : null;
  });
}

/** The sentence that training watches: ids of the held-out pizza sentence. */
export function watched() {
  const { heldOut, it } = run.language;
  const pizza = run.language.words.indexOf("pizza");
  const sentence = heldOut.find((ids) => ids[1] === pizza) ?? heldOut[0];
  return { tokens: sentence, prompt: sentence.slice(0, it + 1) };
}

export async function beginRun() {
  run.engine = await Engine.create();
  run.engine.listen((data) => {
    if (data.event === "steps") {
      data.losses.forEach((loss, i) => (run.losses[data.first + i] = loss));
      moved(data.step);
    } else if (data.event === "measure") {
      run.measures.set(data.step, data);
      moved(data.step);
    } else {
      run.playing = false;
      useMask(state.mask);
      setState({ step: data.step });
    }
    tell(data.event, data);
  });
  await restart(0, state.step);
  onState(async (changed) => {
    if (["seed", "heads", "lr", "trained"].some((key) => changed.has(key) && state[key] !== run.of[key])) {
      await restart(0, changed.has("step") ? state.step : 0);
    } else if (changed.has("step") && state.step !== run.step && !run.playing) {
      await goTo(state.step);
    } else if (changed.has("mask") && !run.playing) {
      await useMask(state.mask);
      await arrived(run.step);
    }
  });
}

// Passes use state.mask, training uses state.trained: what a link shows depends on both, not on their history.
function useMask(mask) {
  return run.engine.mask(blockedOf(mask, run.language.context));
}

function moved(step) {
  run.step = step;
  run.changes++;
}

/** A new run with the seed, heads, learning rate and mask of the state, after `step` steps. */
export async function restart(breaks = 0, step = 0) {
  const { seed, heads, lr, trained } = state;
  run.opened = false;
  run.of = { seed, heads, lr, trained };
  run.language = await run.engine.start({ seed, heads, lr, steps: STEPS, breaks });
  await begun(step);
}

/** Loads a whole model from the bytes of a file: a run that begins with its weights, which no link can hold. */
export async function openModel(bytes) {
  const about = await run.engine.open(bytes);
  run.of.heads = about.heads;
  run.opened = true;
  setState({ heads: about.heads });
  await begun(0);
  return about;
}

// Replays the first steps of the new run, so that their losses and measures are known, too.
async function begun(step) {
  run.losses = [];
  run.measures.clear();
  await useMask(state.mask);
  await arrived(0, "restarted");
  if (step > 0) {
    const stopped = new Promise((resolve) => {
      const end = run.engine.listen(({ event }) => event === "stopped" && (end(), resolve()));
    });
    await play({ until: step });
    await stopped;
  }
}

export async function play({ until = STEPS, perSecond = 0 } = {}) {
  run.playing = true;
  await useMask(state.trained);
  return run.engine.play({ until, perSecond, every: MEASURE_EVERY, ...watched() });
}

export async function stop() {
  moved(await run.engine.stop());
  run.playing = false;
  await useMask(state.mask);
  setState({ step: run.step });
  tell("stopped", {});
}

export async function oneStep() {
  await useMask(state.trained);
  const { step, loss } = await run.engine.step();
  run.losses[step - 1] = loss;
  await useMask(state.mask);
  await arrived(step);
}

export async function goTo(step) {
  await useMask(state.trained);
  const there = await run.engine.goTo(step);
  await useMask(state.mask);
  await arrived(there);
}

async function arrived(step, what = "weights") {
  moved(step);
  run.playing = false;
  run.measures.set(step, await run.engine.measure(watched()));
  setState({ step });
  tell(what);
}
