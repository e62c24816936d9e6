// Screen 2: the model writes word by word; keys and values of the words before are kept.

import { h, svg, fill } from "../../dom.js";
import { t, inSentence } from "../../strings.js";
import { state, setState, onState } from "../../state.js";
import { wordsOf } from "../../words.js";
import { percent as shareOf } from "../../matrix.js";
import { distinct } from "../../example.js";
import { stage } from "../story/stage.js";
import { largest } from "../story/words.js";
import { grouped } from "./gpt/boxes.js";
import { call, writer } from "./model.js";

const LANGUAGE_END = 0; // the id of <eos>
const FOOT = 48; // px of the two bars below each other
const range = (count) => Array.from({ length: count }, (_, i) => i);
const percent = (share) => inSentence(shareOf(share, share < 0.0995 ? 1 : 0)).replace(" ", "\u00a0");

const canvas = document.createElement("canvas").getContext("2d");
/** The px of a text beside a bar. */
function long(text) {
  canvas.font = "600 14px system-ui, sans-serif";
  return canvas.measureText(text).width;
}

export function begin({ ask }) {
  let language = null, found = null, shown = "", latest = 0; // found: of page_generate for the prompt `shown`
  const place = stage(draw, t("onward.cache.picture"));
  place.element.classList.add("cache-stage");
  const input = h("input", { id: "onward-prompt", spellcheck: "false", autocapitalize: "off", autocomplete: "off",
    onchange: () => setState({ prompt: input.value, write_step: 0 }) });
  const problem = h("p.error", { role: "alert" });
  const back = h("button.story-choice", { type: "button", "data-key": "back", onclick: () => move(-1) },
    t("onward.cache.back"));
  const next = h("button.story-choice.primary", { type: "button", "data-key": "write", onclick: () => move(1) },
    t("onward.cache.write"));
  const spoken = h("p.unseen");
  const element = h("div.story-screen", {}, h("figure.onward-picture", {}, place.element), spoken, problem, h("div.story-actions", {},
    h("label.cache-prompt", {}, t("onward.cache.prompt"), " ", input), back, next));

  const at = () => Math.min(state.write_step, found.steps.length - 1);
  const word = (id) => (id === LANGUAGE_END ? t("onward.cache.end") : language.words[id]);
  const rowCount = () => found.q.length / found.width; // tokens read at the end
  const wordAt = (i) => distinct(found.ids.map((id) => language.words[id]))[i];

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
    const i = at(), step = found.steps[i], focused = document.activeElement;
    back.disabled = i === 0;
    next.disabled = i === found.steps.length - 1;
    if (focused === back && back.disabled) {
      next.focus();
    } else if (focused === next && next.disabled) {
      back.focus();
    }
    const row = rowOf(step), best = largest(row);
    ask(i === 0 ? "first" : "step", wordAt(step.read - 1), step.before, word(step.word), percent(step.share),
      wordAt(best), percent(row[best]), step.read);
    spoken.textContent = t("onward.cache.said", grouped(step.with), grouped(step.without));
    place.redraw();
  }

  /** The percentages of the newest query. */
  function rowOf({ read }) {
    const first = (read - 1) * found.percents.length / rowCount();
    return Array.from(found.percents.subarray(first, first + read));
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

  const label = (x, y, text, name = "story-small", anchor = "start") =>
    svg("text", { x, y, class: name, "text-anchor": anchor }, text);

  /** The largest number of the rows read so far. */
  const most = (values) => values.subarray(0, found.steps[at()].read * found.width)
    .reduce((m, x) => Math.max(m, Math.abs(x)), 0);

  /** Rows of numbers as colours, from (x, y); classOf(row). */
  function heat(values, rows, { x, y, wide, tall, classOf }) {
    const { width } = found, cell = wide / width, scale = most(values), height = tall - 2;
    return rows.map((r, i) => {
      const top = y + i * tall;
      return svg("g", { class: `cache-row ${classOf(r)}`, "data-row": r },
        svg("rect", { x, y: top, width: wide, height, class: "cache-back" }),
        Array.from(values.subarray(r * width, (r + 1) * width), (value, c) =>
          svg("rect", { x: x + c * cell, y: top, width: cell + 0.2, height, class: value < 0 ? "minus" : "plus",
            "fill-opacity": Math.min(1, Math.abs(value) / scale).toFixed(2) })));
    });
  }

  /** Queries above the keys, percentages, values; below them the word. Returns {parts, xk: the left of the keys, low}. */
  function withCache({ width, room, narrow, lowest }) {
    const { before, read, word: id, share } = found.steps[at()], row = rowOf(found.steps[at()]), best = largest(row);
    const all = range(read), queries = at() === 0 ? all : [read - 1], isNew = (r) => (r >= before ? "new" : "kept");
    const margin = narrow ? 62 : 92, bars = narrow ? 66 : 110;
    const wide = Math.min(300, (width - margin - bars - (narrow ? 10 : 30)) / 2);
    const tall = Math.max(8, Math.min(28, room / Math.max(rowCount() + 1, 2 * found.steps[0].read)));
    const xk = margin, xb = xk + wide + 8, xv = xb + bars, yq = 56, yk = yq + queries.length * tall + 34;
    const names = (rows, y) => rows.map((r, i) =>
      label(xk - 8, y + (i + 0.5) * tall + 4, wordAt(r), `cache-word ${isNew(r)}`, "end"));
    const low = narrow ? yk + rowCount() * tall + 30 : Math.min(yk + read * tall + 40, lowest);
    const parts = [label(0, 18, t("onward.cache.with"), "story-label"),
      label(xk, yq - 8, t("onward.cache.q"), "story-label query"),
      label(xk, yk - 8, t("onward.cache.k"), "story-label key"),
      label(xv, yk - 8, t("onward.cache.v"), "story-label cache-v"),
      names(queries, yq), names(all, yk),
      heat(found.q, queries, { x: xk, y: yq, wide, tall, classOf: () => "new" }),
      heat(found.k, all, { x: xk, y: yk, wide, tall, classOf: isNew }),
      heat(found.v, all, { x: xv, y: yk, wide, tall, classOf: isNew }),
      row.map((p, r) => [svg("rect", { x: xb + 47, y: yk + r * tall + 1, width: Math.max(1, (bars - 55) * p),
        height: tall - 4, class: "story-bar", "data-percent": p }),
      label(xb + 43, yk + (r + 0.5) * tall + 4, percent(p), `cache-percent ${r === best ? "most" : ""}`, "end")]),
      label(xv + wide, low, word(id), "cache-written", "end"),
      label(xk, low, t("onward.cache.writes", percent(share)), "story-small strong")];
    return { parts: parts.flat(2), xk, low };
  }

  /** All queries, keys, values and percentages from (x, y): grey where they were computed before. */
  function withoutCache({ x, y, width, line }) {
    const { before, read } = found.steps[at()], all = range(read), again = (r) => (r >= before ? "new" : "again");
    const gap = 10, top = y + 56, square = Math.min(width / 4, 130), wide = (width - square - 3 * gap) / 3;
    const xs = x + 3 * (wide + gap), columns = found.percents.length / rowCount(), cell = square / read;
    const share = (r, c) => svg("rect", { x: xs + c * cell, y: top + r * line, width: cell + 0.2, height: line - 2,
      class: "share", "fill-opacity": Math.max(0.08, Math.sqrt(found.percents[r * columns + c])).toFixed(2) });
    return [label(x, y + 18, t("onward.cache.without"), "story-label"),
      [["q", "query"], ["k", "key"], ["v", "cache-v"]].map(([name, colour], i) => {
        const left = x + i * (wide + gap);
        return [label(left, y + 48, name, `story-label ${colour}`),
          heat(found[name], all, { x: left, y: top, wide, tall: line, classOf: again })];
      }),
      label(xs, y + 48, "%", "story-label cache-share"),
      all.map((r) => svg("g", { class: `cache-row ${again(r)}` }, range(r + 1).map((c) => share(r, c)))),
      before > 0 ? [label(x, top + read * line + 14, t("onward.cache.again", before))] : []].flat(3);
  }

  /** What stands beside a bar of multiplications. */
  function countText(name, i) {
    const total = found.steps.slice(0, i + 1).reduce((sum, one) => sum + one[name], 0);
    return t("onward.cache.total", grouped(found.steps[i][name]), grouped(total));
  }

  /** A bar of multiplications; longest: of the bar without a cache. */
  function countBar(name, x, y, longest) {
    const step = found.steps[at()], width = Math.max(2, longest * step[name] / step.without);
    return [svg("rect", { x, y, width, height: 16, rx: 3, class: `cache-count ${name}`,
      "data-count": step[name] }), label(x + width + 6, y + 13, countText(name, at()), "story-number small")];
  }

  function draw(width, height) {
    if (found === null) {
      return;
    }
    const foot = 74, count = t("onward.cache.count"), narrow = width < 880;
    const text = Math.max(...["with", "without"].flatMap((name) => found.steps.map((_, i) => long(countText(name, i))))) + 10;
    if (narrow) { // below each other, as high as needed
      const { parts, low } = withCache({ width, room: 350, narrow });
      const y = low + 36, line = 14, under = y + 56 + rowCount() * line + 40;
      place.element.style.minHeight = `${Math.ceil(under + FOOT)}px`;
      fill(place.back, parts, withoutCache({ x: 0, y, width, line }), label(0, under - 6, count),
        ["with", "without"].map((name, i) => [label(0, under + 24 * i + 13, t(`onward.cache.${name}.short`)),
          ...countBar(name, 72, under + 24 * i, width - 72 - text)]).flat());
    } else {
      const half = Math.round(width * 0.6), x = half + 36, y = height - foot + 30, rest = width - x;
      const { parts, xk } = withCache({ width: half, room: height - foot - 124, narrow, lowest: height - foot + 6 });
      const line = Math.max(7, Math.min(22, (height - foot - 120) / rowCount()));
      const longest = Math.min(half - xk, rest) - text;
      place.element.style.minHeight = "";
      fill(place.back, parts, withoutCache({ x, y: 0, width: rest, line }), label(xk, y - 6, count),
        label(x, y - 6, count),
        countBar("with", xk, y, longest), countBar("without", x, y, longest));
    }
  }

  onState((changed) => {
    if (state.tab === "onward" && (changed.has("prompt") || changed.has("write_step"))) {
      show();
    }
  });
  return { element, show, onkey: (by) => move(by), found: () => found };
}
