// #embed=...: one picture of the page without controls, for slides and other pages. What leads to it is marked, and
// page.css hides everything else.
//   embed=line:6               the matrices of a line, numbered from 0 as in #line=6
//   embed=matrix:sims          one matrix of the line
//   embed=picture:1            the first picture of the tab: #tab=training&step=500&embed=picture:1

import { state, onState } from "./state.js";

const FIRST = { line: () => [".formula-text", ".equation"], matrix: (name) => [`.equation .card[data-name="${CSS.escape(name)}"]`] };

/** What to show; before the section has drawn it, nothing. */
function targets() {
  const [kind, name] = state.embed.split(":");
  if (kind === "picture") {
    const found = document.querySelectorAll(`#panel-${state.tab} :is(figure, .chart)`)[Number(name) - 1];
    return found === undefined ? [] : [found];
  }
  return FIRST[kind](name).flatMap((selector) => [...document.querySelectorAll(`#panel-class ${selector}`)]);
}

function mark(root) {
  root.querySelectorAll("[data-way], [data-shown]").forEach((element) =>
    ["data-way", "data-shown"].forEach((name) => element.removeAttribute(name)));
  targets().forEach((target) => {
    target.setAttribute("data-shown", "");
    for (let element = target.parentElement; element !== null && element !== root.parentElement; element = element.parentElement) {
      element.setAttribute("data-way", "");
    }
  });
}

/** The part of the state that an embedded picture needs: its tab and line. */
export function embedded(embed) {
  const [kind, name] = embed.split(":");
  return kind === "line" ? { tab: "class", line: name } : kind === "matrix" ? { tab: "class" } : {};
}

/** Shows only the picture that the URL asks for; root: of the page. */
export function beginEmbed(root) {
  const follow = () => {
    document.documentElement.toggleAttribute("data-embed", state.embed !== "");
    if (state.embed !== "") {
      mark(root);
      dispatchEvent(new Event("resize")); // what is drawn has the whole window
    }
  };
  // Tables and charts are made anew when their numbers change.
  new MutationObserver((changes) => state.embed !== "" && changes.some(({ type }) => type === "childList") && mark(root))
    .observe(root, { childList: true, subtree: true });
  onState((changed) => changed.has("embed") && follow());
  follow();
}
