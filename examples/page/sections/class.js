// The section "class": steps through the lines of the class, forward and backward, and shows the
// matrices that exist at each line.

import { h, fill } from "../dom.js";
import { t } from "../strings.js";
import { state, setState, onState } from "../state.js";
import { run, onRun, goTo, STEPS } from "../run.js";
import { chosenSentence, record, named, maskNote } from "../example.js";
import { codeLines, stepsOf } from "../lines.js";
import { listing } from "../listing.js";
import { matrix, legend, sizes, DENSE } from "../matrix.js";
import { panel } from "../panel.js";

const LIKELIEST = 10; // words shown of a row of logits
const COMPACT = 12;   // wider matrices show colours instead of numbers
const KINDS = { attention_percents: "percent", mask: "mask", targets: "id" };

/** Calls draw(), which replaces elements, and gives the focus back to the one that had it, or to its successor. */
function keepingFocus(root, draw) {
  const focused = root.contains(document.activeElement) ? document.activeElement : null;
  draw();
  if (focused !== null && document.activeElement !== focused) {
    const { key, index } = focused.dataset, table = focused.closest("table");
    const successor = focused.isConnected ? focused : root.querySelector(table === null ? `[data-key="${key}"]`
      : `table[data-tensor="${table.dataset.tensor}"] [data-index="${index}"]`);
    if (table !== null) {
      successor?.setAttribute("tabindex", "0");
    }
    successor?.focus({ preventScroll: true });
  }
}

/** Does a cell of one pass have the same place in another one? */
function sameCell(pass, other, { tensor }) {
  return pass.entries.length === other.entries.length &&
    pass.tensors[tensor].values.length === other.tensors[tensor].values.length;
}

