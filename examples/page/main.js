// The page: its frame, and the sections in tabs.

import { h, svg, fill } from "./dom.js";
import { t, setLanguage, allStrings, LANGUAGES } from "./strings.js";
import { state, setState, onState, beginState } from "./state.js";
import { beginRun, run, onRun } from "./run.js";
import { legend, number } from "./matrix.js";
import { beginEmbed } from "./embed.js";
import * as story from "./sections/story.js";
import * as classroom from "./sections/class.js";
import * as training from "./sections/training.js";
import * as breaks from "./sections/breaks.js";
import * as gpt from "./sections/gpt.js";
import * as quiz from "./sections/quiz.js";
import * as teachers from "./sections/teachers.js";

const sections = { story, class: classroom, training, breaks, gpt, quiz, teachers };
const names = Object.keys(sections);
const app = document.getElementById("app");

// How "Line by line" opens: the trained model, on what *it* takes from *pizza*.
const OPENING = { example: "pizza", step: 500, line: 8, cell: "attention_percents:8:1" };

// A module with one SIMD instruction: a function that drops a v128 constant.
const SIMD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 23, 1, 21, 0, 253, 12,
  ...Array(16).fill(0), 26, 11];

/** What the browser lacks, or null. */
function missing() {
  return typeof WebAssembly === "undefined" ? "WebAssembly"
    : typeof DecompressionStream === "undefined" ? "DecompressionStream"
    : !WebAssembly.validate(Uint8Array.from(SIMD)) ? "WebAssembly SIMD" : null;
}

// ---- the parts of the page ----

/** Shows a new part from its top, the lesson from where it was left; the Tab key then reaches its first control. */
function arrive(root, left) {
  scrollTo(0, left);
  const { activeElement } = document;
  if (activeElement === document.body || !activeElement.checkVisibility()) {
    root.focus({ preventScroll: true });
  }
}

/** The story, and a menu of the other parts. Returns {element, show()}. */
function partsBar(panels) {
  const opened = () => panels[names.indexOf("class")].section.view !== undefined;
  const buttons = names.map((name) => h("button", { type: "button", id: `tab-${name}`, onclick: () => {
    deeper.close();
    setState({ tab: name, ...(name === "class" && !opened() ? OPENING : {}) });
  } }, t(`tab.${name}`)));
  const [home, ...others] = buttons, split = names.indexOf("quiz") - 1;
  const said = h("span");
  const deeper = disclosure("deeper", t("deeper.about"), [h("span", {}, h("span.deeper-label", {}, t("deeper")), said), " ▾"],
    h("div.deeper-parts", {}, others.slice(0, split)), h("div.deeper-parts", {}, others.slice(split)));
  const show = () => {
    let drawn = null;
    buttons.forEach((button, i) => {
      const chosen = names[i] === state.tab;
      button.toggleAttribute("data-chosen", chosen);
      chosen ? button.setAttribute("aria-current", "page") : button.removeAttribute("aria-current");
      panels[i].root.hidden = !chosen;
      drawn = chosen ? panels[i].section.show() : drawn;
    });
    deeper.button.dataset.at = state.tab;
    fill(said, state.tab === "story" ? null : [h("span.deeper-label", {}, ": "), t(`tab.${state.tab}`)]);
    return drawn;
  };
  let lesson = 0, before = state.tab; // where the page with the lesson was scrolled to
  onState((changed) => {
    if (changed.has("tab")) {
      lesson = before === "teachers" ? scrollY : lesson;
      before = state.tab;
      show();
      arrive(panels[names.indexOf(state.tab)].root, state.tab === "teachers" ? lesson : 0);
    }
  });
  return { element: h("nav.parts", { "aria-label": t("tabs") }, home, deeper.element), show };
}

// ---- dialogs ----

/** A window over the page. Returns {element, open()}; closing it leads back to where the focus was. */
function dialog(title, ...content) {
  const element = h("dialog", { "aria-label": title }, h("h2", { tabindex: -1, autofocus: true }, title), ...content,
    h("form", { method: "dialog" }, h("button.primary", {}, t("dialog.close"))));
  document.body.append(element);
  let before = null;
  element.addEventListener("close", () => before?.focus({ preventScroll: true }));
  return { element, open() {
    before = document.activeElement;
    element.showModal();
  } };
}

/** Where docs/questions.md is: beside the page of a site, or in the checkout that built the page. null: not known. */
function questionsPage() {
  return location.pathname.endsWith("/page/attention.html") ? "../../docs/questions.md"
    : location.protocol.startsWith("http") ? "docs/questions.html" : null;
}

