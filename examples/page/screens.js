// Screens, each with a text, a picture and one thing to do: of "The story".

import { h, svg, fill } from "./dom.js";
import { t } from "./strings.js";
import { state, setState, onState, linkTo } from "./state.js";
import { rich } from "./sections/story/words.js";

/** A screen: its title and text, and the picture of its module, which is told when it is seen and when it is not. */
function page(name, module, code) {
  const title = h("h2", { tabindex: -1 }, t(`story.${name}`));
  const link = code === undefined ? null : h("a.story-code", { href: linkTo(code) }, t("story.nav.code"));
  const text = h("p.story-words"), action = h("p.story-action", { role: "status" });
  const tell = (key, ...values) => fill(text, rich(t(`story.${name}.${key}`, ...values)));
  const ask = (key, ...values) => fill(action, key === "" ? "" : rich(t(`story.${name}.${key}`, ...values)));
  const problem = h("p.error", { role: "alert" });
  tell("text");
  const screen = module.begin({ tell, ask });
  const element = h("article.story-page", { "data-screen": name }, h("div.story-text", {}, h("div.story-title", {}, title, link), text, action),
    problem, screen.element);
  const show = () => Promise.resolve(screen.show()).then(() => (problem.textContent = ""), (error) =>
    (problem.textContent = error.message));
  return { element, title, show, hide: () => screen.hide?.(), onkey: screen.onkey ?? (() => false) };
}

/** Builds the screens in root once. modules: of the screens, by name, in their order; state.story is the number of the one
 * that is seen, from 1; code: what a link to the code of a screen shows. A module's onkey(by) takes the arrow keys for itself if it returns true. Returns
 * {show()}, called whenever the tab is opened. */
export function screens(root, modules, code) {
  const names = Object.keys(modules), pages = {};
  const goTo = (number) => setState({ story: number });
  const body = h("div.story-body");
  const dots = names.map((name, i) => h("button.story-dot", { type: "button", onclick: () => goTo(i + 1),
    title: t(`story.${name}`), "aria-label": t("story.nav.screen", i + 1, t(`story.${name}`)) },
  h("span", {}, i + 1)));
  const step = (by, label, path) => h("button.story-step", { type: "button", "aria-label": t(label),
    onclick: () => goTo(state.story + by) },
  svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: path })), h("span", {}, t(label)));
  const previous = step(-1, "story.nav.back", "M15 4 7 12l8 8"), next = step(1, "story.nav.next", "M9 4l8 8-8 8");
  root.classList.add("story");
  root.append(body, h("nav.story-nav", { "aria-label": t("story.nav.screens") }, previous, h("div.story-dots", {},
    dots), next));

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
    see(pages[names[at]] ??= page(names[at], modules[names[at]], code[names[at]] && { story: at + 1, ...code[names[at]] }));
    dots.forEach((dot, i) =>
      (i === at ? dot.setAttribute("aria-current", "step") : dot.removeAttribute("aria-current")));
    previous.disabled = at === 0;
    next.disabled = at === names.length - 1;
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
    if (by === undefined || state.tab !== "story" || event.defaultPrevented || event.ctrlKey || event.altKey ||
        event.metaKey || event.target.closest?.("input, select, textarea, [role=slider], dialog")) {
      return;
    }
    if (event.key.startsWith("Page") || !shown.onkey(by)) {
      goTo(state.story + by);
    }
    event.preventDefault();
  });
  return { show };
}
