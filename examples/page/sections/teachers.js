// "For teachers": a lesson of ten minutes, with links that set the page, and what else it can do in class.

import { h } from "../dom.js";
import { t } from "../strings.js";
import { linkTo, onState } from "../state.js";

const TUTORIAL = { tab: "class", example: "tutorial" };
const UNSEEN = "the pizza came out of the oven and it";
const TWO = "the cat was found near the dog and it";

// The minutes at which each part ends, and the states to show in it.
const lesson = [
  { name: "question", until: 1, show: [] },
  { name: "parts", until: 3, show: [TUTORIAL, { ...TUTORIAL, line: 1 }, { ...TUTORIAL, line: 2 }] },
  { name: "percents", until: 5, show: [{ ...TUTORIAL, line: 3 }, { ...TUTORIAL, line: 4 }, { ...TUTORIAL, line: 5 }] },
  { name: "result", until: 6, show: [{ ...TUTORIAL, line: 6 }] },
  { name: "training", until: 8, show: [{ tab: "own", sentence: UNSEEN }, { tab: "training" },
    { tab: "own", sentence: UNSEEN, step: 2000 }] },
  { name: "limits", until: 9, show: [{ tab: "own", sentence: TWO, step: 500 }, { tab: "own", sentence: TWO, step: 2000 }] },
  { name: "breaks", until: 10, show: [{ tab: "breaks", broken: "mask_inverted" }] },
];

const stations = lesson.flatMap(({ show }) => show);
let at = -1; // the station visited last

/** Goes to the next station of the lesson (by 1) or the one before (by -1). */
export function station(by) {
  at = Math.max(0, Math.min(stations.length - 1, at + by));
  location.hash = linkTo(stations[at]);
}

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export function begin(root) {
  const links = []; // {element, to}
  const link = (to, text) => {
    const element = h("a", { onclick: () => (at = stations.indexOf(to)) }, text);
    links.push({ element, to });
    return element;
  };
  const answer = (name) => h("details", {}, h("summary", {}, t("teachers.answer")), h("p", {}, t(`teachers.${name}.answer`)));
  const rows = lesson.map(({ name, until, show }, i) => h("tr", {},
    h("th", { scope: "row" }, t("teachers.minutes", i > 0 ? lesson[i - 1].until : 0, until)),
    h("td", {}, h("h3", {}, t(`teachers.${name}`)), h("p", {}, t(`teachers.${name}.do`)),
      show.length > 0 ? h("p", {}, t("teachers.show"), " ", show.flatMap((to, n) =>
        [n > 0 ? " · " : "", link(to, t(`teachers.${name}.show.${n + 1}`))])) : null,
      h("p", {}, h("b", {}, t("teachers.ask")), " ", t(`teachers.${name}.ask`)),
      answer(name))));
  root.append(h("h2", {}, t("teachers.before")),
    h("ul", {}, ["file", "keys", "links", "print", "honest"].map((name) => h("li", {}, t(`teachers.before.${name}`)))),
    h("h2", {}, t("teachers.lesson")), h("p", {}, t("teachers.lesson.about")),
    h("table.lesson", {}, h("tbody", {}, rows)),
    h("h2", {}, t("teachers.more")),
    h("ul", {}, ["gradients", "heads", "own", "unseen", "peak"].map((name) => h("li", {}, t(`teachers.more.${name}`), answer(`more.${name}`))),
      h("li", {}, t("teachers.more.files"))));
  const follow = () => links.forEach(({ element, to }) => element.setAttribute("href", linkTo(to)));
  onState(follow);
  follow();
  return { show: follow };
}
