// The map: boxes as buttons, each with a small picture of what it computes, and the lines between them.

import { h, svg, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { state, setState, onState } from "../../state.js";
import { paint } from "../../heat.js";
import { layout } from "./layout.js";
import { shown } from "./boxes.js";

/** The name of a box, with its block. */
export function nameOf({ kind, block, stage }) {
  return kind === "stream" ? t(stage === 1 ? "gpt.stream.one" : "gpt.stream.n", stage)
    : block === undefined ? t(`gpt.${kind}`) : t("gpt.of_block", t(`gpt.${kind}`), block + 1);
}

/** onopen(): a box was pressed. Returns {element, model(about, boxes), update(read), paint()}. */
export function map(onopen) {
  const element = h("div.gpt-map", { role: "group", "aria-label": t("gpt.map"), tabindex: -1 });
  let about = null, boxes = [], buttons = [], read = null, drawn = 0;

  const follow = () => buttons.forEach((button, i) => {
    const is = boxes[i].id === state.gpt_box;
    button.setAttribute("aria-pressed", is);
    button.tabIndex = is ? 0 : -1;
  });

  const onkeydown = (event) => {
    const at = buttons.indexOf(event.target), last = buttons.length - 1;
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    if (at >= 0 && to !== undefined) {
      const next = Math.max(0, Math.min(last, to));
      setState({ gpt_box: boxes[next].id });
      buttons[next].focus();
      event.preventDefault();
      event.stopPropagation(); // the page's own keys
    }
  };
  element.addEventListener("keydown", onkeydown);

  function build() {
    const available = element.clientWidth;
    if (about === null || available === 0 || available === drawn) {
      return;
    }
    drawn = available;
    const focused = element.contains(document.activeElement) ? document.activeElement.dataset.box : null;
    const { isDown, width, height, boxes: places, lines, sums, blocks, thick } = layout(about.layers, available - 2);
    buttons = boxes.map((box) => {
      const { x, y, w, h: tall } = places.get(box.id);
      return h(`button.gpt-box.${box.kind}`, { type: "button", "data-box": box.id, "aria-label": nameOf(box),
        style: `left:${x}px;top:${y}px;width:${w}px;height:${tall}px`, onclick: () => {
          setState({ gpt_box: box.id });
          onopen();
        } },
      box.kind === "stream" ? null : h("span", {}, t(`gpt.${box.kind}.short`)),
      box.kind === "text" ? h("code") : h("canvas", { "aria-hidden": "true" }));
    });
    const first = places.get("stream.0");
    fill(element, h("div.gpt-sheet", { style: `width:${width}px;height:${height}px` },
      svg("svg", { width, height, "aria-hidden": "true" },
        blocks.map((block, i) => [svg("rect", { class: "block", x: block.x, y: block.y, width: Math.max(0, block.w), height: block.h, rx: 10 })]).flat(),
        lines.map((d, i) => svg("path", { d, class: "flow", style: `animation-delay:${(0.7 * i / lines.length).toFixed(2)}s` })),
        isDown ? svg("path", { class: "stream", "stroke-width": thick, d: `M${first.x + thick / 2} ${first.y}V${height - 12}` })
          : svg("path", { class: "stream", "stroke-width": thick,
            d: `M${first.x} ${first.y + thick / 2}H${places.get(`stream.${2 * about.layers}`).x}` }),
        sums.map(([x, y]) => svg("g", { class: "sum" }, svg("circle", { cx: x, cy: y, r: 11 }), svg("path", { d: `M${x - 6} ${y}h12M${x} ${y - 6}v12` })))),
      isDown ? null : blocks.map((block, i) => h("span.gpt-label", { style: `left:${block.x + 12}px;top:4px` }, t("gpt.block", i + 1))),
      isDown ? null : h("span.gpt-label", { style: `left:${first.x}px;top:${first.y + thick + 2}px` }, t("gpt.stream")),
      buttons));
    follow();
    update(read);
    buttons.find((button) => button.dataset.box === focused)?.focus({ preventScroll: true });
  }

  function paintAll() {
    if (read === null) {
      return;
    }
    boxes.forEach((box, i) => {
      if (box.kind === "text") {
        buttons[i].querySelector("code").textContent = read.tokens.map(shown).join("");
        return;
      }
      const [, part, kind] = box.parts[0], { shape, values } = read.parts[part];
      const [rows, columns] = shape.slice(-2);
      const one = shape.length === 3 ? values.subarray(0, rows * columns) : values; // of the first head
      paint(buttons[i].querySelector("canvas"), [rows, columns], one, kind);
    });
  }

  /** Shows what the model has computed. */
  function update(found) {
    read = found;
    if (drawn === 0) {
      build();
      return;
    }
    paintAll();
    const sheet = element.firstElementChild;
    sheet.classList.remove("flows");
    requestAnimationFrame(() => sheet.classList.add("flows")); // once along the lines
  }

  new ResizeObserver(() => build()).observe(element);
  onState((changed) => {
    if (changed.has("gpt_box")) {
      follow();
    }
  });
  return {
    element,
    model(of, all) {
      [about, boxes, drawn, read] = [of, all, 0, null];
    },
    update,
    paint: paintAll,
  };
}
