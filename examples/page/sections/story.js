// "The story": nine screens that say what attention is, each with a text, a picture and one thing to do.

import { h, svg, fill } from "../dom.js";
import { t } from "../strings.js";
import { state, setState, onState } from "../state.js";
import { rich } from "./story/words.js";
import * as it from "./story/it.js";
import * as compare from "./story/compare.js";
import * as weigh from "./story/weigh.js";
import * as mix from "./story/mix.js";
import * as back from "./story/back.js";
import * as heads from "./story/heads.js";
import * as learn from "./story/learn.js";
import * as onward from "./story/onward.js";
import * as positions from "./story/positions.js";

const SCREENS = { it, compare, weigh, mix, back, heads, learn, onward, positions };
const names = Object.keys(SCREENS);

/** The story's models, for tests. */
export { story as model } from "./story/model.js";

/** A screen: its title and text, and the picture of its module, which is told when it is seen and when it is not. */
function page(name) {
  const title = h("h2", { tabindex: -1 }, t(`story.${name}`));
  const text = h("p.story-words"), action = h("p.story-action", { role: "status" });
  const tell = (key, ...values) => fill(text, rich(t(`story.${name}.${key}`, ...values)));
  const ask = (key, ...values) => fill(action, key === "" ? "" : rich(t(`story.${name}.${key}`, ...values)));
  const problem = h("p.error", { role: "alert" });
  tell("text");
  const screen = SCREENS[name].begin({ tell, ask });
  const element = h("article.story-page", { "data-screen": name }, h("div.story-text", {}, title, text, action),
    problem,
    screen.element);
  const show = () => Promise.resolve(screen.show()).catch((error) => (problem.textContent = error.message));
  return { element, title, show, hide: () => screen.hide?.() };
}

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export function begin(root) {
  const pages = {};
  const body = h("div.story-body");
  const dots = names.map((name, i) => h("button.story-dot", { type: "button", onclick: () => setState({ story: i + 1 }),
    title: t(`story.${name}`), "aria-label": t("story.nav.screen", i + 1, t(`story.${name}`)) }, h("span", {}, i + 1)));
  const step = (by, label, path) => h("button.story-step", { type: "button", "aria-label": t(label),
    onclick: () => setState({ story: state.story + by }) },
  svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: path })), h("span", {}, t(label)));
  const previous = step(-1, "story.nav.back", "M15 4 7 12l8 8"), next = step(1, "story.nav.next", "M9 4l8 8-8 8");
  root.classList.add("story");
  root.append(body, h("nav.story-nav", { "aria-label": t("story.nav.screens") }, previous, h("div.story-dots", {},
    dots), next));

  const fit = () => root.style.setProperty("--story-top", `${root.getBoundingClientRect().top + scrollY}px`);
  addEventListener("resize", () => state.tab === "story" && fit());

  let shown = null; // the page that is seen
  const show = () => {
    const name = names[state.story - 1];
    pages[name] ??= page(name);
    const now = state.tab === "story" ? pages[name] : null;
    if (now !== shown) {
      shown?.hide();
      shown = now;
    }
    dots.forEach((dot, i) => (i === state.story - 1 ? dot.setAttribute("aria-current",
      "step") : dot.removeAttribute("aria-current")));
    previous.disabled = state.story === 1;
    next.disabled = state.story === names.length;
    if (now === null) {
      return null;
    }
    if (now.element.parentNode !== body) {
      fill(body, now.element);
    }
    fit();
    return now.show();
  };
  onState((changed) => {
    if (changed.has("story") && state.tab === "story") {
      show();
      scrollTo(0, 0);
      shown.title.focus({ preventScroll: true }); // screen readers then read the new screen
    } else if (changed.has("tab") && state.tab !== "story") {
      show();
    }
  });
  document.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1 }[event.key];
    if (by === undefined || state.tab !== "story" || event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey ||
        event.target.closest?.("input, select, textarea, [role=tablist], [role=slider], dialog")) {
      return;
    }
    setState({ story: state.story + by });
    event.preventDefault();
  });
  return { show };
}
