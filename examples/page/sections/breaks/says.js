// What "Break it" says about a switch: sentences filled by the numbers of the trained models.

import { t } from "../../strings.js";
import { number, percent as percentOf } from "../../matrix.js";

export const percent = (share, digits = 0) => percentOf(share, digits);
const stepText = (step) => (step === null ? t("breaks.never") : t("breaks.at_step", step));
export const text = (result, ids) => ids.filter((id) => id !== 0).map((id) => result.language.words[id]).join(" ");
export const written = (result, ids) => text(result, ids) || t("breaks.nothing");

const most = (values) => Math.max(...values);
const least = (values) => Math.min(...values);
const sum = (values) => values.reduce((a, b) => a + b, 0);

/** A sentence: its key in strings, and its values. */
const say = (key, ...values) => ({ key: `breaks.${key}`, values });

// ---- sentences that several switches share ----

const loss = (b) => say("loss.below", number(b.loss, 3), number(b.limit, 3));
const scored = (key, b) => say(key, percent(b.accuracy), b.right, b.prompts);
const told = (b) => say("told", percent(b.told, 1));
const when = (key, a, b, ...more) => say(`${key}.when`, stepText(b.learntAt), stepText(a.learntAt), ...more);

// ---- the switches ----

/** For each switch: its bit (forward.h); the right line and the wrong one; heads: of both models, default 1; the number of the right one
 * of its three answers; the seed with which everything is well seen, default 0; says(healthy, broken): the sentences about them. */
export const switches = {
  no_scale: {
    bit: 1, lines: ["scaled_sims = sims / k.size(self.col_dim) ** 0.5", "scaled_sims = sims"], right: 1, seed: 8,
    says: (a, b) => [say("no_scale.start", percent(most(b.row0)), percent(most(a.row0))), when("no_scale", a, b), scored("outcome.failed", b)],
  },
  wrong_dim: {
    bit: 2, lines: ["attention_percents = F.softmax(masked_sims, dim=self.col_dim)", "attention_percents = F.softmax(masked_sims, dim=self.row_dim)"],
    right: 2, seed: 4,
    says: (a, b) => [say("wrong_dim.rows", percent(least(b.rowSums)), percent(most(b.rowSums))), loss(b), scored("scores", b)],
  },
  mask_inverted: {
    bit: 4, lines: ['masked_sims = scaled_sims.masked_fill(mask, float("-inf"))', 'masked_sims = scaled_sims.masked_fill(~mask, float("-inf"))'], right: 1,
    says: (a, b) => [say("mask_inverted.later", percent(sum(b.row.slice(b.it + 1))), percent(b.row[b.subject])), loss(b), scored("scores", b)],
  },
  mask_after: {
    bit: 8, lines: ['masked_sims = scaled_sims.masked_fill(mask, float("-inf"))\nattention_percents = F.softmax(masked_sims, dim=self.col_dim)',
      "unmasked_percents = F.softmax(scaled_sims, dim=self.col_dim)\nattention_percents = unmasked_percents.masked_fill(mask, 0)"], right: 1,
    says: (a, b) => [say("mask_after.sum", percent(sum(b.row0)), percent(sum(a.row0))), loss(b), say("mask_after.leak", percent(b.leak, 1)),
      scored("outcome.learnt", b)],
  },
  no_positions: {
    bit: 16, lines: ["token_encodings = self.pe(embeddings)", "token_encodings = embeddings"], right: 0,
    says: (a, b) => [say("no_positions.moves", percent(b.onSubject, 1), percent(b.movedTo, 1), written(b, b.movedWritten)),
      say("no_positions.healthy", percent(a.onSubject, 1), percent(a.movedTo, 1), written(a, a.movedWritten)), scored("outcome.learnt", b)],
  },
  same_keys: {
    bit: 32, lines: ["k = self.W_k(token_encodings)", "k = self.W_q(token_encodings)"], right: 0,
    says: (a, b) => [say("same_keys.self", percent(b.row0[b.it]), percent(a.row0[a.it])),
      say("same_keys.pair", ...[...b.simPair, ...a.simPair].map((sim) => number(sim, 2))), when("same_keys", a, b), scored("outcome.learnt", b)],
  },
  no_zero_grad: {
    bit: 64, lines: ["optimizer.zero_grad()", "# optimizer.zero_grad()"], right: 2,
    says(a, b) {
      const early = b.losses.slice(0, 100), best = least(early);
      return [say("no_zero_grad.course", number(b.losses[0], 2), number(best, 2), early.indexOf(best) + 1, number(b.largestLoss, 0), number(b.loss, 0)),
        say("no_zero_grad.end", percent(b.accuracy), number(a.loss, 3))];
    },
  },
  lr_100: {
    bit: 128, lines: ["optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)", "optimizer = torch.optim.AdamW(model.parameters(), lr=2)"], right: 1,
    says: (a, b) => [say("lr_100.course", number(b.largestLoss, 0), number(b.loss, 2), number(a.loss, 3)),
      say("lr_100.end", percent(b.accuracy), percent(b.attention))],
  },
  split_view: {
    bit: 256, lines: ["return x.view(len(x), self.heads, -1).transpose(0, 1)", "return x.view(self.heads, len(x), -1)"], heads: 2, right: 1,
    says: (a, b) => [told(b), loss(b), scored("scores", b)],
  },
  merge_view: {
    bit: 512, lines: ["return y.transpose(0, 1).reshape(len(x), -1)", "return y.reshape(len(x), -1)"], heads: 4, right: 2,
    says: (a, b) => [told(b), loss(b), scored("scores", b)],
  },
  scale_d_model: {
    bit: 1024, lines: ["scaled_sims = sims / k.size(-1) ** 0.5", "scaled_sims = sims / token_encodings.size(-1) ** 0.5"], heads: 4, right: 0,
    says: (a, b) => [say("scale_d_model.start", percent(most(b.row0), 1), percent(most(a.row0), 1)), when("scale_d_model", a, b, 32 / b.heads),
      scored("outcome.learnt", b)],
  },
};