function helpDialog() {
  const questions = questionsPage();
  const ofLines = { matrix: ["M"] }; // of "Line by line"
  const keys = {
    step: ["←", "→"], cell: ["←", "→", "↑", "↓"], press: ["Enter"], tab: names.map((_, i) => String((i + 1) % 10)),
    present: ["P"], station: ["N", "B"],
    escape: ["Esc"], help: ["?"],
  };
  const words = ["token", "encoding", "feature", "weight", "query", "key", "value", "dot", "transpose", "softmax", "e", "dim",
    "mask", "head", "residual", "layer_norm", "logits", "loss", "nats", "gradient", "zero_grad", "step", "seed", "heed"];
  return dialog(t("help"),
    h("h3", {}, t("help.keys")),
    h("table.keys", {}, h("tbody", {}, Object.entries({ ...ofLines, ...keys }).map(([name, caps]) => h("tr", {},
      h("th", { scope: "row" }, caps.map((cap) => h("kbd", {}, cap))), h("td", {}, t(`help.key.${name}`)))))),
    h("h3", {}, t("help.colours")), legend(["value", "percent", "mask"]),
    h("h3", {}, t("help.numbers")), h("p", {}, t("help.numbers.are")),
    h("h3", {}, t("help.questions")),
    h("p", {}, t("help.questions.are"), " ", questions === null ? h("code", {}, "docs/questions.md")
      : h("a", { href: questions, target: "_blank" }, "docs/questions.md")),
    h("h3", {}, t("help.words")),
    h("dl", {}, words.flatMap((word) => [h("dt", {}, t(`help.${word}`)), h("dd", {}, t(`help.${word}.is`))])));
}

/** Returns a function that copies the link, or shows it where the browser does not allow that. */
function linkCopier() {
  const field = h("input", { type: "text", readonly: true, "aria-label": t("link") });
  const { open } = dialog(t("link"), h("p", {}, t("link.by_hand")), field);
  return async (say) => {
    try {
      await navigator.clipboard.writeText(location.href);
      say(t("link.copied"));
    } catch {
      field.value = location.href;
      open();
      field.focus();
      field.select();
    }
  };
}

/** Opens a link of somebody else's, whose file is at another place: only the part from # on counts. */
function linkDialog() {
  const field = h("input", { type: "text", "aria-label": t("link.paste"), placeholder: "#tab=training&step=500" });
  const { element, open } = dialog(t("link.open"), h("p", {}, t("link.paste")),
    h("form.toolbar", { onsubmit: (event) => {
      event.preventDefault();
      const [, part] = field.value.trim().match(/#?([^#]*)$/);
      element.close();
      location.hash = part;
    } }, field, h("button.primary", {}, t("link.go"))));
  return open;
}

// ---- the header ----

/** A button `NAME-button` that opens a box of controls below it; Escape, a click elsewhere and leaving it close it. */
function disclosure(name, label, sign, ...content) {
  const box = h("div.menu-box", { id: name, role: "group", "aria-label": label, hidden: true }, ...content);
  const button = h("button", { type: "button", id: `${name}-button`, "aria-label": name === "menu" ? label : null, title: label, "aria-expanded": false,
    "aria-controls": name, onclick: () => open(box.hidden) }, sign);
  const items = () => [...box.querySelectorAll("select, button, input")];
  const open = (is) => {
    box.hidden = !is;
    button.setAttribute("aria-expanded", is);
  };
  const element = h("div.menu", {
    onfocusout: (event) => event.relatedTarget !== null && !element.contains(event.relatedTarget) && open(false),
    onkeydown: (event) => {
      const at = items().indexOf(event.target), by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape" && !box.hidden) {
        open(false);
        button.focus();
      } else if (by !== undefined && event.target.tagName === "BUTTON") {
        open(true);
        items().at(at < 0 ? Math.min(0, by) : (at + by) % items().length).focus();
      } else {
        return;
      }
      event.preventDefault(); // and the page's own keys do nothing
      event.stopPropagation();
    },
  }, button, box);
  document.addEventListener("pointerdown", (event) => !element.contains(event.target) && open(false));
  return { element, close: () => open(false), button };
}

/** A screen on its stand. */
const screenIcon = () => svg("svg", { class: "icon", viewBox: "0 0 20 20", "aria-hidden": "true" },
  svg("path", { d: "M2 3h16v10H2zM10 13v4M6 17h8" }));

