// Pictures that fill their place, drawn in pixels, and things in them that can be dragged or moved with the arrow keys.

import { h, svg } from "../../dom.js";

const reduced = matchMedia("(prefers-reduced-motion: reduce)");

/** A place for a picture: draw(width, height) whenever its size is new. Returns {element, back, front, redraw()}:
 * `back` is an SVG group that draw fills, `front` one for what stays, such as handles. */
export function stage(draw, label) {
  const back = svg("g"), front = svg("g");
  const picture = svg("svg", { class: "story-svg", role: "group", "aria-label": label }, back, front);
  const element = h("div.story-stage", {}, picture);
  let width = 0, height = 0;
  const redraw = () => {
    if (width > 0) {
      draw(width, height);
    }
  };
  new ResizeObserver(() => {
    const box = element.getBoundingClientRect();
    if (Math.abs(box.width - width) > 0.5 || Math.abs(box.height - height) > 0.5) {
      ({ width, height } = box);
      redraw();
    }
  }).observe(element);
  return { element, picture, back, front, redraw, size: () => ({ width, height }) };
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
  const dot = svg("circle", { r: 9, class: "story-grip" });
  const element = svg("g", { class: `story-handle ${name}`, role: "slider", tabindex: 0, "aria-label": label,
    "aria-valuemin": min,
    "aria-valuemax": max, "aria-valuenow": min }, svg("circle", { r: 24, class: "story-touch" }), dot);
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
  const length = Math.hypot(x2 - x1, y2 - y1), head = Math.min(14, length);
  const [ux, uy] = length > 0 ? [(x2 - x1) / length, (y2 - y1) / length] : [0, 0];
  const [bx, by] = [x2 - head * ux, y2 - head * uy];
  const wing = head * 0.45;
  return svg("g", { ...properties, class: `story-arrow ${properties.class ?? ""}` },
    svg("path", { d: `M${x1} ${y1}L${bx} ${by}`, class: "shaft" }),
    svg("path", { d: `M${x2} ${y2}L${bx - wing * uy} ${by + wing * ux}L${bx + wing * uy} ${by - wing * ux}Z`,
      class: "tip" }));
}
