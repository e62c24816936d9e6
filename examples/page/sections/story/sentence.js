// The picture of a sentence: its words, arcs from one of them to all, as thick as their percentages, and the numbers.

import { h, svg, fill } from "../../dom.js";
import { percent, largest, CLEAR } from "./words.js";
import { stage, moving } from "./stage.js";

const UPRIGHT = 700; // pixels: narrower pictures have the words below each other

const measure = document.createElement("canvas").getContext("2d");
const widthOf = (word, size) => {
  measure.font = `600 ${size}px system-ui, sans-serif`;
  return measure.measureText(word).width;
};

/** {element, stage, show({words, from, heads, buttons, classes, curtain, hints, reserve, after}, ms)}: from: the position
 * that looks; heads: percentages of each head, [] before it looks; buttons: {position: onclick} of words to press;
 * classes: {position: name}; curtain: the first hidden position; hints: positions it might mean; reserve: place for
 * numbers that come later; numbers: texts below the words instead of percentages; after(stage, places): draws more. ms: how long the arcs move. label: of the picture. */
export function sentencePicture(label) {
  let now = { words: [], from: 0, heads: [], buttons: {}, classes: {}, curtain: Infinity, hints: [], numbers: null };
  let weights = []; // as drawn: of all heads, one after the other
  const words = h("div.story-sentence");
  const place = stage((width, height) => draw(width, height), label);
  const spoken = h("p.unseen");
  place.element.append(words, spoken);
  const motion = moving([], (values) => {
    weights = values;
    place.redraw();
  });

  /** The elements of the words; those that stay the same are kept, so that only new ones rise. */
  function updateWords() {
    const old = [...words.children];
    const elements = now.words.map((word, i) => {
      const tag = now.buttons[i] !== undefined ? "BUTTON" : "SPAN";
      const kept = old[i]?.tagName === tag && old[i].textContent === word;
      const element = kept ? old[i] : tag === "SPAN" ? h("span", { "data-word": i }, word)
        : h("button", { type: "button", "data-word": i, onclick: () => now.buttons[i]() }, word);
      element.className = `story-word ${now.classes[i] ?? ""} ${i >= now.curtain ? "hidden-word" : ""}`;
      return element;
    });
    if (elements.length !== old.length || elements.some((element, i) => element !== old[i])) {
      fill(words, elements);
    }
  }

  /** Where words are: [{x, y, width}], x and y of their middle. */
  function layout(width, height) {
    const count = now.words.length;
    if (width >= UPRIGHT) {
      const unit = now.words.reduce((sum, word) => sum + widthOf(word, 100), 0) / 100, gaps = (count - 1) * 0.5;
      const size = Math.max(13, Math.min(46, (width - 24) / (unit + gaps + 0.6)));
      const total = size * (unit + gaps);
      let x = (width - total) / 2;
      const y = height * (now.heads.length > 0 || now.reserve ? 0.63 : 0.5);
      return { upright: false, size, spots: now.words.map((word) => {
        const w = widthOf(word, size), spot = { x: x + w / 2, y, width: w };
        x += w + 0.5 * size;
        return spot;
      }) };
    }
    const step = height / count, size = Math.max(14, Math.min(27, step * 0.62));
    return { upright: true, size, spots: now.words.map((word, i) =>
      ({ x: width * 0.36 + widthOf(word, size) / 2, y: step * (i + 0.5), width: widthOf(word, size), step })) };
  }

  function draw(width, height) {
    const { upright, size, spots } = layout(width, height);
    const count = spots.length, from = spots[now.from];
    [...words.children].forEach((element, i) => {
      const { x, y } = spots[i];
      element.style.cssText = `--i:${i};left:${x}px;top:${y}px;font-size:${size}px;--step:${upright ? spots[i].step : 44}px`;
    });
    const reach = Math.max(...spots.map(({ x }) => Math.abs(x - from.x)), 1);
    const fall = Math.max(...spots.map(({ y }) => Math.abs(y - from.y)), 1);
    const path = (spot, self, lane) => {
      if (upright) {
        const at = (s) => width * 0.36 + Math.max(...spots.map((o) => o.width)) + 10 + 0 * s;
        const right = at(0), far = self ? 26 : 20 + (width - right - 30) * Math.abs(spot.y - from.y) / fall;
        const y1 = from.y - (self ? 7 : 0), y2 = spot.y + (self ? 7 : 0);
        return `M${right} ${y1}C${right + far * 1.3} ${y1} ${right + far * 1.3} ${y2} ${right} ${y2}`;
      }
      const top = from.y - size * 0.85,
        high = self ? top * 0.16 : (top - 12) * (0.25 + 0.75 * Math.abs(spot.x - from.x) / reach);
      const x1 = from.x - (self ? size * 0.3 : 0), x2 = spot.x + (self ? size * 0.3 : 0) + lane;
      return `M${x1} ${top}C${x1} ${top - high * 1.3} ${x2} ${top - high * 1.3} ${x2} ${top}`;
    };
    const thick = upright ? 22 : 30;
    const arcs = [], numbers = [];
    now.heads.forEach((of, head) => {
      const strongest = head * count + largest(of);
      spots.forEach((spot, i) => {
        const at = head * count + i, weight = weights[at] ?? 0;
        arcs.push(svg("path", { d: path(spot, i === now.from, 0), class: `story-arc head-${head}`, "data-head": head,
          "data-to": i,
          "data-percent": of[i], "stroke-width": Math.max(0.8, thick * weight).toFixed(2),
          "stroke-opacity": i >= now.curtain ? 0 : (0.3 + 0.6 * Math.min(1, 1.6 * weight)).toFixed(3) }));
        if (i >= now.curtain) {
          return;
        }
        const kind = `story-percent head-${head} ${at === strongest && of[i] >= CLEAR ? "most" : ""}`;
        if (upright) {
          const long = (width * 0.36 - 80) * weight;
          const y = spot.y + (now.heads.length > 1 ? (head - 0.5) * spot.step * 0.42 : 0);
          numbers.push(svg("rect", { x: width * 0.36 - 12 - long, y: y - 5, width: Math.max(1, long), height: 10,
            rx: 3, class: `story-bar head-${head}` }),
            svg("text", { x: width * 0.36 - 18 - long, y: y + 5, "text-anchor": "end", class: kind }, now.numbers?.[i] ?? percent(of[i])));
        } else {
          const low = spot.y + size * 0.75, tall = Math.min(110, height - low - 34) * weight;
          const wide = Math.max(10, Math.min(34, size * 0.8)) / now.heads.length;
          const x = spot.x + (head - (now.heads.length - 1) / 2) * (wide + 3);
          numbers.push(svg("rect", { x: x - wide / 2, y: low, width: wide, height: Math.max(1, tall), rx: 3,
            class: `story-bar head-${head}` }));
          if (now.heads.length === 1 || of[i] > 0.2) {
            numbers.push(svg("text", { x, y: low + tall + 20, "text-anchor": "middle", class: kind }, now.numbers?.[i] ?? percent(of[i])));
          }
        }
      });
    });
    const hints = now.hints.map((i) => svg("path", { d: path(spots[i], false, 0), class: "story-hint" }));
    const marks = now.hints.map((i) => {
      const spot = spots[i];
      return upright ? svg("text", { x: width * 0.36 - 22, y: spot.y + 7, "text-anchor": "end",
        class: "story-question" }, "?")
        : svg("text", { x: spot.x, y: spot.y + size * 1.7, "text-anchor": "middle", class: "story-question" }, "?");
    });
    fill(place.back, arcs.sort((a, b) => a.getAttribute("stroke-width") - b.getAttribute("stroke-width")), hints,
      numbers, marks);
    now.after?.(place, { upright, size, spots, width, height });
  }

  return { element: place.element, stage: place,
    show(changes, ms = 700) {
      now = { ...now, ...changes };
      updateWords();
      const said = (of) => now.words.map((word, i) => `${word} ${percent(of[i])}`).join(", ");
      spoken.textContent = now.heads.map((of) => `${now.words[now.from]}: ${said(of)}`).join("; ");
      motion.to(now.heads.flatMap((of) => [...of]), ms);
      place.redraw();
    },
    drawn: () => weights };
}
