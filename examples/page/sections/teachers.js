// "For teachers": plans of 10, 30 and 45 minutes, with links that set the page, and what else it can do in class.

import { h, fill } from "../dom.js";
import { t } from "../strings.js";
import { state, setState, linkTo, onState } from "../state.js";

const TUTORIAL = { tab: "class", example: "tutorial" };
const UNSEEN = "the pizza came out of the oven and it";
const TWO = "the cat was found near the dog and it";

// What each part can show: the states of its stations, by name.
const stationsOf = {
  question: {},
  parts: { q: TUTORIAL, k: { ...TUTORIAL, line: 1 }, v: { ...TUTORIAL, line: 2 } },
  percents: { sims: { ...TUTORIAL, line: 3 }, scaled: { ...TUTORIAL, line: 4 }, percents: { ...TUTORIAL, line: 5 } },
  result: { sum: { ...TUTORIAL, line: 6 } },
  learns: { untrained: { tab: "own", sentence: UNSEEN } },
  training: { before: { tab: "own", sentence: UNSEEN }, training: { tab: "training" }, after: { tab: "own", sentence: UNSEEN, step: 2000 } },
  limits: { early: { tab: "own", sentence: TWO, step: 500 }, late: { tab: "own", sentence: TWO, step: 2000 } },
  breaks: { inverted: { tab: "breaks", broken: "mask_inverted" } },
};

// The parts of each plan: name, minutes, names of the stations.
const plans = {
  10: [["question", 2], ["learns", 3, "untrained"], ["shares", 3, "percents"], ["limits", 2, "early", "late"]],
  30: [["question", 2], ["parts", 6, "q", "k", "v"], ["percents", 6, "sims", "scaled", "percents"], ["result", 4, "sum"],
    ["training", 7, "before", "training", "after"], ["limits", 5, "early", "late"]],
  45: [["question", 3], ["parts", 8, "q", "k", "v"], ["percents", 8, "sims", "scaled", "percents"], ["result", 5, "sum"],
    ["training", 8, "before", "training", "after"], ["limits", 6, "early", "late"], ["breaks", 7, "inverted"]],
};
stationsOf.shares = stationsOf.percents; // one table of these three, in the short plan

/** The parts of a plan: {name, from, until: minutes, show: [{name: of the station, to: its state}]}. */
function partsOf(plan) {
  let from = 0;
  return plans[plan].map(([name, minutes, ...names]) => {
    const part = { name, from, until: from + minutes, show: names.map((each) => ({ name: each, to: stationsOf[name][each] })) };
    from += minutes;
    return part;
  });
}

/** All stations of a plan in their order: {part, name, to}. */
export const stations = (plan = state.plan) => partsOf(plan).flatMap((part) => part.show.map((each) => ({ part, ...each })));

/** The text of a station's link. */
const titleOf = (name) => t(`teachers.show.${name}`);

let at = -1; // the station visited last

/** Goes to the next station of the chosen plan (by 1) or the one before (by -1). Returns a text that says which. */
export function station(by) {
  const all = stations();
  at = Math.max(0, Math.min(all.length - 1, at + by));
  const { part, name, to } = all[at];
  location.hash = linkTo(to);
  return t("teachers.station", at + 1, all.length, titleOf(name), part.from, part.until);
}

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export function begin(root) {
  const links = []; // {element, to}, of the shown plan
  const link = (to, index, text) => {
    const element = h("a", { onclick: () => (at = index) }, text);
    links.push({ element, to });
    return element;
  };
  const answer = (name) => h("details", {}, h("summary", {}, t("teachers.answer")), h("p", {}, t(`teachers.${name}.answer`)));
  const row = ({ name, from, until, show }, first) => h("tr", {},
    h("th", { scope: "row" }, t("teachers.minutes", from, until)),
    h("td", {}, h("h3", {}, t(`teachers.${name}`)), h("p", {}, t(`teachers.${name}.do`)),
      show.length > 0 ? h("p", {}, t("teachers.show"), " ", show.flatMap((each, i) =>
        [i > 0 ? " · " : "", `${first + i + 1} `, link(each.to, first + i, titleOf(each.name))])) : null,
      h("p", {}, h("b", {}, t("teachers.ask")), " ", t(`teachers.${name}.ask`)),
      answer(name)));
  const choices = Object.keys(plans).map((plan) => h("button", { type: "button", id: `plan-${plan}`,
    onclick: () => setState({ plan }) }, t("teachers.plan", plan)));
  const about = h("p"), rows = h("tbody");

  function showPlan() {
    const parts = partsOf(state.plan);
    let first = 0; // the number of the part's first station
    at = -1;
    links.length = 0;
    choices.forEach((button) => button.setAttribute("aria-pressed", button.id === `plan-${state.plan}`));
    fill(rows, parts.map((part) => {
      const element = row(part, first);
      first += part.show.length;
      return element;
    }));
    fill(about, t("teachers.lesson.about", first));
    follow();
  }
  const follow = () => links.forEach(({ element, to }) => element.setAttribute("href", linkTo(to)));

  root.append(h("h2", {}, t("teachers.lesson")),
    h("div.group", { role: "group", "aria-label": t("teachers.lesson") }, choices), about,
    h("table.lesson", {}, rows),
    h("h2", {}, t("teachers.before")),
    h("ul", {}, ["file", "keys", "links", "print", "honest"].map((name) => h("li", {}, t(`teachers.before.${name}`)))),
    h("h2", {}, t("teachers.more")),
    h("ul", {}, ["gradients", "heads", "own", "unseen", "peak"].map((name) => h("li", {}, t(`teachers.more.${name}`), answer(`more.${name}`))),
      h("li", {}, t("teachers.more.tasks")), h("li", {}, t("teachers.more.files"))));
  onState((changed) => (changed.has("plan") ? showPlan() : follow()));
  showPlan();
  return { show: follow };
}