function header(bar, help) {
  const { dataset } = document.documentElement;
  const said = h("span.said", { role: "status" });
  const copyLink = linkCopier(), openLink = linkDialog();
  const present = h("button.present", { type: "button", "aria-keyshortcuts": "p", "aria-label": t("present"), title: t("present"),
    onclick: () => setState({ present: !state.present }) }, h("span.wide-only", {}, t("present")), h("span.narrow-only", {}, screenIcon()));
  const follow = () => {
    document.documentElement.toggleAttribute("data-present", state.present);
    state.theme === "" ? delete dataset.theme : (dataset.theme = state.theme);
    present.setAttribute("aria-pressed", state.present);
  };
  follow();
  onState(follow);
  let timer = 0;
  const say = (text) => {
    said.textContent = text;
    clearTimeout(timer);
    timer = setTimeout(() => (said.textContent = ""), 4000);
  };
  const themes = { "": t("theme.system"), light: t("theme.light"), dark: t("theme.dark") };
  const choice = (name, options, chosen, onchoose) => h("label", {}, h("span", {}, t(name)), " ",
    h("select", { id: `menu-${name}`, onchange: (event) => onchoose(event.target.value) },
      Object.entries(options).map(([value, text]) => h("option", { value, selected: value === chosen }, text))));
  const action = (name, act, keys = null) => h("button", { type: "button", id: `menu-${name.replace(".", "-")}`, "aria-keyshortcuts": keys,
    onclick: () => {
      menu.button.focus(); // where a dialog leads back to
      menu.close();
      act();
    } }, t(name));
  const letters = h("input", { type: "checkbox", id: "menu-letters", checked: state.letters, onchange: () => setState({ letters: letters.checked }) });
  const menu = disclosure("menu", t("menu"), "☰",
    choice("language", LANGUAGES, document.documentElement.lang, (lang) => setState({ lang })),
    choice("theme", themes, state.theme, (theme) => setState({ theme })),
    h("label", {}, t("letters"), letters),
    action("link.copy", () => copyLink(say)), action("link.open", openLink), action("print", () => print()),
    action("help", help.open, "?"));
  const element = h("header", {}, h("h1", {}, h("span.wide-only", {}, t("title")), h("span.narrow-only", {}, t("title.short"))),
    bar, present, menu.element, said);
  return { element, say };
}

/** Says which step the run is at while it trains towards the one that is asked for: numbers below are of that step. */
function underway() {
  const element = h("p.underway", { role: "status", hidden: true });
  onRun(() => {
    element.hidden = run.target === null || state.tab === "story";
    element.textContent = element.hidden ? "" : t("underway", run.step, run.target);
  });
  return element;
}

/** The keys of the whole page. */
function listenToKeys(help, say) {
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input:not([type=checkbox], [type=radio], [type=range]), textarea, select");
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing !== null ||
        document.querySelector("dialog[open]") !== null || (event.key.length === 1 && !state.letters)) {
      return;
    }
    const tab = /^\d$/.test(event.key) ? names[(Number(event.key) + 9) % 10] : undefined;
    if (event.key === "?") {
      help.open();
    } else if (event.key.toLowerCase() === "p") {
      setState({ present: !state.present });
    } else if (event.key.toLowerCase() === "n" || event.key.toLowerCase() === "b") {
      say(teachers.station(event.key.toLowerCase() === "n" ? 1 : -1));
    } else if (event.key === "Escape") {
      setState({ present: false });
    } else if (tab !== undefined) {
      setState({ tab });
    }
  });
}

// ---- begin ----

async function begin() {
  beginState();
  history.scrollRestoration = "manual";
  const browser = navigator.language.slice(0, 2);
  setLanguage(state.lang || (browser in LANGUAGES ? browser : "en"));
  document.title = t("title");
  const lacks = missing();
  if (lacks !== null) {
    throw new Error(t("missing", lacks));
  }
  fill(app, h("p", { role: "status" }, t("loading")));
  const running = beginRun();
  if (state.tab !== "story") {
    await running;
  }
  const panels = Object.entries(sections).map(([name, section]) => {
    const root = h("section.part-panel", { tabindex: -1, id: `panel-${name}`, "aria-labelledby": `tab-${name}` });
    const panel = { root, section: { show } };
    let begun = null; // when its tab is first opened; the story needs no run
    async function show() {
      await (name === "story" ? null : running);
      if (begun === null) {
        begun = section.begin(root);
        panel.section = { ...begun, show };
      }
      return begun.show();
    }
    return panel;
  });
  const help = helpDialog(), bar = partsBar(panels);
  const { element, say } = header(bar.element, help);
  const main = h("main", { tabindex: -1 }, panels.map(({ root }) => root));
  const skip = h("a.skip", { href: "#", onclick: (event) => {
    event.preventDefault();
    main.focus();
  } }, t("skip"));
  fill(app, skip, element, underway(), main);
  beginEmbed(app, bar.show());
  listenToKeys(help, say);
  await running;
  // Every text is written once, in one language. The new page repeats the steps of the run.
  onState((changed) => changed.has("lang") && location.reload());
  window.page = { run, state, setState, sections, panels, number, allStrings }; // for tests and the curious
}

begin().catch((error) => {
  fill(app, h("h1", {}, t("title")), h("p", { role: "alert" }, t("failed")), h("p", {}, error.message));
});