/** Builds the section once; returns {show()}, called whenever its tab is opened. */
export function begin(root) {
  let shown = null;        // the pass with names (example.js)
  let steps = [], lines = [];
  let cards = new Map();   // name -> card
  let layers = new Map();  // name -> the layers that the reader chose
  let numbers = false, allWords = false, wholeProgram = false;
  let row = 0, rowOf = ""; // the row of logits that is shown, and the example that it belongs to
  const cShown = { true: false, false: innerWidth >= 900 }; // is the listing in C shown in presenter mode, and else?
  let key = "", pending = 0; // what `shown` was computed from; the number of the last request
  let hovered = null;      // the cell under the pointer or with the focus
  let from = null;         // the cell that the reader came to the panel from

  // ---- numbers: words for them, and the one that is explained ----

  /** Which matrix, layer, row and column an element of a tensor is. */
  const locate = (tensor, index) => {
    for (const card of cards.values()) {
      const layer = card.tensors.value === tensor ? "value" : card.tensors.gradient === tensor ? "gradient" : null;
      if (layer !== null && (layer === "value" || visible(card).gradient)) {
        const width = sizes(shown.pass.tensors[tensor].shape)[1];
        return { card, layer, r: Math.floor(index / width), c: index % width };
      }
    }
    return null;
  };
  const words = (tensor, index) => {
    const place = locate(tensor, index);
    if (place === null) {
      return null;
    }
    const { card, layer, r, c } = place, { rows, columns } = card.names;
    const kind = card.name.split("@")[0];
    const key = /^W_/.test(kind) ? "cell.weight" : `cell.${kind}`;
    const title = t(key, rows[r], columns[c]);
    return {
      title: layer === "gradient" ? t("cell.gradient", title) : title,
      place: [rows[r], columns[c]].filter((x) => x !== "").join(", "),
    };
  };
  const cellName = (tensor, index) => {
    const place = locate(tensor, index);
    return place === null ? `t${tensor}:${index}:0`
      : `${place.layer === "gradient" ? "grad." : ""}${place.card.name}:${place.r}:${place.c}`;
  };
  /** {tensor, index} of state.cell, or null. */
  const cellOf = (text) => {
    const [, gradient, name, r, c] = /^(grad\.)?([^:]+):(\d+):(\d+)$/.exec(text) ?? [];
    if (name === undefined || shown === null) {
      return null;
    }
    const unnamed = /^t(\d+)$/.exec(name);
    const found = unnamed !== null ? { tensor: Number(unnamed[1]) } : cards.has(name) ? shown.find(name) : null;
    const tensor = gradient === undefined ? found?.tensor : found?.gradient;
    const data = shown.pass.tensors[tensor];
    const index = unnamed !== null ? Number(r) : Number(r) * sizes(data?.shape ?? [])[1] + Number(c);
    return data !== undefined && index < data.values.length ? { tensor, index } : null;
  };

  const explained = panel({
    words,
    onvisit: (tensor, index) => setState({ cell: cellName(tensor, index) }),
    onclose: () => close(),
    gradients: () => state.phase === "backward",
  });
  const tables = () => [...cards.values()].flatMap((card) => Object.values(card.built));
  const explainCell = (cell) => {
    tables().forEach((table) => table.unmark());
    if (cell === null) {
      explained.clear();
      return;
    }
    const found = explained.show(shown.pass, cell.tensor, cell.index);
    const mark = (cells, className) => {
      const byTensor = new Map();
      cells.forEach(({ tensor, index }) => byTensor.set(tensor, [...(byTensor.get(tensor) ?? []), index]));
      tables().forEach((table) => byTensor.has(table.tensor) && table.mark(byTensor.get(table.tensor), className));
    };
    mark(found?.sources ?? [], "source");
    mark([cell], "result");
  };
  const explainNow = () => explainCell(hovered ?? cellOf(state.cell));
  const point = (tensor, index) => {
    hovered = { tensor, index };
    explainNow();
  };
  const leave = () => {
    if (state.cell !== "" && hovered !== null) {
      hovered = null;
      explainNow();
    }
  };
  const press = (tensor, index, byKey) => {
    hovered = null;
    const cell = cellName(tensor, index), again = state.cell === cell;
    setState({ cell: again ? "" : cell });
    if (byKey && !again) {
      from = document.activeElement;
      explained.focus();
    }
  };
  const close = () => {
    hovered = null;
    setState({ cell: "" });
    explainNow();
    from?.focus();
    from = null;
  };

  // ---- cards: one for each matrix, with its value and its gradient ----

  const likeliest = () => {
    const { tensor } = shown.find("logits"), { shape, values } = shown.pass.tensors[tensor], width = shape[1];
    const order = Array.from({ length: width }, (_, i) => i);
    const best = order.sort((a, b) => values[row * width + b] - values[row * width + a]).slice(0, LIKELIEST);
    const follows = shown.sentence.ids[row + 1];
    return follows === undefined || best.includes(follows) ? best : [...best, follows];
  };
  const picks = (name) => {
    const { ids } = shown.sentence;
    switch (name) {
      case "we": return { pickRows: allWords ? undefined : [...new Set(ids.slice(0, shown.tokens.length))] };
      case "logits": return { pickRows: allWords ? undefined : [row], pickColumns: allWords ? undefined : likeliest() };
      case "fc_layer.weight": return { pickRows: allWords ? undefined : likeliest() };
      case "fc_layer.bias": return { pickColumns: allWords ? undefined : likeliest() };
      default: return {};
    }
  };
  const buildTable = (card, layer) => {
    const tensor = card.tensors[layer], { shape, values } = shown.pass.tensors[tensor];
    const name = card.name.split("@")[0], title = card.title;
    const picked = picks(name);
    const width = picked.pickColumns?.length ?? sizes(shape)[1];
    const kind = layer === "gradient" ? layer : KINDS[name] ?? "value";
    const table = matrix({
      tensor, shape, values, kind, ...picked, ...card.names,
      name: layer === "gradient" ? t("class.gradient_title", title) : title,
      compact: width > COMPACT && !numbers && kind !== "id",
      digits: width > DENSE ? 2 : 4,
      text: name === "targets" ? (id) => run.language.words[id] : undefined,
      onpoint: point, onpress: press, onleave: leave,
    });
    table.tensor = tensor;
    card.built[layer] = table;
    card.places[layer].removeAttribute("style");
    fill(card.places[layer], table.element);
  };
  const cardOf = (name) => {
    if (!cards.has(name)) {
      const found = shown.find(name);
      const places = { value: h("div.layer"), gradient: h("div.layer") };
      const [base, of] = name.split("@");
      const card = {
        name, title: of === undefined ? base : `${base}, ${t("class.head")} ${of}`, names: shown.names(name),
        tensors: { value: found.tensor, gradient: found.gradient }, places, built: {},
      };
      card.fresh = h("span.fresh", { hidden: true }, t("class.new"));
      card.buttons = found.gradient < 0 ? {} : Object.fromEntries(["value", "gradient"].map((layer) => [layer,
        h("button", { type: "button", onclick: () => toggle(card, layer) }, t(`class.${layer}`))]));
      const group = h("span.group.small", { role: "group", "aria-label": t("class.layers", card.title) },
        Object.values(card.buttons));
      card.element = h("div.card", { "data-name": name },
        h("div.card-bar", {}, card.fresh, found.gradient < 0 ? null : group), places.value, places.gradient);
      cards.set(name, card);
    }
    return cards.get(name);
  };
  const toggle = (card, layer) => {
    const now = visible(card);
    const other = layer === "value" ? "gradient" : "value";
    const next = { ...now, [layer]: !now[layer] };
    layers.set(card.name, next.value || next.gradient ? next : { ...next, [other]: true });
    render();
  };

  /** The layers that are shown: those that the reader chose, else the value, and the gradient once backward has it. */
  const visible = (card) => layers.get(card.name) ??
    { value: true, gradient: card.tensors.gradient >= 0 && known(card.name) };
  /** Has backward computed this gradient? It has when all lines that read the matrix have been walked. */
  const known = (name) => state.phase === "backward" && firstReader(name) >= at();
  const firstReader = (name) => {
    const reads = steps.findIndex((line) => line.reads.some((read) => read === name || read.split("@")[0] === name));
    return reads < 0 ? steps.findIndex((line) => line.marks.includes(name)) : reads;
  };
  const at = () => Math.min(Math.max(0, Math.trunc(state.line)), Math.max(0, steps.length - 1));

  /** Puts a card up to date; tables that do not exist yet are built now, or later, when they come into view. */
  const update = (card, { fresh, later }) => {
    const now = visible(card);
    card.fresh.hidden = fresh === null || !now[fresh];
    for (const layer of ["value", "gradient"]) {
      card.places[layer].hidden = !now[layer];
      card.buttons[layer]?.setAttribute("aria-pressed", now[layer]);
      if (now[layer] && card.built[layer] === undefined) {
        later ? reserve(card, layer) : buildTable(card, layer);
      }
      card.built[layer]?.element.classList.toggle("changed", fresh === layer && now[layer]);
    }
    return card.element;
  };
  /** Keeps about as much space as the table will need. */
  const reserve = (card, layer) => {
    const [height, width] = sizes(shown.pass.tensors[card.tensors[layer]].shape);
    const compact = width > COMPACT && !numbers;
    const rows = Math.min(height, 32), place = card.places[layer].style;
    place.minHeight = `${2.5 + rows * (compact ? 0.9 : 1.6)}rem`;
    place.minWidth = `min(100%, ${5 + width * (compact ? 0.56 : 3)}rem)`;
  };
  const buildMissing = (card) => ["value", "gradient"].forEach((layer) =>
    visible(card)[layer] && card.built[layer] === undefined && buildTable(card, layer));
  const seen = new IntersectionObserver((entries) => {
    const missing = entries.filter((entry) => entry.isIntersecting)
      .map((entry) => cards.get(entry.target.dataset.name));
    missing.forEach((card) => card !== undefined && buildMissing(card));
    if (missing.length > 0) {
      explainNow();
    }
  }, { rootMargin: "100px" });
  addEventListener("beforeprint", () => before.isConnected && [...before.children].forEach((element) =>
    buildMissing(cards.get(element.dataset.name))));

  // ---- what is shown at the current line ----

  /** Goes to a line. The explanation of a number ends, as it belongs to the line before. */
  const goToLine = (changes) => {
    hovered = null;
    setState({ ...changes, cell: "" });
  };
  const code = listing((step) => goToLine({ line: step }));
  const about = h("p.about"), place = h("strong.place", { "aria-live": "polite" });
  const sentence = h("p.sentence", { "aria-live": "polite" }), partial = h("p.note");
  const direction = h("p.note.not-presented", {}, t("class.direction")), signs = h("p.note.not-presented");
  const equation = h("div.equation"), before = h("div.cards"), beforeTitle = h("h2.not-presented", {}, t("class.before"));
  const choices = h("span.toolbar"), more = h("div.toolbar.not-presented");
  const otherMask = h("p.note"), printedPlace = h("h2.printed");
  const colours = h("div");
  const problem = h("p.error", { role: "alert" });

  const symbol = (text) => {
    const d = text.includes("√d") ? shown.pass.tensors[shown.find("k").tensor].shape[1] : 0;
    return h("span.symbol", {}, text.slice(1).replace("√d", `√${d}`));
  };
  /** Choices for large matrices. */
  const drawMore = (line) => {
    const names = [...line.marks, ...line.reads];
    const logits = ["logits", "fc_layer.weight", "fc_layer.bias"].some((name) => names.includes(name));
    const checkbox = (key, checked, onchange) => h("label", {},
      h("input", { type: "checkbox", "data-key": key, checked, onchange: (event) => {
        onchange(event.target.checked);
        rebuild();
      } }), t(`class.${key}`));
    const rows = h("select", { "data-key": "row", onchange: (event) => {
      row = Number(event.target.value);
      rebuild();
    } }, shown.tokens.map((word, i) => h("option", { value: i, selected: i === row }, word)));
    fill(more,
      checkbox("numbers", numbers, (checked) => (numbers = checked)),
      logits || names.includes("we") ? checkbox("all_words", allWords, (checked) => (allWords = checked)) : null,
      logits && !allWords ? [h("label", {}, t("class.row_of"), rows), h("span.faint", {}, t("class.likeliest"))] : null);
    more.hidden = state.example === "tutorial";
  };

  const render = () => {
    if (shown === null) {
      return;
    }
    keepingFocus(root, draw);
    explainNow();
    requestAnimationFrame(() => { // once the layout is known
      showC(cShown[state.present]);
    });
  };
  /** In presenter mode, the matrices of the line become as large as the window allows: all of them together, or, where
   * these do not fit, each alone. */
  const fit = () => {
    const zoom = (factor) => equation.style.setProperty("--zoom", factor);
    zoom(1);
    if (!state.present || stage.clientWidth === 0) {
      return;
    }
    const most = innerHeight - (equation.getBoundingClientRect().top + scrollY) - 8;
    const boxes = [...equation.querySelectorAll(".matrix-box")];
    const isWhole = () => boxes.every((box) => box.scrollWidth <= box.clientWidth);
    const together = () => equation.offsetHeight <= most && isWhole();
    const alone = () => [...equation.children].every((term) => term.offsetHeight <= most) && isWhole();
    zoom(0.9);
    const fits = together() ? together : alone;
    let [low, high] = fits === together ? [0.9, 3] : [1, 2];
    for (let i = 0; i < 6; i++) {
      const middle = (low + high) / 2;
      zoom(middle);
      fits() ? (low = middle) : (high = middle);
    }
    zoom(low);
  };
  addEventListener("resize", () => state.present && shown !== null && fit());
  const draw = () => {
    const index = at(), line = steps[index], backward = state.phase === "backward";
    code.mark(index);
    fill(place, t("class.place", index + 1, steps.length, t(`class.${state.phase}`)));
    fill(sentence, t(`line.${line.id}${backward ? ".back" : ""}`));
    const early = !backward ? [] : [...new Set(line.reads)]
      .filter((name) => cardOf(name).tensors.gradient >= 0 && firstReader(name) < index);
    fill(partial, early.map((name) => t("class.partial", name, steps[firstReader(name)].marks[0])).join(" "));
    partial.hidden = early.length === 0;
    direction.hidden = !backward || index < steps.length - 1; // said once, where backward begins
    const symbols = line.formula.join(" ");
    fill(signs, [["'·", "class.product"], ["'ᵀ", "class.transposed"]].filter(([sign]) => symbols.includes(sign))
      .map(([, key]) => t(key)).join(" "));
    fill(printedPlace, place.textContent);
    drawMore(line);

    const current = new Set([...line.marks, ...line.reads]);
    const freshLayer = (name) => (!backward ? (line.marks.includes(name) ? "value" : null)
      : index === steps.length - 1 && line.marks.includes(name) ? "gradient"
      : line.reads.includes(name) && firstReader(name) === index ? "gradient" : null);
    const terms = []; // a symbol stays with the matrix after it
    line.formula.forEach((part) => {
      const last = terms[terms.length - 1], open = last?.lastChild.classList.contains("symbol");
      if (part.startsWith("'ᵀ")) {
        last.append(h("span", { class: "symbol transposed", title: t("class.transposed") }, "ᵀ"));
        part = `'${part.slice(2)}`;
      }
      const element = part === "'" ? null : part.startsWith("'") ? symbol(part)
        : update(cardOf(part), { fresh: freshLayer(part), later: false });
      if (element !== null) {
        open && !last.lastChild.classList.contains("transposed") ? last.append(element)
          : terms.push(h("div.term", {}, element));
      }
    });
    fill(equation, terms);
    const earlier = [];
    steps.slice(0, backward ? steps.length : index).forEach((other) => [...other.reads, ...other.marks].forEach((name) => {
      if (!current.has(name) && !earlier.includes(name)) {
        earlier.push(name);
      }
    }));
    fill(before, earlier.map((name) => update(cardOf(name), { fresh: null, later: true })));
    seen.disconnect();
    [...before.children].forEach((element) => seen.observe(element));
    beforeTitle.hidden = earlier.length === 0;
    buttons.first.disabled = !backward && index === 0;
    buttons.previous.disabled = !backward && index === 0;
    buttons.next.disabled = backward && index === 0;
  };
  const rebuild = () => {
    cards = new Map();
    render();
  };

  // ---- steps ----

  const move = (by) => {
    const index = at(), backward = state.phase === "backward";
    if (!backward && by > 0 && index === steps.length - 1) {
      goToLine({ phase: "backward" });
    } else if (backward && by < 0 && index === steps.length - 1) {
      goToLine({ phase: "forward" });
    } else {
      const next = index + (backward ? -by : by);
      if (next >= 0 && next < steps.length) {
        goToLine({ line: next });
      }
    }
  };
  const buttons = {
    first: h("button.first", { type: "button", onclick: () => goToLine({ phase: "forward", line: 0 }) }, t("class.first")),
    previous: h("button", { type: "button", onclick: () => move(-1) }, t("class.previous")),
    next: h("button.primary", { type: "button", onclick: () => move(1) }, t("class.next")),
  };
  document.addEventListener("keydown", (event) => {
    if (state.tab !== "class" || event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey ||
      event.target.closest?.("input, select, textarea, [role=tablist], dialog")) {
      return;
    }
    if (event.key.toLowerCase() === "c") {
      showC(!cShown[state.present]);
    } else if (event.key.toLowerCase() === "m") {
      (equation.querySelector(".changed td[tabindex]") ?? equation.querySelector("td[tabindex]"))?.focus();
    }
    if (event.target.closest?.("td")) {
      return;
    }
    const by = { ArrowLeft: -1, ArrowRight: 1, ...(state.present ? { PageUp: -1, PageDown: 1 } : {}) }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      move(by);
    } else if (event.key === "Escape" && state.cell !== "") {
      event.preventDefault();
      close();
    }
  });

  const phases = ["forward", "backward"].map((phase) => h("button", { type: "button", onclick: () =>
    goToLine({ phase, line: phase === "forward" ? 0 : steps.length - 1 }) }, t(`class.${phase}`)));
  const program = h("button.program", { type: "button", "aria-pressed": "false", onclick: () => {
    wholeProgram = !wholeProgram;
    program.setAttribute("aria-pressed", wholeProgram);
    code.draw(lines, steps, wholeProgram);
    code.mark(at());
  } }, t("class.whole"));
  const cButton = h("button.program", { type: "button", "aria-keyshortcuts": "c", title: t("class.c"),
    onclick: () => showC(!cShown[state.present]) }, t("class.show_c"));
  const showC = (shown) => {
    cShown[state.present] = shown;
    cListing.hidden = !shown;
    cButton.setAttribute("aria-pressed", shown);
    code.mark(at());
    fit();
  };
  const blanks = h("input", { type: "checkbox", "data-key": "blanks",
    onchange: () => stage.classList.toggle("blanks", blanks.checked) });

  // ---- choices ----

  const choose = (changes) => setState({ line: 0, phase: "forward", cell: "", ...changes });
  /** The same line again, if it exists with the mask and without. */
  const toggleMask = (masked) => {
    const there = stepsOf(codeLines({ example: state.example, masked })).map(({ id }) => id);
    const line = there.indexOf(steps[at()].id);
    choose({ masked, phase: state.phase, line: line >= 0 ? line : there.indexOf("scaled_sims") });
  };
  const drawControls = () => {
    const heads = chosenSentence().heads ?? 1, tutorial = state.example === "tutorial";
    const example = h("select", { "data-key": "example", onchange: (event) => choose({ example: event.target.value }) },
      ["tutorial", "pizza", "own"].map((name) =>
        h("option", { value: name, selected: name === state.example }, t(`class.${name}`))));
    const head = h("select", { "data-key": "head", onchange: (event) => setState({ head: Number(event.target.value) }) },
      Array.from({ length: heads }, (_, i) => h("option", { value: i, selected: i === headNow() }, String(i))));
    const masked = h("input", { type: "checkbox", "data-key": "masked", checked: state.masked,
      onchange: (event) => toggleMask(event.target.checked) });
    const toStep = (step) => h("button", { type: "button", "data-key": `step${step}`,
      "aria-pressed": String(run.step === step), onclick: () => goTo(step) }, String(step));
    fill(choices, h("label", {}, t("class.example"), example),
      heads > 1 ? h("label", {}, t("class.head"), head) : null,
      tutorial ? h("label", {}, masked, t("class.mask"))
        : h("span.group", { role: "group", "aria-label": t("class.train_to") },
          h("span.group-label", {}, t("class.train_to")), [0, 100, 500, STEPS].map(toStep)),
      h("label", {}, blanks, t("class.blanks")));
    phases.forEach((button, i) => button.setAttribute("aria-pressed", (i === 1) === (state.phase === "backward")));
  };
  const headNow = () => Math.min(Math.max(0, Math.trunc(state.head)), (chosenSentence().heads ?? 1) - 1);

  // ---- computing ----

  const compute = async () => {
    if (state.tab !== "class") {
      return;
    }
    const chosen = chosenSentence();
    const { example } = state, tutorial = example === "tutorial";
    const wanted = JSON.stringify([example, chosen.ids, state.masked, headNow(), tutorial || [run.changes, state.mask]]);
    keepingFocus(root, drawControls);
    fill(problem, chosen.problem ?? "");
    problem.hidden = chosen.problem === undefined;
    stage.hidden = stepping.hidden = chosen.problem !== undefined;
    if (chosen.problem !== undefined) {
      return;
    }
    if (wanted === key && shown !== null) {
      render();
      return;
    }
    const request = ++pending;
    try {
      const pass = await record(chosen);
      if (request !== pending) {
        return;
      }
      key = wanted;
      if (hovered !== null && !sameCell(shown.pass, pass, hovered)) {
        hovered = null;
      }
      shown = named(pass, chosen, headNow());
      lines = codeLines({ example, heads: shown.heads, masked: !tutorial || state.masked, tokens: chosen.ids });
      steps = stepsOf(lines);
      const last = shown.tokens.length - 1;
      row = example === rowOf && row <= last ? row : Math.min(last, run.language.it);
      rowOf = example;
      cards = new Map();
      fill(about, tutorial ? t("class.about.tutorial")
        : t("class.about.model", chosen.words.join(" "), pass.step, STEPS, state.seed));
      fill(otherMask, maskNote());
      fill(colours, legend(["value", "percent", "new", !tutorial || state.masked ? "mask" : ""]));
      code.draw(lines, steps, wholeProgram);
      render();
    } catch (error) {
      fill(problem, error.message);
      problem.hidden = false;
    }
  };

  const cListing = h("div.listing", {}, h("div.listing-title", {}, h("h2", {}, t("class.c"))), code.c);
  const stepping = h("div.toolbar.steps", {},
    h("span.group", { role: "group", "aria-label": t("class.phase") }, phases),
    buttons.first, buttons.previous, buttons.next, place);
  const stage = h("div.stage", {},
    h("div.stage-head", {},
      h("div.listings", {},
        h("div.listing", {},
          h("div.listing-title", {}, h("h2", {}, t("class.python")), h("span.toolbar", {}, cButton, program)),
          code.python),
        cListing),
      printedPlace, sentence, direction, partial),
    h("div.stage-body", {}, h("h2.unseen", {}, t("class.now")), more, equation, signs, colours, beforeTitle,
      h("div.not-presented", {}, before)),
    explained.element);
  root.append(h("p.printed", {}, t("class.worksheet")), h("p.intro.not-presented.not-printed", {}, t("class.intro")),
    h("div.toolbar.not-presented", {}, choices), h("div.not-presented", {}, about), otherMask, problem, stepping, stage);
  stage.hidden = stepping.hidden = true;

  onState((changed) => {
    if (changed.has("phase")) {
      layers = new Map();
    }
    if (["line", "phase", "example"].some((name) => changed.has(name))) {
      hovered = null;
    }
    const inputs = ["example", "sentence", "phase", "line", "head", "masked", "mask", "present"];
    if (inputs.some((name) => changed.has(name))) {
      compute();
    } else if (changed.has("cell")) {
      hovered = null;
      explainNow();
    }
  });
  let refresh = 0;
  onRun((what) => {
    if (what !== "steps" && state.example !== "tutorial") {
      clearTimeout(refresh);
      refresh = setTimeout(compute, run.playing ? 300 : 0);
    }
  });
  return { show: compute };
}
