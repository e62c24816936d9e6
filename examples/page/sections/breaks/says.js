// What "Break it" says about a switch: sentences that are chosen, and filled, by the numbers of the trained models.

import { t } from "../../strings.js";
import { number } from "../../matrix.js";
import { BREAKS } from "../../lines.js";
import { LEARNT } from "./model.js";

const SEEN = 1e-4;  // change of an attention from which a later word was seen, not rounded
const MARGIN = 5e-3; // by which a loss is below the limit

export const percent = (share, digits = 0) => `${number(100 * share, digits)} %`;
export const stepText = (step) => (step === null ? t("breaks.never") : t("breaks.at_step", step));
export const text = (result, ids) => ids.filter((id) => id !== 0).map((id) => result.language.words[id]).join(" ");
export const written = (result, ids) => text(result, ids) || t("breaks.nothing");

const most = (values) => Math.max(...values);
const least = (values) => Math.min(...values);
const sum = (values) => values.reduce((a, b) => a + b, 0);
const later = ({ row, it }) => sum(row.slice(it + 1));
const early = ({ losses }) => losses.slice(0, 100);

/** A sentence: its key in strings, and its values. */
const say = (key, ...values) => ({ key: `breaks.${key}`, values });

// ---- sentences that several switches share ----

const loss = (b) => say(b.loss < b.limit - MARGIN ? "loss.below" : "loss.above", number(b.loss, 3), number(b.limit, 3));

const isLearnt = ({ accuracy }) => accuracy >= LEARNT;
const writesBadly = ({ right, prompts }) => right <= prompts / 2;
const scored = (key, b) => say(key, percent(b.accuracy), b.right, b.prompts);

/** Accuracy and writing of a model that can look ahead. */
const scores = (b) => scored(!writesBadly(b) ? "scores.both" : isLearnt(b) ? "scores.contrast" : "scores.bad", b);

/** Predictions that change with words that they should not know. */
const told = (b) => (b.told > 10 * SEEN ? [say("told", percent(b.told, 1))] : []);

/** Whether a model has learnt in spite of the mistake. */
const outcome = (b) => isLearnt(b) && writesBadly(b) ? scores(b)
  : scored(isLearnt(b) ? "outcome.learnt" : b.learntAt === null ? "outcome.failed" : "outcome.lost", b);

/** What the healthy model does when pizza and the place have changed places. */
function healthySwap(a) {
  const key = !isLearnt(a) ? "plain" : a.onSubject < 0.5 ? "elsewhere"
    : a.movedTo < a.onSubject / 2 ? (a.stayed > a.movedTo ? "stays" : "plain")
    : Math.abs(a.movedTo - a.onSubject) > 2e-3 ? "follows" : "exactly";
  return say(`no_positions.healthy.${key}`, percent(a.onSubject, 1), percent(a.movedTo, 1), written(a, a.movedWritten));
}

// ---- the switches ----

/** For each switch: its bit; heads: of both models, default 1; the number of its answers and of the right one; the seed
 * with which everything is well seen; shows: whether the right answer is seen in the results; says: the sentences about them. */
