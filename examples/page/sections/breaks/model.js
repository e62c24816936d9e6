// A model of "Break it", trained and examined.

import { Engine } from "../../engine.js";
import { STEPS, MEASURE_EVERY } from "../../run.js";

export const LEARNT = 0.9;  // accuracy from which a model counts as trained
const LR = 0.02;            // of all models; "Break it" names it
const PLACE = 6;            // of "oven" in "the pizza came out of the oven and it"

/** Trains a model and examines it. listen(result so far) is called while it trains; `begun` receives the
 * engine, whose end() stops everything. */
async function trainModel({ seed, heads, breaks }, listen, begun) {
  const engine = await Engine.create();
  begun(engine);
  const language = await engine.start({ seed, heads, lr: LR, steps: STEPS, breaks });
  const { heldOut, it, subject, words, train, context } = language;
  const pizza = words.indexOf("pizza");
  const sentence = heldOut.find((ids) => ids[1] === pizza) ?? heldOut[0];
  const watched = { tokens: sentence, prompt: sentence.slice(0, it + 1) };
  const result = { seed, heads, breaks, language, sentence, losses: [], first: await engine.measure(watched),
    learntAt: null, limit: Math.log(train.length) / context };
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
  const pass = await engine.pass(sentence), passOfCut = await engine.pass(watched.prompt);
  engine.end();

  /** A word's attention: of the first head. */
  const row = (measured, i = it, head = 0) => {
    const at = (head * measured.seen + i) * measured.seen;
    return Array.from(measured.weights.subarray(at, at + measured.seen));
  };
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const last = result.last, seen = last.seen, all = [...Array(seen).keys()];
  const sims = pass.tensors[pass.marks.find(({ name }) => name === "scaled_sims").tensor].values;
  const finite = result.losses.filter(Number.isFinite);
  const change = (a, b) => a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i])), 0);
  // The largest changes of an attention, and of the share of a predicted word, when what follows *it* is cut off.
  const leak = Math.max(...all.slice(0, it + 1).flatMap((i) => Array.from({ length: heads }, (_, head) =>
    change(row(cut, i, head), row(last, i, head)))));
  const sharesOf = ({ marks, tensors }, i) => {
    const { shape: [, width], values } = tensors[marks.find(({ name }) => name === "logits").tensor];
    const powers = Array.from(values.subarray(i * width, (i + 1) * width), Math.exp), total = sum(powers);
    return powers.map((power) => power / total);
  };
  const told = Math.max(...all.slice(0, it).map((i) => change(sharesOf(passOfCut, i), sharesOf(pass, i))));
  Object.assign(result, {
    finished: true,
    loss: sum(result.losses.slice(-100)) / 100,
    largestLoss: Math.max(...finite),
    accuracy: last.score.accuracy,
    attention: last.score.attention,
    right, prompts: firsts.length,
    row0: row(result.first), row: row(last), leak, told,
    rowSums: all.map((i) => sum(row(last, i))),
    columnSums: all.map((j) => sum(all.map((i) => row(last, i)[j]))),
    onSubject: row(cut)[subject], movedTo: row(moved)[PLACE], stayed: row(moved)[subject],
    written: last.written, movedWritten: moved.written,
    simPair: [sims[it * seen + subject], sims[subject * seen + it]],
    subject, it,
  });
  return result;
}

const trained = new Map(); // "seed heads breaks" -> promise of a result

/** The result of a model {seed, heads, breaks}, trained once. */
export function model(of, listen = () => {}, begun = () => {}) {
  const key = `${of.seed} ${of.heads} ${of.breaks}`;
  if (!trained.has(key)) {
    const promise = trainModel(of, listen, begun);
    promise.then(() => (promise.finished = true), () => trained.delete(key));
    trained.set(key, promise);
  }
  return trained.get(key);
}

/** Forgets the models that are not trained yet. */
export function forgetUnfinished() {
  trained.forEach((promise, key) => !promise.finished && trained.delete(key));
}
