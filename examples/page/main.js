// The page: its frame, and the sections in tabs.

import { h, fill } from "./dom.js";
import { t, setLanguage, LANGUAGES } from "./strings.js";
import { state, setState, onState, beginState } from "./state.js";
import { beginRun, run } from "./run.js";
import * as classroom from "./sections/class.js";
import * as training from "./sections/training.js";
import * as gradients from "./sections/gradients.js";
import * as breaks from "./sections/breaks.js";
import * as own from "./sections/own.js";

const sections = { class: classroom, training, gradients, breaks, own };

function tabs(panels) {
  const buttons = Object.keys(sections).map((name) =>
    h("button", { role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => setState({ tab: name }) },
      t(`tab.${name}`)));
  const show = () => {
    buttons.forEach((button, i) => {
      const chosen = Object.keys(sections)[i] === state.tab;
      button.setAttribute("aria-selected", chosen);
      button.tabIndex = chosen ? 0 : -1;
      panels[i].root.hidden = !chosen;
      if (chosen) {
        panels[i].section.show();
      }
    });
  };
  onState((changed) => changed.has("tab") && show());
  return { element: h("div", { role: "tablist" }, buttons), show };
}

async function begin() {
  beginState();
  const browser = navigator.language.slice(0, 2);
  setLanguage(state.lang || (browser in LANGUAGES ? browser : "en"));
  await beginRun();
  const panels = Object.entries(sections).map(([name, section]) => {
    const root = h("section", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}` });
    return { root, section: section.begin(root) };
  });
  const bar = tabs(panels);
  document.title = t("title");
  fill(document.getElementById("app"), h("header", {}, h("h1", {}, t("title")), bar.element),
    h("main", {}, panels.map(({ root }) => root)));
  bar.show();
  window.page = { run, state, setState }; // for tests and the curious
}

begin().catch((error) => {
  document.getElementById("app").textContent = error.message;
});
