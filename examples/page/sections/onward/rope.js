// Screen 3: a query and a key turn with their positions, so that their score depends on how far apart they are.

import { h, svg, fill } from "../../dom.js";
import { t, inSentence } from "../../strings.js";
import { state, setState, onState } from "../../state.js";
import { stage, handle, moving, arrow } from "../story/stage.js";
import { newest } from "../story/model.js";
import { signed } from "../story/words.js";
import { call } from "./model.js";

const MOST = 24, BASE = 100; // positions; base of the speeds
const PAIRS = [ // [query, key]
  [[1.5, 0.4], [1.3, -0.5]], [[1.2, 0.9], [1.5, 0.2]], [[0.9, 1.2], [1.2, 0.8]], [[1.4, -0.6], [1.0, 0.7]],
];
const ONE = 1; // the pair that is shown alone: it turns by 18 degrees a position
const WAYS = ["one", "four", "sines"];

export function begin({ ask, tell }) {
  let shown = null, geometry = null, drawn = null; // drawn: the moving numbers
  const place = stage(draw, t("onward.rope.picture"));
  place.element.classList.add("rope-stage");
  const ways = WAYS.map((way) => h("button.story-choice",
    { type: "button", "data-value": way, onclick: () => setState({ rope: way }) }, t(`onward.rope.${way}`)));
  const both = [-1, 1].map((by) => h("button.story-choice", { type: "button", "data-by": by, onclick: () => shift(by) },
    t(by < 0 ? "onward.rope.both.back" : "onward.rope.both")));
  const spoken = h("p.unseen", { role: "status" });
  const element = h("div.story-screen", {}, h("figure.onward-picture", {}, place.element), spoken, h("div.story-actions", {}, ways, both));

  const clamp = (position) => Math.max(0, Math.min(MOST, Math.round(position)));
  const put = (q, k) => setState({ rope_q: clamp(q), rope_k: clamp(k) });
  /** Moves both, as far as both can. */
  function shift(by) {
    const q = state.rope_q + by, k = state.rope_k + by;
    if (Math.min(q, k) >= 0 && Math.max(q, k) <= MOST) {
      put(q, k);
    }
  }
  const along = (x) => (x - geometry.left) / geometry.unit;
  const grips = {
    q: handle(place, { label: t("onward.rope.grip.q"), min: 0, max: MOST, name: "rope q",
      onmove: (x) => put(along(x), state.rope_k), onkey: (dx, dy) => put(state.rope_q + dx + dy, state.rope_k) }),
    k: handle(place, { label: t("onward.rope.grip.k"), min: 0, max: MOST, name: "rope k",
      onmove: (x) => put(state.rope_q, along(x)), onkey: (dx, dy) => put(state.rope_q, state.rope_k + dx + dy) }),
  };
  grips.both = handle(place, { label: t("onward.rope.grip.both"), min: 0, max: MOST, name: "rope both",
    onmove: (x) => {
      const by = Math.round(along(x) - (state.rope_q + state.rope_k) / 2);
      by !== 0 && shift(by);
    },
    onkey: (dx, dy) => shift(dx + dy) });

  /** By how many degrees a pair turns for each position. */
  const turned = (i) => inSentence((shown.speeds[i] * 180 / Math.PI).toFixed(1));
  const chosen = () => (shown.way === "sines" ? shown.sines : shown.rotary);

  const motion = moving([], (values) => {
    drawn = values;
    place.redraw();
  });
  const [q, k] = [0, 1].map((which) => PAIRS.flatMap((pair) => pair[which]));
  const compute = newest(async (of) => ({ ...of, ...await call("rope",
    { q, k, atQ: of.at_q, atK: of.at_k, most: MOST, base: BASE, pair: of.way === "four" ? -1 : ONE }) }), (result) => {
    const first = shown === null, sameWay = !first && shown.way === result.way;
    shown = result;
    const arrows = [...chosen().q, ...chosen().k];
    first || !sameWay ? motion.jump(arrows) : motion.to(arrows, 350);
    say();
  });

  function say() {
    const { score, moved } = chosen(), distance = Math.abs(shown.at_q - shown.at_k);
    const least = Math.min(...moved), most = Math.max(...moved);
    ask(`${shown.way}.do`, distance, signed(score[0]), signed(least), signed(most));
    spoken.textContent = t("onward.rope.said", shown.at_q, shown.at_k, signed(score[0]));
  }

  function follow() {
    ways.forEach((button) => button.setAttribute("aria-pressed", button.dataset.value === state.rope));
    tell(state.rope === "sines" ? "text.sines" : "text");
    return compute({ way: state.rope, at_q: state.rope_q, at_k: state.rope_k });
  }

  // ---- drawing ----

  /** One pair in a circle: where it began, faint, and where it is. */
  function circle(parts, i, [x, y], radius, wide) {
    const sines = shown.way === "sines", unit = radius / (sines ? 2.7 : 1.95), [q0, k0] = PAIRS[i];
    const at = (v) => [x + unit * v[0], y - unit * v[1]];
    const now = (which) => at(drawn.slice(which + 2 * i, which + 2 * i + 2));
    const [q, k] = [now(0), now(2 * PAIRS.length)];
    parts.push(svg("circle", { cx: x, cy: y, r: radius, class: "rope-circle" }));
    [[q0, q, "query"], [k0, k, "key"]].forEach(([from, to, name], which) => {
      parts.push(arrow([x, y], at(from), { class: `${name} rope-before` }));
      const start = at(from);
      if (sines) { // what was added
        parts.push(svg("path", { d: `M${start[0]} ${start[1]}L${to[0]} ${to[1]}`, class: `rope-way ${name}` }));
      } else {
        const steps = which === 0 ? shown.at_q : shown.at_k, turn = steps * shown.speeds[i],
          r = unit * (which === 0 ? 0.75 : 1.05);
        const begin = Math.atan2(from[1], from[0]), end = begin + Math.min(turn, 2 * Math.PI - 0.01);
        const on = (angle) => `${x + r * Math.cos(angle)} ${y - r * Math.sin(angle)}`;
        parts.push(svg("path", { d: `M${on(begin)}A${r} ${r} 0 ${turn > Math.PI ? 1 : 0} 0 ${on(end)}`,
          class: `rope-way ${name}` }));
      }
      parts.push(arrow([x, y], to, { class: name, "data-pair": i }));
      if (wide) {
        const long = Math.hypot(to[0] - x, to[1] - y) || 1;
        parts.push(svg("text", { x: to[0] + 18 * (to[0] - x) / long, y: to[1] + 18 * (to[1] - y) / long + 6,
          "text-anchor": "middle",
          class: `story-label ${name}` }, which === 0 ? "q" : "k"));
      }
    });
  }

  function draw(width, height) {
    if (shown === null || drawn.length === 0) {
      return;
    }
    const narrow = width < 760, parts = [], four = shown.way === "four";
    const label = (x, y, text, name = "story-small", anchor = "middle") =>
      parts.push(svg("text", { x, y, class: name, "text-anchor": anchor }, text));

    // The positions.
    const left = 24, unit = (width - 48) / MOST, line = 94, x = (position) => left + unit * position;
    geometry = { left, unit };
    parts.push(svg("path", { d: `M${left} ${line}H${width - 24}`, class: "story-axis" }));
    for (let i = 0; i <= MOST; i++) {
      parts.push(svg("path", { d: `M${x(i)} ${line - 4}v8`, class: "story-axis" }));
      if (i % (narrow ? 4 : 2) === 0) {
        label(x(i), line + 36, i);
      }
    }
    const xq = x(shown.at_q), xk = x(shown.at_k), middle = (xq + xk) / 2;
    parts.push(svg("path", { d: `M${xq} ${line - 16}V40H${xk}V${line - 16}`, class: "rope-span" }));
    label(Math.max(60, Math.min(width - 60, middle)), 16, t("onward.rope.distance", Math.abs(shown.at_q - shown.at_k)),
      "story-small strong");
    label(xq, line - 18, "q", "story-label query");
    label(xk, line - 18, shown.at_q === shown.at_k ? "" : "k", "story-label key");

    // The arrows, and the scores if both move.
    const top = 134, low = height - 8, chartWide = narrow ? width : width * 0.4, tall = low - top;
    const x1 = narrow ? 0 : width - chartWide, room = narrow ? width : x1 - 40, deep = narrow ? tall * 0.52 : tall;
    if (four) {
      const across = room / deep > 1.6 ? 4 : 2, down = 4 / across;
      const radius = Math.min(room / across, deep / down - 26) / 2 - 4;
      PAIRS.forEach((_, i) => {
        const at = [room * ((i % across) + 0.5) / across, top + deep * (Math.floor(i / across) + 0.5) / down - 12];
        circle(parts, i, at, radius, false);
        label(at[0], at[1] + radius + 18, narrow ? `${turned(i)}°` : t("onward.rope.speed.short", turned(i)));
      });
    } else {
      const radius = Math.min(room, deep - 22) / 2 - 4, at = [room / 2, top + (deep - 22) / 2];
      circle(parts, ONE, at, radius, true);
      if (shown.way !== "sines") {
        label(at[0], at[1] + radius + 18, t("onward.rope.speed", turned(ONE)));
      }
    }
    const { moved, score } = chosen(), y0 = narrow ? top + deep + 44 : top + 40, y1 = low - 30, x0 = x1 + 44,
      wide = x1 + chartWide - x0 - 12;
    const every = [...shown.rotary.moved, ...shown.sines.moved], reach = 1.15 * Math.max(1, ...every.map(Math.abs));
    const px = (i) => x0 + wide * i / MOST, py = (value) => (y0 + y1) / 2 - (y1 - y0) / 2 * value / reach;
    label(x0 - 44, y0 - 16, t("onward.rope.chart"), "story-small strong", "start");
    parts.push(svg("path", { d: `M${x0} ${y0}V${y1}M${x0} ${py(0)}H${x0 + wide}`, class: "story-axis" }));
    label(x0 - 6, py(0) + 4, "0", "story-small", "end");
    parts.push(svg("path", { d: `M${moved.map((value, i) => `${px(i)} ${py(value)}`).join("L")}`,
      class: `story-curve ${shown.way === "sines" ? "open" : ""}`,
      "data-moved": moved.join(" ") }));
    parts.push(svg("circle", { cx: px(shown.at_k), cy: py(score[0]), r: 8, class: "rope-now" }));
    const side = shown.at_k > MOST / 2 ? "end" : "start";
    label(px(shown.at_k) + (side === "end" ? -12 : 12), py(score[0]) + (score[0] < 0 ? 28 : -12),
      t("onward.rope.score", signed(score[0])), "story-number", side);
    label(x0 + wide, y1 + 20, t("onward.rope.axis"), "story-small", "end");
    fill(place.back, parts);
    grips.q.place(xq, line, shown.at_q, String(shown.at_q));
    grips.k.place(xk, line, shown.at_k, String(shown.at_k));
    grips.both.place(middle, 40, Math.min(shown.at_q, shown.at_k),
      t("onward.rope.distance", Math.abs(shown.at_q - shown.at_k)));
  }

  onState((changed) => {
    if (state.tab === "onward" && ["rope", "rope_q", "rope_k"].some((key) => changed.has(key))) {
      follow();
    }
  });
  return { element, show: follow };
}