export const switches = {
  no_scale: {
    bit: BREAKS.NO_SCALE, answers: 3, right: 1, seed: 8,
    shows: (a, b) => most(b.row0) > most(a.row0) + 0.01,
    says: (a, b) => [say("no_scale.start", percent(most(b.row0)), percent(most(a.row0))),
      say("no_scale.when", stepText(b.learntAt), stepText(a.learntAt)), outcome(b)],
  },
  wrong_dim: {
    bit: BREAKS.WRONG_DIM, answers: 3, right: 2, seed: 4,
    shows: (a, b) => most(b.rowSums) - least(b.rowSums) > 0.05 && b.columnSums.every((x) => Math.abs(x - 1) < 1e-4),
    says: (a, b) => [say("wrong_dim.rows", percent(least(b.rowSums)), percent(most(b.rowSums))), loss(b), scores(b)],
  },
  mask_inverted: {
    bit: BREAKS.MASK_INVERTED, answers: 3, right: 1, seed: 0,
    shows: (a, b) => later(b) > 0.99,
    says: (a, b) => [say("mask_inverted.later", percent(later(b)), percent(b.row[b.subject])), loss(b), scores(b)],
  },
  mask_after: {
    bit: BREAKS.MASK_AFTER, answers: 3, right: 1, seed: 0,
    shows: (a, b) => sum(b.row0) < 0.99,
    says: (a, b) => [say("mask_after.sum", percent(sum(b.row0)), percent(sum(a.row0))), loss(b),
      ...(b.leak > 10 * SEEN ? [say("mask_after.leak", percent(b.leak, 1))] : []), outcome(b)],
  },
  no_positions: {
    bit: BREAKS.NO_POSITIONS, answers: 3, right: 0, seed: 0,
    shows: (a, b) => Math.abs(b.onSubject - b.movedTo) < 5e-4,
    says: (a, b) => [say("no_positions.moves", percent(b.onSubject, 1), percent(b.movedTo, 1), written(b, b.movedWritten)),
      healthySwap(a), outcome(b)],
  },
  same_keys: {
    bit: BREAKS.SAME_KEYS, answers: 3, right: 0, seed: 0,
    shows: (a, b) => Math.abs(b.simPair[0] - b.simPair[1]) < 1e-3 * Math.abs(b.simPair[0]),
    says: (a, b) => [say("same_keys.self", percent(b.row0[b.it]), percent(a.row0[a.it])),
      say("same_keys.pair", number(b.simPair[0], 2), number(b.simPair[1], 2), number(a.simPair[0], 2), number(a.simPair[1], 2)),
      say("same_keys.when", stepText(b.learntAt), stepText(a.learntAt)), outcome(b)],
  },
  no_zero_grad: {
    bit: BREAKS.NO_ZERO_GRAD, answers: 3, right: 2, seed: 0,
    shows: (a, b) => b.loss > 10 * b.losses[0],
    says: (a, b) => [say("no_zero_grad.course", number(b.losses[0], 2), number(least(early(b)), 2),
      early(b).indexOf(least(early(b))) + 1, number(b.largestLoss, 0), number(b.loss, 0)),
    say("no_zero_grad.end", percent(b.accuracy), number(a.loss, 3))],
  },
  lr_100: {
    bit: BREAKS.LR_100, answers: 3, right: 1, seed: 0,
    shows: (a, b) => b.largestLoss > 10 * b.losses[0] && b.loss > 1.5 * a.loss,
    says: (a, b) => [say("lr_100.course", number(b.largestLoss, 0), number(b.loss, 2), number(a.loss, 3)),
      say("lr_100.end", percent(b.accuracy), percent(b.attention))],
  },
  split_view: {
    bit: BREAKS.SPLIT_VIEW, heads: 2, answers: 3, right: 1, seed: 0,
    shows: (a, b) => b.loss < b.limit - MARGIN,
    says: (a, b) => [...told(b), loss(b), scores(b)],
  },
  merge_view: {
    bit: BREAKS.MERGE_VIEW, heads: 4, answers: 3, right: 2, seed: 0,
    shows: (a, b) => b.told > SEEN && a.told <= SEEN,
    says: (a, b) => [...told(b), loss(b), scores(b)],
  },
  scale_d_model: {
    bit: BREAKS.SCALE_D_MODEL, heads: 4, answers: 3, right: 0, seed: 0,
    shows: (a, b) => most(b.row0) < most(a.row0) - 0.005,
    says: (a, b) => [say("scale_d_model.start", percent(most(b.row0), 1), percent(most(a.row0), 1)),
      say("scale_d_model.when", stepText(b.learntAt), stepText(a.learntAt), 32 / b.heads), outcome(b)],
  },
};

/** The sentences about a switch, {key, values}, from its healthy and its broken result. */
export function sentences(name, healthy, broken) {
  const { says, shows } = switches[name];
  return [...says(healthy, broken), ...(shows(healthy, broken) ? [] : [say("hidden")]),
    ...(isLearnt(healthy) ? [] : [say("outcome.healthy", percent(healthy.accuracy))])];
}

/** The same as text. */
export const seen = (name, healthy, broken) =>
  sentences(name, healthy, broken).map(({ key, values }) => t(key, ...values)).join(" ");
