// "Onward": screens in the style of the story, from one head to a model that writes.

import { h, svg, fill } from "../dom.js";
import { t } from "../strings.js";
import { state, setState, onState } from "../state.js";
import { rich } from "./story/words.js";
import * as heads from "./onward/heads.js";
import * as cache from "./onward/cache.js";
import * as rope from "./onward/rope.js";

const SCREENS = { heads, cache, rope };
const names = Object.keys(SCREENS);

/** The engine's functions, for tests. */
export { call } from "./onward/model.js";

/** A screen: its title and text, and the picture of its module. */
function page(name) {
  const title = h("h2", { tabindex: -1 }, t(`onward.${name}`));
  const text = h("p.story-words"), action = h("p.story-action", { role: "status" }),
    problem = h("p.error", { role: "alert" });
  const tell = (key, ...values) => fill(text, rich(t(`onward.${name}.${key}`, ...values)));
  const ask = (key, ...values) => fill(action, rich(t(`onward.${name}.${key}`, ...values)));
  tell("text");
  const screen = SCREENS[name].begin({ tell, ask });
  const element = h("article.story-page", { "data-screen": name }, h("div.story-text", {}, title, text, action),
    problem, screen.element);
  const show = () => Promise.resolve(screen.show()).then(() => (problem.textContent = ""), (error) =>
    (problem.textContent = error.message));
  return { element, title, show, onkey: screen.onkey ?? (() => false) };
}

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export function begin(root) {
  const pages = {}, body = h("div.story-body");
  const dots = names.map((name, i) => h("button.story-dot", { type: "button", onclick: () =>
    setState({ onward: i + 1 }),
    title: t(`onward.${name}`), "aria-label": t("story.nav.screen", i + 1, t(`onward.${name}`)) },
      h("span", {}, i + 1)));
  const step = (by, label, path) => h("button.story-step", { type: "button", "aria-label": t(label),
    onclick: () => setState({ onward: state.onward + by }) },
  svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: path })), h("span", {}, t(label)));
  const previous = step(-1, "story.nav.back", "M15 4 7 12l8 8"), next = step(1, "story.nav.next", "M9 4l8 8-8 8");
  root.classList.add("story");
  root.append(body, h("nav.story-nav", { "aria-label": t("story.nav.screens") }, previous,
    h("div.story-dots", {}, dots), next));

  const fit = () => root.style.setProperty("--story-top", `${root.getBoundingClientRect().top + scrollY}px`);
  addEventListener("resize", () => state.tab === "onward" && fit());

  const now = () => names[Math.min(state.onward, names.length) - 1];
  const show = () => {
    const name = now();
    pages[name] ??= page(name);
    dots.forEach((dot, i) => (names[i] === name ? dot.setAttribute("aria-current", "step")
      : dot.removeAttribute("aria-current")));
    previous.disabled = name === names[0];
    next.disabled = name === names.at(-1);
    if (pages[name].element.parentNode !== body) {
      fill(body, pages[name].element);
    }
    fit();
    return pages[name].show();
  };
  onState((changed) => {
    if (changed.has("onward") && state.tab === "onward") {
      show();
      scrollTo(0, 0);
      pages[now()].title.focus({ preventScroll: true }); // screen readers then read the new screen
    }
  });
  document.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1 }[event.key];
    if (by === undefined || state.tab !== "onward" || event.defaultPrevented || event.ctrlKey || event.altKey
      || event.metaKey ||
        event.target.closest?.("input, select, textarea, [role=tablist], [role=slider], dialog")) {
      return;
    }
    if (event.key.startsWith("Page") || !pages[now()].onkey(by)) {
      setState({ onward: state.onward + by });
    }
    event.preventDefault();
  });
  return { show };
}
