// "For teachers": a lesson of 30 minutes, with links that set the page, and what else it can do in class.

import { h } from "../dom.js";
import { t } from "../strings.js";
import { linkTo, onState } from "../state.js";

const TWO = { tab: "training", watch: "own", sentence: "the cat was found near the dog and it" };
const story = (number) => ({ tab: "story", story: number });

// The parts of the lesson: name, minutes, and the states of its stations, by name.
const LESSON = [
  ["question", 4, { it: story(1), looks: story(2) }],
  ["parts", 7, { rows: story(3), compare: story(4), weigh: story(5), mix: story(6) }],
  ["numbers", 6, { sims: { tab: "class", line: 3 }, percents: { tab: "class", line: 5 }, sum: { tab: "class", line: 6 } }],
  ["training", 7, { training: { tab: "training" }, after: { tab: "training", step: 2000 } }],
  ["limits", 4, { early: { ...TWO, step: 500 }, late: { ...TWO, step: 2000 } }],
  ["end", 2, { end: story(11) }],
];

/** All stations in their order: {part: {name, from, until: minutes}, name, to: the state}. */
export const stations = (() => {
  let from = 0;
  return LESSON.flatMap(([name, minutes, show]) => {
    const part = { name, from, until: from + minutes };
    from += minutes;
    return Object.entries(show).map(([station, to]) => ({ part, name: station, to }));
  });
})();

/** The text of a station's link. */
const titleOf = (name) => t(`teachers.show.${name}`);

let at = -1; // the station visited last

/** Goes to the next station of the lesson (by 1) or the one before (by -1). Returns a text that says which. */
export function station(by) {
  at = Math.max(0, Math.min(stations.length - 1, at + by));
  const { part, name, to } = stations[at];
  location.hash = linkTo(to);
  return t("teachers.station", at + 1, stations.length, titleOf(name), part.from, part.until);
}

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export function begin(root) {
  const links = stations.map(({ name }, i) => h("a", { onclick: () => (at = i) }, titleOf(name)));
  const answer = (name) => h("details", {}, h("summary", {}, t("teachers.answer")), h("p", {}, t(`teachers.${name}.answer`)));
  const row = ([name]) => {
    const own = stations.map(({ part }, i) => (part.name === name ? i : -1)).filter((i) => i >= 0), { part } = stations[own[0]];
    return h("tr", {}, h("th", { scope: "row" }, t("teachers.minutes", part.from, part.until)),
      h("td", {}, h("h3", {}, t(`teachers.${name}`)), h("p", {}, t(`teachers.${name}.do`)),
        h("p", {}, t("teachers.show"), " ", own.flatMap((i) => [i > own[0] ? " · " : "", `${i + 1} `, links[i]])),
        h("p", {}, h("b", {}, t("teachers.ask")), " ", t(`teachers.${name}.ask`)), answer(name)));
  };
  const follow = () => links.forEach((link, i) => link.setAttribute("href", linkTo(stations[i].to)));

  root.append(h("h2", {}, t("teachers.lesson")), h("p", {}, t("teachers.lesson.about", stations.length)),
    h("table.lesson", {}, h("tbody", {}, LESSON.map(row))),
    h("h2", {}, t("teachers.before")),
    h("ul", {}, ["file", "keys", "links", "print", "honest"].map((name) => h("li", {}, t(`teachers.before.${name}`)))),
    h("h2", {}, t("teachers.more")),
    h("ul", {}, ["breaks", "heads", "unseen"].map((name) => h("li", {}, t(`teachers.more.${name}`), answer(`more.${name}`))),
      h("li", {}, t("teachers.more.tasks"))));
  onState(follow);
  follow();
  return { show: follow };
}
