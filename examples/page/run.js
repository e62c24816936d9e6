// The training run that all sections share: its engine, its history, and the sentence it watches.

import { Engine } from "./engine.js";
import { state, setState, onState } from "./state.js";

export const STEPS = 2000; // of a whole run, as in next_token
export const MEASURE_EVERY = 25;

const listeners = new Set();

export const run = {
  engine: null,
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
      setState({ step: data.step });
    }
    tell(data.event, data);
  });
  await restart();
  if (state.step > 0) {
    await goTo(Math.min(state.step, STEPS));
  }
  onState((changed) => {
    if (["seed", "heads", "lr"].some((key) => changed.has(key))) {
      restart();
    }
  });
}

function moved(step) {
  run.step = step;
  run.changes++;
}

/** A new run with the seed, heads and learning rate of the state. */
export async function restart(breaks = 0) {
  const { seed, heads, lr } = state;
  run.language = await run.engine.start({ seed, heads, lr, steps: STEPS, breaks });
  run.losses = [];
  run.measures.clear();
  run.playing = false;
  moved(0);
  run.measures.set(0, await run.engine.measure(watched()));
  tell("restarted");
}

export function play({ until = STEPS, perSecond = 0 } = {}) {
  run.playing = true;
  return run.engine.play({ until, perSecond, every: MEASURE_EVERY, ...watched() });
}

export async function stop() {
  moved(await run.engine.stop());
  run.playing = false;
  setState({ step: run.step });
  tell("stopped", {});
}

export async function oneStep() {
  const { step, loss } = await run.engine.step();
  run.losses[step - 1] = loss;
  await arrived(step);
}

export async function goTo(step) {
  await arrived(await run.engine.goTo(step));
}

async function arrived(step) {
  moved(step);
  run.playing = false;
  run.measures.set(step, await run.engine.measure(watched()));
  setState({ step });
  tell("weights");
}
