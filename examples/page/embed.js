// #embed=...: one picture of the page without controls, for slides and other pages. What leads to it is marked, and
// page.css hides everything else.
//   embed=line:6               the matrices of a line, numbered from 0 as in #line=6
//   embed=matrix:sims          one matrix, of the line or else of the first line that makes it (sections/class.js)
//   embed=story:3              a screen of the story
//   embed=picture:1            the first picture of the tab: #tab=training&step=500&embed=picture:1

import { h } from "./dom.js";
import { t } from "./strings.js";
import { state, onState } from "./state.js";

/** Selectors of what a line, or a matrix, is drawn in. */
const IN_CLASS = {
  line: () => [".formula-text", ".equation"],
  matrix: (name) => [`.equation .card[data-name="${CSS.escape(name)}"]`],
};

/** What to show: nothing before the section has drawn it, or if there is no such picture. */
function targets() {
  const [kind, name] = state.embed.split(":");
  if (kind === "story") {
    return [...document.querySelectorAll(".story-page")];
  }
  if (kind === "picture") {
    const found = document.querySelectorAll(`#panel-${state.tab} figure`)[Number(name) - 1];
    return found === undefined ? [] : [found];
  }
  return IN_CLASS[kind](name).flatMap((selector) => [...document.querySelectorAll(`#panel-class ${selector}`)]);
}

function mark(root) {
  root.querySelectorAll("[data-way], [data-shown]").forEach((element) =>
    ["data-way", "data-shown"].forEach((name) => element.removeAttribute(name)));
  targets().forEach((target) => {
    target.setAttribute("data-shown", "");
    for (let element = target.parentElement; root.contains(element); element = element.parentElement) {
      element.setAttribute("data-way", "");
    }
  });
}

/** Shows only the picture that the URL asks for, or a sentence that there is none. root: of the page; drawn: a promise
 * of its first tab. */
export function beginEmbed(root, drawn) {
  const none = h("p.embed-none", { role: "status" });
  root.append(none);
  let ready = false; // before, a picture may still come
  const follow = () => {
    document.documentElement.toggleAttribute("data-embed", state.embed !== "");
    if (state.embed !== "") {
      none.textContent = ready ? t("embed.none", state.embed) : "";
      mark(root);
      dispatchEvent(new Event("resize")); // what is drawn has the whole window
    }
  };
  // Tables and charts are replaced when their numbers change.
  new MutationObserver(() => state.embed !== "" && mark(root)).observe(root, { childList: true, subtree: true });
  onState((changed) => changed.has("embed") && follow());
  follow();
  const settle = () => {
    ready = true;
    follow();
  };
  Promise.resolve(drawn).then(settle, settle);
}
