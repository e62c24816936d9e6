// Where the numbers of three tokens go when they are cut into heads and joined again. 17 is feature 7 of token 1.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { state, setState, onState } from "../../state.js";
import { still } from "../story/stage.js";
import { call } from "./model.js";

const TOKENS = 3, WIDTH = 8; // 17 is one of the numbers

const range = (count) => Array.from({ length: count }, (_, i) => i);
const written = (number) => String(number).padStart(2, "0");

/** {element, show(), set({heads, breaks})}; breaks: of forward.h. */
export function placesOf(begun) {
  let now = begun, places = null, cells = new Map(); // "stage number" -> its cell
  const line = svg("svg", { class: "places-line", "aria-hidden": "true" });
  const stages = h("div.places-stages"), said = h("p.places-said", { role: "status" });
  const element = h("figure.places", { "aria-label": t("places.label") },
    h("div.places-picture", {}, stages, line), said);

  const choose = (number) => setState({ place: written(number) });
  const onkeydown = (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -10, ArrowDown: 10 }[event.key];
    const to = Number(state.place) + by;
    if (by !== undefined) {
      if (places.x.includes(to)) {
        choose(to);
        cells.get(`x ${to}`).focus({ preventScroll: true });
      }
      event.preventDefault();
      event.stopPropagation(); // the page's own keys
    }
  };

  /** A table of numbers; only those of x are reached by the keyboard, as the others follow them. */
  function grid(stage, numbers, width) {
    const [tag, properties] = stage === "x" ? ["button", { type: "button", onkeydown }] : ["span", {}];
    return h("div.places-grid", { style: `--columns:${width}` }, numbers.map((number) => {
      const cell = h(`${tag}.places-cell`, { ...properties, "data-stage": stage, "data-number": number,
        "data-token": Math.floor(number / 10), onclick: () => choose(number) }, written(number));
      cells.set(`${stage} ${number}`, cell);
      return cell;
    }));
  }

  const stageOf = (name, shape, ...grids) => h("div.places-stage", { "data-stage": name },
    h("p.places-name", {}, t(`places.${name}`), " ", h("code", {}, shape)), h("div.places-grids", {}, ...grids));

  function draw() {
    const { heads } = now, width = WIDTH / heads, whole = `(T, C) = (${TOKENS}, ${WIDTH})`;
    const before = new Map([...cells].map(([key, cell]) => [key, cell.getBoundingClientRect()]));
    const ofHead = (head) => places.split.slice(head * TOKENS * width, (head + 1) * TOKENS * width);
    cells = new Map();
    fill(stages, stageOf("x", whole, grid("x", places.x, WIDTH)),
      stageOf("split", `(heads, T, C / heads) = (${heads}, ${TOKENS}, ${width})`, ...range(heads).map((head) =>
        h("div.places-head", {}, h("p", {}, t("places.head", head + 1)), grid("split", ofHead(head), width)))),
      stageOf("merged", whole, grid("merged", places.merged, WIDTH)));
    if (!still()) {
      cells.forEach((cell, key) => { // from where it stood
        const from = before.get(key), to = cell.getBoundingClientRect();
        if (from?.width > 0 && (from.x !== to.x || from.y !== to.y)) {
          cell.animate([{ transform: `translate(${from.x - to.x}px, ${from.y - to.y}px)` }, { transform: "none" }],
            { duration: 700, easing: "cubic-bezier(.2, .7, .2, 1)" });
        }
      });
    }
    mark();
  }

  /** Where a number is: the sentence about it. */
  function sentence(number) {
    const width = WIDTH / now.heads, at = places.split.indexOf(number), end = places.merged.indexOf(number);
    const token = Math.floor(number / 10), feature = number % 10, goal = Math.floor(feature / width);
    const head = Math.floor(at / (TOKENS * width)), row = Math.floor(at / width) % TOKENS;
    const right = head === goal && row === token && at % width === feature % width;
    return [t("places.from", written(number), feature, token),
      t(right ? "places.to" : "places.to.wrong", head + 1, row, at % width, goal + 1, token),
      places.x[end] === number ? t("places.back")
        : t("places.back.wrong", end % WIDTH, Math.floor(end / WIDTH))].join(" ");
  }

  function mark() {
    const number = Number(state.place);
    cells.forEach((cell, key) => {
      cell.classList.toggle("chosen", key.endsWith(` ${number}`));
      if (cell.tagName === "BUTTON") {
        cell.tabIndex = key === `x ${number}` ? 0 : -1;
        cell.setAttribute("aria-pressed", key === `x ${number}`);
      }
    });
    said.textContent = sentence(number);
    join();
  }

  /** The line from stage to stage. */
  function join() {
    const number = Number(state.place);
    if (places === null || stages.clientWidth === 0) {
      return;
    }
    const below = getComputedStyle(stages).flexDirection === "column"; // of each other
    const at = ["x", "split", "merged"].map((stage) => { // where they stand, even while they move
      const cell = cells.get(`${stage} ${number}`), w = cell.offsetWidth / 2, tall = cell.offsetHeight / 2;
      return { x: cell.offsetLeft + w, y: cell.offsetTop + tall, w, tall };
    });
    fill(line, at.slice(1).map((to, i) => {
      const from = at[i];
      const [x1, y1, x2, y2] = below ? [from.x, from.y + from.tall, to.x, to.y - to.tall]
        : [from.x + from.w, from.y, to.x - to.w, to.y];
      const [mx, my] = [(x1 + x2) / 2, (y1 + y2) / 2];
      const curve = below ? `${x1} ${my} ${x2} ${my}` : `${mx} ${y1} ${mx} ${y2}`;
      return svg("path", { d: `M${x1} ${y1}C${curve} ${x2} ${y2}` });
    }));
  }

  async function show() {
    const of = now, found = await call("split", { tokens: TOKENS, width: WIDTH, heads: of.heads, breaks: of.breaks });
    if (of === now) {
      places = found;
      draw();
    }
  }
  onState((changed) => changed.has("place") && places !== null && element.isConnected && mark());
  new ResizeObserver(join).observe(stages);
  return { element, show, set(next) {
    now = next;
    return show();
  } };
}
