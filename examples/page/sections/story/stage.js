// Pictures that fill their place, drawn in pixels, and things in them that can be dragged or moved with the arrow keys.

import { h, svg, fill } from "../../dom.js";

const reduced = matchMedia("(prefers-reduced-motion: reduce)");

/** A width from which there is place beside each other, in pixels. */
export const WIDE = 700;

/** A place for a picture: draw(width, height) whenever its size is new. Returns {element, picture, back, front, redraw()}:
 * `back` is an SVG group for what draw returns, `front` one for what stays, such as handles. */
export function stage(draw, label) {
  const back = svg("g"), front = svg("g");
  const picture = svg("svg", { class: "story-svg", role: "group", "aria-label": label }, back, front);
  const element = h("div.story-stage", {}, picture);
  let width = 0, height = 0;
  const redraw = () => {
    const parts = width > 0 ? draw(width, height) : undefined;
    parts && fill(back, parts.flat(4));
  };
  new ResizeObserver(() => {
    const box = element.getBoundingClientRect();
    if (Math.abs(box.width - width) > 0.5 || Math.abs(box.height - height) > 0.5) {
      ({ width, height } = box);
      redraw();
    }
  }).observe(element);
  return { element, picture, back, front, redraw };
}

export const path = (d, name, more = {}) => svg("path", { d, class: name, ...more });
export const label = (x, y, text, name = "story-small", anchor = "start", more = {}) =>
  svg("text", { x, y, class: name, "text-anchor": anchor, ...more }, text);

export const rect = (x, y, width, height, name, more = {}) => svg("rect", { x, y, width, height, class: name, ...more });
export const circle = (cx, cy, r, name, more = {}) => svg("circle", { cx, cy, r, class: name, ...more });

/** Lines through whole numbers: `unit` pixels each, 0 at a place. */
export function grid(width, height, unit, [x0, y0]) {
  const all = (zero, size) => Array.from({ length: Math.floor((size - zero) / unit) + Math.floor(zero / unit) + 1 }, (_, i) =>
    i - Math.floor(zero / unit));
  const kind = (i) => (i === 0 ? "story-axis" : "story-grid");
  return [...all(x0, width).map((i) => path(`M${x0 + i * unit} 0V${height}`, kind(i))),
    ...all(y0, height).map((i) => path(`M0 ${y0 + i * unit}H${width}`, kind(i)))];
}

/** Draws numbers that move: {to(values, ms): towards these values, now(): where they are, jump(values)}. */
export function moving(values, draw) {
  let from = values, target = values, began = 0, lasts = 0, frame = 0;
  const at = (time) => {
    const x = lasts === 0 ? 1 : Math.min(1, (time - began) / lasts), eased = 1 - (1 - x) ** 3;
    return x === 1 ? target : target.map((value, i) => (from[i] ?? 0) + eased * (value - (from[i] ?? 0)));
  };
  const tick = (time) => {
    draw(at(time));
    frame = time - began < lasts ? requestAnimationFrame(tick) : 0;
  };
  return {
    now: () => at(performance.now()),
    jump(next) {
      cancelAnimationFrame(frame);
      from = target = next;
      lasts = frame = 0;
      draw(next);
    },
    to(next, ms = 700) {
      if (reduced.matches) {
        this.jump(next);
        return;
      }
      from = at(performance.now());
      target = next;
      began = performance.now();
      lasts = ms;
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(tick);
    },
  };
}

export const still = () => reduced.matches;

/** Something in a stage that is dragged, or moved with the arrow keys: onmove(x, y) in the picture's pixels by a
 * pointer, onkey(dx, dy) by keys, in steps. Returns {element, place(x, y, now, text)}: now and text are for screen
 * readers. */
export function handle(where, { label, min, max, onmove, onkey, name = "" }) {
  const dot = circle(0, 0, 9, "story-grip");
  const element = svg("g", { class: `story-handle ${name}`, role: "slider", tabindex: 0, "aria-label": label,
    "aria-valuemin": min,
    "aria-valuemax": max, "aria-valuenow": min }, circle(0, 0, 24, "story-touch"), dot);
  const move = (event) => {
    const box = where.picture.getBoundingClientRect();
    onmove(event.clientX - box.left, event.clientY - box.top);
  };
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    element.focus();
    event.preventDefault();
  });
  element.addEventListener("pointermove", (event) => element.hasPointerCapture(event.pointerId) && move(event));
  element.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (by !== undefined) {
      onkey(...by.map((step) => step * (event.shiftKey ? 5 : 1)));
      event.preventDefault();
      event.stopPropagation();
    }
  });
  where.front.append(element);
  return { element, place(x, y, now, text) {
    element.setAttribute("transform", `translate(${x} ${y})`);
    element.setAttribute("aria-valuenow", now.toFixed(2));
    element.setAttribute("aria-valuetext", text);
  } };
}

/** An arrow as SVG from one point to another. */
export function arrow([x1, y1], [x2, y2], properties = {}) {
  const length = Math.hypot(x2 - x1, y2 - y1), head = Math.min(14, length), wing = head * 0.45;
  const [ux, uy] = length > 0 ? [(x2 - x1) / length, (y2 - y1) / length] : [0, 0];
  const [bx, by] = [x2 - head * ux, y2 - head * uy];
  return svg("g", { ...properties, class: `story-arrow ${properties.class ?? ""}` }, path(`M${x1} ${y1}L${bx} ${by}`, "shaft"),
    path(`M${x2} ${y2}L${bx - wing * uy} ${by + wing * ux}L${bx + wing * uy} ${by - wing * ux}Z`, "tip"));
}

// ---- controls ----

export const choice = (text, onclick, more = {}) => h("button.story-choice", { type: "button", onclick, ...more }, text);
export const actions = (...children) => h("div.story-actions", {}, ...children);

/** Buttons of which one is chosen: choose(name) when one is pressed. Returns {element, mark(name)}. */
export function choices(names, text, choose) {
  const buttons = names.map((name) => choice(text(name), () => choose(name)));
  return { element: h("div.story-choices", { role: "group" }, buttons),
    mark: (now) => buttons.forEach((button, i) => button.setAttribute("aria-pressed", names[i] === now)) };
}

/** A slider with a text: {element, set(value, text, keep)}; keep: a value that is just being chosen stays. */
export function slider(name, [min, max, step], choose) {
  const said = h("output");
  const input = h("input", { type: "range", min, max, step, "aria-label": name, oninput: () => choose(Number(input.value)) });
  return { element: h("label.story-slider", {}, said, input), set(value, text, keep = false) {
    if (!keep || document.activeElement !== input) {
      input.value = value;
    }
    input.setAttribute("aria-valuetext", text);
    said.textContent = text;
  } };
}
