// The picture of a sentence: its words, arcs from one of them to all, as thick as their percentages, and the numbers.

import { h, fill } from "../../dom.js";
import { percent, largest, CLEAR } from "./words.js";
import { stage, moving, path, rect, label, WIDE } from "./stage.js";

const measure = document.createElement("canvas").getContext("2d");
const widthOf = (word, size) => {
  measure.font = `600 ${size}px system-ui, sans-serif`;
  return measure.measureText(word).width;
};
const NOTHING = { words: [], from: 0, heads: [], buttons: {}, classes: {}, curtain: Infinity, hints: [], numbers: null,
  after: () => [] };

/** {element, stage, show({words, from, heads, buttons, classes, curtain, hints, numbers, after}, ms)}: from: the position
 * that looks; heads: percentages of each head, [] before it looks; buttons: {position: onclick} of words to press;
 * classes: {position: name}; curtain: the first hidden position; hints: positions it might mean; numbers: texts below the
 * words instead of percentages; after(places): more to draw. ms: how long the arcs move. name: of the picture. */
export function sentencePicture(name) {
  let now = NOTHING, weights = []; // weights: as drawn, of all heads, one after the other
  const words = h("div.story-sentence"), spoken = h("p.unseen");
  const place = stage(draw, name);
  place.element.append(words, spoken);
  const motion = moving([], (values) => {
    weights = values;
    place.redraw();
  });

  /** The elements of the words; those that stay the same are kept, so that only new ones rise. */
  function updateWords() {
    const old = [...words.children];
    const elements = now.words.map((word, i) => {
      const tag = now.buttons[i] !== undefined ? "button" : "span";
      const kept = old[i]?.localName === tag && old[i].textContent === word;
      const press = tag === "button" ? { type: "button", onclick: () => now.buttons[i]() } : {};
      const element = kept ? old[i] : h(tag, { "data-word": i, ...press }, word);
      element.className = `story-word ${now.classes[i] ?? ""} ${i >= now.curtain ? "hidden-word" : ""}`;
      return element;
    });
    if (elements.length !== old.length || elements.some((element, i) => element !== old[i])) {
      fill(words, elements);
    }
  }

  /** Where words are: {upright: below each other, size: of the type, spots: [{x, y, width, step}], x and y of their
   * middle}. */
  function layout(width, height) {
    const count = now.words.length, step = height / count;
    if (width < WIDE) {
      const size = Math.max(14, Math.min(27, step * 0.62));
      return { upright: true, size, spots: now.words.map((word, i) =>
        ({ x: width * 0.36 + widthOf(word, size) / 2, y: step * (i + 0.5), width: widthOf(word, size), step })) };
    }
    const unit = now.words.reduce((sum, word) => sum + widthOf(word, 100), 0) / 100, gaps = (count - 1) * 0.5;
    const size = Math.max(13, Math.min(46, (width - 24) / (unit + gaps + 0.6)));
    let x = (width - size * (unit + gaps)) / 2;
    return { upright: false, size, spots: now.words.map((word) => {
      const w = widthOf(word, size), spot = { x: x + w / 2, y: height * 0.63, width: w, step: 44 };
      x += w + 0.5 * size;
      return spot;
    }) };
  }

  function draw(width, height) {
    const { upright, size, spots } = layout(width, height), count = spots.length, from = spots[now.from];
    [...words.children].forEach((element, i) => {
      const { x, y, step } = spots[i];
      element.style.cssText = `--i:${i};left:${x}px;top:${y}px;font-size:${size}px;--step:${step}px`;
    });
    const reach = Math.max(1, ...spots.map(({ x, y }) => Math.abs(upright ? y - from.y : x - from.x)));
    const column = width * 0.36, right = column + Math.max(...spots.map((spot) => spot.width)) + 10;
    const arc = (spot) => {
      const self = spot === from, away = Math.abs(upright ? spot.y - from.y : spot.x - from.x) / reach;
      if (upright) {
        const far = right + 1.3 * (self ? 26 : 20 + (width - right - 30) * away), up = self ? 7 : 0;
        return `M${right} ${from.y - up}C${far} ${from.y - up} ${far} ${spot.y + up} ${right} ${spot.y + up}`;
      }
      const top = from.y - size * 0.85, high = top - 1.3 * (self ? top * 0.16 : (top - 12) * (0.25 + 0.75 * away));
      const [x1, x2] = self ? [from.x - size * 0.3, from.x + size * 0.3] : [from.x, spot.x];
      return `M${x1} ${top}C${x1} ${high} ${x2} ${high} ${x2} ${top}`;
    };
    /** The bar of a share, and its number. */
    const bar = (spot, share, weight, head, kind, text) => {
      const heads = now.heads.length;
      if (upright) {
        const long = (column - 80) * weight, y = spot.y + (heads > 1 ? (head - 0.5) * spot.step * 0.42 : 0);
        return [rect(column - 12 - long, y - 5, Math.max(1, long), 10, `story-bar head-${head}`, { rx: 3 }),
          heads === 1 || share > CLEAR ? label(column - 18 - long, y + 5, text, kind, "end") : []];
      }
      const low = spot.y + size * 0.75, tall = Math.min(110, height - low - 34) * weight;
      const wide = Math.max(10, Math.min(34, size * 0.8)) / heads, x = spot.x + (head - (heads - 1) / 2) * (wide + 3);
      return [rect(x - wide / 2, low, wide, Math.max(1, tall), `story-bar head-${head}`, { rx: 3 }),
        heads === 1 || share > CLEAR ? label(x, low + tall + 20, text, kind, "middle") : []];
    };
    const arcs = [], bars = [];
    now.heads.forEach((of, head) => of.forEach((share, i) => {
      const weight = weights[head * count + i] ?? 0, hidden = i >= now.curtain;
      arcs.push(path(arc(spots[i]), `story-arc head-${head}`, { "data-head": head, "data-to": i, "data-percent": share,
        "stroke-width": Math.max(0.8, (upright ? 22 : 30) * weight).toFixed(2),
        "stroke-opacity": hidden ? 0 : (0.3 + 0.6 * Math.min(1, 1.6 * weight)).toFixed(3) }));
      const most = i === largest(of) && share >= CLEAR ? "most" : "";
      hidden || bars.push(bar(spots[i], share, weight, head, `story-percent head-${head} ${most}`,
        now.numbers?.[i] ?? percent(share)));
    }));
    const mark = ({ x, y }) => (upright ? label(column - 22, y + 7, "?", "story-question", "end")
      : label(x, y + size * 1.7, "?", "story-question", "middle"));
    return [arcs.sort((a, b) => a.getAttribute("stroke-width") - b.getAttribute("stroke-width")), bars,
      now.hints.map((i) => [path(arc(spots[i]), "story-hint"), mark(spots[i])]),
      now.after({ upright, size, spots, width, height })];
  }

  return { element: place.element, stage: place, show(next, ms = 700) {
    now = { ...NOTHING, ...next };
    updateWords();
    spoken.textContent = now.heads.map((of) =>
      `${now.words[now.from]}: ${now.words.map((word, i) => `${word} ${percent(of[i])}`).join(", ")}`).join("; ");
    motion.to(now.heads.flat(), ms);
    place.redraw();
  } };
}
