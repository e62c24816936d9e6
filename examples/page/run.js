// The training run that all sections share: its engine, its history, and the sentence it watches.

import { Engine } from "./engine.js";
import { state, setState, onState } from "./state.js";
import { readSentence } from "./words.js";

export const STEPS = 2000; // of a whole run, as in next_token
export const MEASURE_EVERY = 25;
export const LEARNING = { perSecond: 25, slowUntil: 150 }; // the pace at which one can watch the toy being learnt
const SNAPSHOT_EVERY = 50; // of the engine: going to these steps is quick
const REMEMBER_EVERY = 100; // steps after which the URL is written while it plays

const listeners = new Set();

export const run = {
  engine: null,
  of: {},           // {seed, heads, lr} of this run
  language: null,   // {words, train, heldOut, context, it, subject}
  step: 0,
  losses: [],       // losses[i]: of step i + 1; all steps taken so far, also those after `step`
  measures: new Map(), // step -> the data of a "measure" event
  playing: false,
  busy: false,      // going to a step, or measuring earlier steps
  target: null,     // the step that it trains towards, as a link or a button asked for it
  error: "",        // the engine's sentence, until something succeeds
  changes: 0,       // grows whenever the weights change, to tell whether a pass is out of date
};

/** Calls listen(what, data) after each change: "restarted", "steps", "measure", "stopped", "weights" (one
 * step, or another step was gone to), "watch" (another sentence), "busy", "error". */
export function onRun(listen) {
  listeners.add(listen);
  return () => listeners.delete(listen);
}

function tell(what, detail = {}) {
  listeners.forEach((listen) => listen(what, detail));
}

/** The reader's sentence as ids, or null if a word is unknown or their number does not fit. */
function ownSentence() {
  const { ids, problem } = readSentence(state.sentence);
  return problem === null ? ids : null;
}

/** The sentence that training watches: its ids, and those of its beginning, which the model continues. */
export function watched() {
  const { heldOut, it, words } = run.language;
  const own = state.watch === "own" ? ownSentence() : null;
  if (own !== null) {
    const at = own.lastIndexOf(words.indexOf("it"));
    return { tokens: own, prompt: own.slice(0, (at < 0 ? own.length - 1 : at) + 1) };
  }
  const pizza = heldOut.find((ids) => ids[1] === words.indexOf("pizza"));
  const sentence = heldOut[state.watch === "" ? -1 : Number(state.watch)] ?? pizza ?? heldOut[0];
  return { tokens: sentence, prompt: sentence.slice(0, it + 1) };
}

// ---- one thing after the other ----

let last = Promise.resolve();

/** Calls action() when the actions before it have ended. Errors of the engine become run.error. */
function inTurn(action) {
  const mine = last.then(action).then(() => (run.error = ""), failed);
  last = mine;
  return mine;
}

function failed(error) {
  run.playing = false;
  run.error = error.message;
  tell("error", { error: error.message });
}

function moved(step) {
  run.step = step;
  run.changes++;
}

function setBusy(busy) {
  run.busy = busy;
  tell("busy");
}

/** The weights are those of `step` and stay so. */
async function arrived(step) {
  moved(step);
  run.playing = false;
  run.measures.set(step, await run.engine.measure(watched()));
  setState({ step });
  tell("weights");
}

// ---- what the page can do ----

export async function beginRun() {
  run.engine = await Engine.create();
  run.engine.listen(heard);
  const step = state.step;
  await restart(0, step);
  goTo(step);
  onState((changed) => {
    const wanted = changed.has("step") ? state.step : 0;
    if (["seed", "heads", "lr"].some((key) => changed.has(key) && state[key] !== run.of[key])) {
      restart(0, wanted);
      goTo(wanted);
    } else if (changed.has("step") && wanted !== run.step) {
      goTo(wanted);
    }
    if (changed.has("watch") || (changed.has("sentence") && state.watch === "own")) {
      rewatch();
    }
  });
}

