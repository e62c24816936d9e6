// A model of "Break it", trained and examined.

import { Engine } from "../../engine.js";
import { STEPS, MEASURE_EVERY } from "../../run.js";

export const LEARNT = 0.9;  // accuracy from which a model counts as trained
const HEADS = 1, LR = 0.02; // of all models; "Break it" names them
const PLACE = 6;            // of "oven" in "the pizza came out of the oven and it"

/** Trains a model and examines it. listen(result so far) is called while it trains; `begun` receives the
 * engine, whose end() stops everything. */
async function trainModel(seed, breaks, listen, begun) {
  const engine = await Engine.create();
  begun(engine);
  const language = await engine.start({ seed, heads: HEADS, lr: LR, steps: STEPS, breaks });
  const { heldOut, it, subject, words, train, context } = language;
  const pizza = words.indexOf("pizza");
  const sentence = heldOut.find((ids) => ids[1] === pizza) ?? heldOut[0];
  const watched = { tokens: sentence, prompt: sentence.slice(0, it + 1) };
  const result = { seed, breaks, language, sentence, losses: [], first: await engine.measure(watched), learntAt: null,
    limit: Math.log(train.length) / context };
  await new Promise((resolve, reject) => {
    engine.listen((data) => {
      if (data.event === "steps") {
        data.losses.forEach((loss, i) => (result.losses[data.first + i] = loss));
      } else if (data.event === "measure") {
        result.last = data;
        if (result.learntAt === null && data.score.accuracy >= LEARNT) {
          result.learntAt = data.step;
        }
      } else {
        data.error === undefined ? resolve() : reject(new Error(data.error));
      }
      listen(result);
    });
    engine.play({ until: STEPS, perSecond: 0, every: MEASURE_EVERY, ...watched }).catch(reject);
  });

  // The sentence up to *it*: as when the model writes, there is nothing behind it.
  const cut = await engine.measure({ tokens: watched.prompt, prompt: watched.prompt });
  const swapped = [...watched.prompt];
  [swapped[subject], swapped[PLACE]] = [swapped[PLACE], swapped[subject]];
  const moved = await engine.measure({ tokens: swapped, prompt: swapped });
  const firsts = heldOut.filter((ids, i) => heldOut.findIndex((other) => other[1] === ids[1]) === i);
  let right = 0;
  for (const ids of firsts) {
    const { written } = await engine.measure({ tokens: ids.slice(0, it + 1), prompt: ids.slice(0, it + 1) });
    right += written[0] === ids[it + 1] ? 1 : 0;
  }
  const pass = await engine.pass(sentence);
  engine.end();

  const row = (measured, i = it) => Array.from(measured.weights.subarray(i * measured.seen, (i + 1) * measured.seen));
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const last = result.last, seen = last.seen, all = [...Array(seen).keys()];
  const sims = pass.tensors[pass.marks.find(({ name }) => name === "scaled_sims").tensor].values;
  const finite = result.losses.filter(Number.isFinite);
  let leak = 0; // the largest change of a weight when what follows *it* is cut off
  for (let i = 0; i <= it; i++) {
    row(cut, i).forEach((weight, j) => (leak = Math.max(leak, Math.abs(weight - row(last, i)[j]))));
  }
  Object.assign(result, {
    finished: true,
    loss: sum(result.losses.slice(-100)) / 100,
    largestLoss: Math.max(...finite),
    accuracy: last.score.accuracy,
    attention: last.score.attention,
    right, prompts: firsts.length,
    row0: row(result.first), row: row(last), leak,
    rowSums: all.map((i) => sum(row(last, i))),
    columnSums: all.map((j) => sum(all.map((i) => row(last, i)[j]))),
    onSubject: row(cut)[subject], movedTo: row(moved)[PLACE], stayed: row(moved)[subject],
    written: last.written, movedWritten: moved.written,
    simPair: [sims[it * seen + subject], sims[subject * seen + it]],
    subject, it,
  });
  return result;
}

const trained = new Map(); // "seed breaks" -> promise of a result

/** The result of a model, trained once. */
export function model(seed, breaks, listen = () => {}, begun = () => {}) {
  const key = `${seed} ${breaks}`;
  if (!trained.has(key)) {
    const promise = trainModel(seed, breaks, listen, begun);
    promise.then(() => (promise.finished = true), () => trained.delete(key));
    trained.set(key, promise);
  }
  return trained.get(key);
}

/** Forgets the models that are not trained yet. */
export function forgetUnfinished() {
  trained.forEach((promise, key) => !promise.finished && trained.delete(key));
}
