// Screen 2: the model writes word by word; keys and values of the words before are kept.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { state, setState, onState } from "../../state.js";
import { wordsOf } from "../../words.js";
import { stage } from "../story/stage.js";
import { percent, largest } from "../story/words.js";
import { grouped } from "./gpt/boxes.js";
import { call, writer } from "./model.js";

const LANGUAGE_END = 0; // the id of <eos>

export function begin({ ask }) {
  let language = null, found = null, shown = "", latest = 0; // found: of page_generate for the prompt `shown`
  const place = stage(draw, t("onward.cache.picture"));
  place.element.classList.add("cache-stage");
  const input = h("input", { id: "onward-prompt", spellcheck: "false", autocapitalize: "off", autocomplete: "off",
    onchange: () => setState({ prompt: input.value, write_step: 0 }) });
  const problem = h("p.error", { role: "alert" });
  const back = h("button.story-choice", { type: "button", "data-key": "back", onclick: () => move(-1) }, t("onward.cache.back"));
  const next = h("button.story-choice.primary", { type: "button", "data-key": "write", onclick: () => move(1) }, t("onward.cache.write"));
  const spoken = h("p.unseen");
  const element = h("div.story-screen", {}, place.element, spoken, problem, h("div.story-actions", {},
    h("label.cache-prompt", {}, t("onward.cache.prompt"), " ", input), back, next));

  const at = () => Math.min(state.write_step, found.steps.length - 1);
  const word = (id) => (id === LANGUAGE_END ? t("onward.cache.end") : language.words[id]);
  const wordAt = (i) => language.words[found.ids[i]];

  /** To the next step or the one before; false if there is none. */
  function move(by) {
    const to = found === null ? -1 : at() + by;
    if (found === null || to < 0 || to >= found.steps.length) {
      return false;
    }
    setState({ write_step: to });
    return true;
  }

  function follow() {
    const i = at(), step = found.steps[i];
    const focused = document.activeElement;
    back.disabled = i === 0;
    next.disabled = i === found.steps.length - 1;
    if (focused === back && back.disabled) {
      next.focus();
    } else if (focused === next && next.disabled) {
      back.focus();
    }
    const row = rowOf(step), best = largest(row);
    ask(i === 0 ? "first" : "step", wordAt(step.read - 1), step.before, word(step.word), percent(step.share), wordAt(best), percent(row[best]),
      step.read);
    spoken.textContent = t("onward.cache.said", grouped(step.with), grouped(step.without));
    place.redraw();
  }

  /** The percentages of the newest query. */
  function rowOf({ read }) {
    const wide = found.percents.length / (found.q.length / found.width);
    return Array.from(found.percents.subarray((read - 1) * wide, (read - 1) * wide + read));
  }

  async function show() {
    const mine = ++latest;
    if (language === null) {
      ask("learning");
      language = await writer();
    }
    input.value = document.activeElement === input ? input.value : state.prompt;
    if (state.prompt !== shown) {
      const words = wordsOf(state.prompt), ids = words.map((one) => language.words.indexOf(one));
      const unknown = words.filter((_, i) => ids[i] < 0);
      const wrong = words.length === 0 || words.length > language.context ? t("onward.cache.length", language.context)
        : unknown.length > 0 ? t("onward.cache.unknown", unknown.join(", "), t("tab.own")) : "";
      problem.textContent = wrong;
      if (wrong !== "") {
        return;
      }
      const result = await call("generate", ids);
      if (mine !== latest) {
        return;
      }
      found = result;
      shown = state.prompt;
    }
    problem.textContent = "";
    follow();
  }

  // ---- drawing ----

  /** Rows of numbers as colours: values (rows, width) from (x, y); classOf(row). */
  function heat(values, rows, { x, y, wide, tall, most, classOf }) {
    const { width } = found, cell = wide / width;
    return rows.map((r, i) => svg("g", { class: `cache-row ${classOf(r)}`, "data-row": r }, svg("rect", { x, y: y + i * tall, width: wide,
      height: tall - 2, class: "cache-back" }),
    Array.from(values.subarray(r * width, (r + 1) * width), (value, c) => svg("rect", { x: x + c * cell, y: y + i * tall,
      width: cell + 0.2, height: tall - 2, class: value < 0 ? "minus" : "plus", "fill-opacity": Math.min(1, Math.abs(value) / most).toFixed(2) }))));
  }

  function draw(width, height) {
    if (found === null) {
      return;
    }
    const { before, read, word: id, share, with: cheap, without: dear } = found.steps[at()];
    const narrow = width < 880, all = Array.from({ length: read }, (_, i) => i), fresh = all.slice(before), row = rowOf(found.steps[at()]);
    const most = (values) => values.subarray(0, read * found.width).reduce((m, x) => Math.max(m, Math.abs(x)), 0);
    const isNew = (r) => (r >= before ? "new" : "kept"), again = (r) => (r >= before ? "new" : "again");
    const parts = [], label = (x, y, text, name = "story-small", anchor = "start") =>
      parts.push(svg("text", { x, y, class: name, "text-anchor": anchor }, text));

    // With the cache: queries above the keys, percentages, values; below, the word.
    const half = narrow ? width : Math.round(width * 0.6), margin = narrow ? 62 : 92, bars = narrow ? 66 : 110;
    const block = Math.min(300, (half - margin - bars - (narrow ? 10 : 30)) / 2), foot = 74;
    const room = (narrow ? height * 0.6 : height - foot) - 74, queries = at() === 0 ? fresh : [read - 1];
    const rows = found.q.length / found.width, tall = Math.max(8, Math.min(28, room / Math.max(rows + 1, 2 * found.steps[0].read)));
    const xk = margin, xb = xk + block + 8, xv = xb + bars, yq = 46, yk = yq + queries.length * tall + 34;
    label(0, 18, t("onward.cache.with"), "story-label");
    label(xk, yq - 8, t("onward.cache.q"), "story-label query");
    queries.forEach((r, i) => label(xk - 8, yq + (i + 0.5) * tall + 4, wordAt(r), "cache-word new", "end"));
    parts.push(...heat(found.q, queries, { x: xk, y: yq, wide: block, tall, most: most(found.q), classOf: () => "new" }));
    label(xk, yk - 8, t("onward.cache.k"), "story-label key");
    label(xv, yk - 8, t("onward.cache.v"), "story-label cache-v");
    all.forEach((r) => label(xk - 8, yk + (r + 0.5) * tall + 4, wordAt(r), `cache-word ${isNew(r)}`, "end"));
    parts.push(...heat(found.k, all, { x: xk, y: yk, wide: block, tall, most: most(found.k), classOf: isNew }),
      ...heat(found.v, all, { x: xv, y: yk, wide: block, tall, most: most(found.v), classOf: isNew }));
    row.forEach((p, r) => {
      const y = yk + r * tall, long = (bars - 50) * p;
      parts.push(svg("rect", { x: xb + 42, y: y + 1, width: Math.max(1, long), height: tall - 4, class: "story-bar", "data-percent": p }));
      label(xb + 38, y + tall / 2 + 4, percent(p), p === Math.max(...row) ? "cache-percent most" : "cache-percent", "end");
    });
    const yw = narrow ? yk + rows * tall + 30 : Math.min(yk + read * tall + 40, height - foot + 14);
    label(xv + block, yw, word(id), "cache-written", "end");
    label(xk, yw, t("onward.cache.writes", percent(share)), "story-small strong");

    // Without it: everything again.
    const x0 = narrow ? 0 : half + 36, y0 = narrow ? yw + 36 : 0, rest = width - x0, gap = 10;
    const square = Math.min(rest / 4, 130), third = (rest - square - 3 * gap) / 3;
    const line = Math.max(7, Math.min(22, narrow ? 14 : (height - foot - 110) / rows));
    label(x0, y0 + 18, t("onward.cache.without"), "story-label");
    [["q", found.q, "query"], ["k", found.k, "key"], ["v", found.v, "cache-v"]].forEach(([name, values, colour], i) => {
      const x = x0 + i * (third + gap);
      label(x, y0 + 38, name, `story-label ${colour}`);
      parts.push(...heat(values, all, { x, y: y0 + 46, wide: third, tall: line, most: most(values), classOf: again }));
    });
    const xs = x0 + 3 * (third + gap), wide = found.percents.length / rows;
    label(xs, y0 + 38, "%", "story-label cache-share");
    all.forEach((r) => parts.push(svg("g", { class: `cache-row ${again(r)}` }, all.slice(0, r + 1).map((c) => svg("rect", { x: xs + c * square / read,
      y: y0 + 46 + r * line, width: square / read + 0.2, height: line - 2, class: "share",
      "fill-opacity": Math.max(0.08, Math.sqrt(found.percents[r * wide + c])).toFixed(2) })))));
    if (before > 0) {
      label(x0, y0 + 46 + read * line + 14, t("onward.cache.again", before));
    }

    // Multiplications: of this step.
    const y = narrow ? y0 + 46 + rows * line + 40 : height - foot + 30, bar = 16, longest = narrow ? width - 285 : half - margin - 220;
    [["with", cheap, 0], ["without", dear, 1]].forEach(([name, count, i]) => {
      const [x, top] = narrow ? [72, y + i * 24] : i === 0 ? [xk, y] : [x0, y], long = (narrow ? longest : Math.min(longest, rest - 200)) * count / dear;
      parts.push(svg("rect", { x, y: top, width: Math.max(2, long), height: bar, rx: 3, class: `cache-count ${name}`, "data-count": count }));
      label(x + Math.max(2, long) + 6, top + bar - 3, t("onward.cache.total", grouped(count), grouped(found.steps.slice(0, at() + 1).reduce((sum, s) => sum + s[name], 0))),
        "story-number small");
      if (narrow) {
        label(0, top + bar - 3, t(`onward.cache.${name}.short`));
      }
    });
    (narrow ? [0] : [xk, x0]).forEach((x) => label(x, y - 6, t("onward.cache.count")));
    fill(place.back, parts);
  }

  onState((changed) => {
    if (state.tab === "onward" && (changed.has("prompt") || changed.has("write_step"))) {
      show();
    }
  });
  return { element, show, onkey: (by) => move(by), found: () => found };
}
