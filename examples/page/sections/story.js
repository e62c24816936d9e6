// "The story": eleven screens that say what attention is, each with a text, a picture and one thing to do.

import { h, svg, fill } from "../dom.js";
import { t } from "../strings.js";
import { state, setState, onState, linkTo } from "../state.js";
import { story } from "./story/model.js";
import { rich } from "./story/words.js";
import * as it from "./story/it.js";
import * as looks from "./story/looks.js";
import * as rows from "./story/rows.js";
import * as compare from "./story/compare.js";
import * as weigh from "./story/weigh.js";
import * as mix from "./story/mix.js";
import * as positions from "./story/positions.js";
import * as back from "./story/back.js";
import * as heads from "./story/heads.js";
import * as learn from "./story/learn.js";
import * as end from "./story/end.js";

/** The story's models, for tests. */
export { story as model };

const SCREENS = { it, looks, rows, compare, weigh, mix, positions, back, heads, learn, end }, NAMES = Object.keys(SCREENS);

/** A line of the class with the trained model: where the code of a screen is. */
const line = (number, more = {}) => ({ tab: "class", example: "pizza", step: 500, line: number, ...more });
const CODE = { rows: line(2), compare: line(5), weigh: line(8), mix: line(9), positions: line(1), back: line(7),
  heads: line(8, { heads: 2 }), learn: line(2, { phase: "backward" }) };

/** A screen: {element, title, show(), hide()}. Its module begins when it is seen first: it is given tell and ask, which set
 * its text and what to do, by key; say(text), for screen readers; and, but for the first screen, what story() gives. */
function screenOf(name) {
  const title = h("h2", { tabindex: -1 }, t(`story.${name}`));
  const link = CODE[name] === undefined ? null
    : h("a.story-code", { href: linkTo({ story: NAMES.indexOf(name) + 1, ...CODE[name] }) }, t("story.nav.code"));
  const text = h("p.story-words"), action = h("p.story-action", { role: "status" }), spoken = h("p.unseen", { role: "status" });
  const problem = h("p.error", { role: "alert" }), place = h("div.story-holder");
  const tools = {
    tell: (key, ...values) => fill(text, rich(t(`story.${name}.${key}`, ...values))),
    ask: (key, ...values) => fill(action, rich(t(`story.${name}.${key}`, ...values))),
    say: (words) => (spoken.textContent = words),
  };
  let screen = null;
  tools.tell("text");
  async function begin() {
    const model = name === "it" ? {} : await story(); // the first one is seen at once
    if (screen === null) {
      screen = SCREENS[name].begin({ ...tools, ...model });
      fill(place, screen.element, spoken);
    }
    await screen.show();
  }
  return { title, element: h("article.story-page", { "data-screen": name },
    h("div.story-text", {}, h("div.story-title", {}, title, link), text, action, problem), place),
  show: () => begin().then(() => (problem.textContent = ""), (error) => (problem.textContent = error.message)),
  hide: () => screen?.hide?.() };
}

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export function begin(root) {
  const pages = {}, body = h("div.story-body");
  const goTo = (number) => setState({ story: number });
  const dots = NAMES.map((name, i) => h("button.story-dot", { type: "button", onclick: () => goTo(i + 1),
    title: t(`story.${name}`), "aria-label": t("story.nav.screen", i + 1, t(`story.${name}`)) }, h("span", {}, i + 1)));
  const step = (by, label, path) => h("button.story-step", { type: "button", "aria-label": t(label),
    onclick: () => goTo(state.story + by) },
  svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: path })), h("span", {}, t(label)));
  const previous = step(-1, "story.nav.back", "M15 4 7 12l8 8"), next = step(1, "story.nav.next", "M9 4l8 8-8 8");
  root.classList.add("story");
  root.append(body,
    h("nav.story-nav", { "aria-label": t("story.nav.screens") }, previous, h("div.story-dots", {}, dots), next));

  const fit = () => root.style.setProperty("--story-top", `${root.getBoundingClientRect().top + scrollY}px`);
  addEventListener("resize", () => state.tab === "story" && fit());

  let shown = null; // the page that is seen
  const see = (now) => {
    if (now !== shown) {
      shown?.hide();
      shown = now;
    }
  };
  const show = () => {
    const at = state.story - 1;
    see(pages[at] ??= screenOf(NAMES[at]));
    dots.forEach((dot, i) => (i === at ? dot.setAttribute("aria-current", "step") : dot.removeAttribute("aria-current")));
    previous.disabled = at === 0;
    next.disabled = at === NAMES.length - 1;
    if (shown.element.parentNode !== body) {
      fill(body, shown.element);
    }
    fit();
    return shown.show();
  };
  onState((changed) => {
    if (changed.has("story") && state.tab === "story") {
      show();
      scrollTo(0, 0);
      shown.title.focus({ preventScroll: true }); // screen readers then read the new screen
    } else if (changed.has("tab") && state.tab !== "story") {
      see(null);
    }
  });
  document.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1 }[event.key];
    if (by !== undefined && state.tab === "story" && !event.defaultPrevented &&
        !event.ctrlKey && !event.altKey && !event.metaKey &&
        !event.target.closest?.("input, select, textarea, [role=slider], dialog")) {
      goTo(state.story + by);
      event.preventDefault();
    }
  });
  return { show };
}