let whenStopped = null; // tells a goTo that trains that this has ended, with the engine's error

function heard(data) {
  if (data.event === "steps") {
    data.losses.forEach((loss, i) => (run.losses[data.first + i] = loss));
    moved(data.step);
  } else if (data.event === "measure") {
    run.measures.set(data.step, data);
    moved(data.step);
    if (run.playing && data.step % REMEMBER_EVERY === 0) {
      setState({ step: data.step }); // a reload continues here
    }
  } else {
    run.playing = false;
    setState({ step: data.step });
    if (whenStopped !== null) {
      whenStopped(data.error);
    } else if (data.error !== undefined) {
      failed(new Error(data.error));
    }
  }
  tell(data.event, data);
}

/** A new run with the seed, heads and learning rate of the state, at step 0. `next`: the step that follows
 * then, which the URL keeps. */
function restart(breaks = 0, next = 0) {
  wanted = null;
  return inTurn(async () => {
    const { seed, heads, lr } = state;
    run.playing = false;
    run.of = { seed, heads, lr };
    run.language = await run.engine.start({ seed, heads, lr, steps: STEPS, breaks });
    run.losses = [];
    run.measures.clear();
    moved(0);
    run.measures.set(0, await run.engine.measure(watched()));
    setState({ step: next });
    tell("restarted");
  });
}

/** Trains until step `until`, at most perSecond steps a second (0: as fast as possible), until step slowUntil if
 * that is given. While it plays, a further call changes the speed. */
export function play({ until = STEPS, perSecond = 0, slowUntil } = {}) {
  return inTurn(async () => {
    if (run.step < until) {
      run.playing = true;
      await run.engine.play({ until, perSecond, slowUntil, every: MEASURE_EVERY, ...watched() });
      tell("busy");
    }
  });
}

export function stop() {
  wanted = null;
  whenStopped?.();
  return inTurn(async () => {
    await arrived(await run.engine.stop());
    tell("stopped");
  });
}

export function oneStep() {
  return inTurn(async () => {
    if (await run.engine.stop() < STEPS) {
      const { step, loss } = await run.engine.step();
      run.losses[step - 1] = loss;
      await arrived(step);
    }
  });
}

let wanted = null; // the newest step asked for: a slider asks for many
let target = null; // the step that is being gone to

/** One step back; from the step asked for last, if that is not reached yet. */
export function stepBack() {
  return goTo((wanted ?? target ?? run.step) - 1);
}

/** To the state after `step` steps, bit by bit as it was; trains on if it was not there yet. */
export function goTo(step) {
  wanted = Math.max(0, Math.min(STEPS, Math.round(step)));
  return inTurn(async () => {
    target = wanted;
    wanted = null;
    if (target === null || (target === run.step && !run.playing)) {
      return;
    }
    setBusy(true);
    await run.engine.stop();
    moved(await run.engine.goTo(Math.min(target, run.losses.length)));
    let error;
    if (run.step < target) {
      run.target = target;
      const stopped = new Promise((resolve) => (whenStopped = resolve));
      await run.engine.play({ until: target, perSecond: 0, every: MEASURE_EVERY, ...watched() });
      error = await stopped;
      whenStopped = null;
      moved(await run.engine.stop());
    }
    await arrived(run.step);
    if (error !== undefined) {
      throw new Error(error);
    }
  }).finally(() => {
    target = run.target = null;
    setBusy(false);
  });
}

/** Watches another sentence: measures it again at the steps that are quickly reached. */
function rewatch() {
  return inTurn(async () => {
    const here = await run.engine.stop(), steps = [...run.measures.keys()];
    setBusy(true);
    run.measures.clear();
    for (const step of steps.filter((s) => s % SNAPSHOT_EVERY === 0 && s <= run.losses.length).sort((a, b) => b - a)) {
      await run.engine.goTo(step);
      run.measures.set(step, await run.engine.measure(watched()));
    }
    await arrived(await run.engine.goTo(here));
    tell("watch");
  }).finally(() => setBusy(false));
}
