// Files to take away: the weights, and programs in C and Python that continue from them.

import { h, fill } from "../../dom.js";
import { t } from "../../strings.js";
import { Engine } from "../../engine.js";
import { number } from "../../matrix.js";
import { run, watched } from "../../run.js";
import { state } from "../../state.js";
import { blockedOf } from "../../mask.js";
import { writeSafetensors } from "../../safetensors.js";
import { cProgram, pythonProgram } from "../../programs.js";

const WEIGHTS = "attention.safetensors";

const COMMANDS = {
  "continue.c": "cc -std=c11 -Isrc continue.c build/libheed.a -lm -pthread -o continue && ./continue",
  "continue.py": "pip install torch safetensors && python continue.py",
};

function save(name, data) {
  const url = URL.createObjectURL(new Blob([data]));
  const link = h("a", { href: url, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1e4);
}

/** The bytes of the weights, and what the programs need to know. */
async function gather() {
  const { tensors, metadata } = await run.engine.state();
  const bytes = writeSafetensors(tensors, metadata);
  const { tokens } = watched(), { language, step } = run;
  const mask = state.trained, seed = run.of.seed;
  const engine = await Engine.create(); // reads the file back, without the switches of "Break it"
  try {
    await engine.start({ seed, heads: 1, lr: 0, steps: 1, breaks: 0 });
    const { heads } = await engine.open(bytes);
    await engine.mask(blockedOf(mask, language.context));
    const pass = await engine.pass(tokens);
    const loss = pass.tensors[pass.loss].values[0];
    if (!Number.isFinite(loss)) {
      throw new Error(t("own.save.lost", loss));
    }
    const facts = { language, tokens, heads, step, seed, loss,
      dModel: Number(metadata.d_model), blocked: mask === "" ? null : blockedOf(mask, language.context) };
    return { bytes, facts };
  } finally {
    engine.end();
  }
}

/** Builds the part; returns show(). */
export function savePart(root) {
  const about = h("p"), causal = h("span", {}, t("own.save.causal")), programs = h("div"), problem = h("div", { role: "status" });
  const button = (name, content) => h("button", { type: "button", "data-file": name, onclick: async () => {
    try {
      const gathered = await gather();
      save(name, content(gathered));
      fill(problem, h("p", {}, t("own.save.saved", name)));
    } catch (error) {
      fill(problem, h("p.problem", {}, error.message));
    }
  } }, name);
  root.append(about, h("div.toolbar", {}, button(WEIGHTS, ({ bytes }) => bytes),
    button("continue.c", ({ facts }) => cProgram(facts)), button("continue.py", ({ facts }) => pythonProgram(facts))),
    problem, programs, h("p.faint", {}, t("own.save.load"), " ", causal), h("pre", { tabindex: 0 }, h("code", {},
      `build/next_token --load ${WEIGHTS} --steps 0 --prompt "the pizza came out of the oven and it"`)));

  let latest = 0;
  return async () => {
    const moving = run.playing || run.busy; // the files would be of different steps
    root.querySelectorAll("[data-file]").forEach((each) => (each.disabled = moving));
    if (moving) {
      fill(about, t("own.save.wait"));
      return;
    }
    const mine = ++latest;
    let facts;
    try {
      ({ facts } = await gather());
    } catch (error) {
      fill(about, error.message);
      fill(programs);
      return;
    }
    if (mine !== latest) {
      return;
    }
    causal.hidden = state.trained === "";
    fill(about, t("own.save.now", run.step, run.of.heads, number(facts.loss, 6)));
    const texts = { "continue.c": cProgram(facts), "continue.py": pythonProgram(facts) };
    fill(programs, Object.entries(texts).map(([name, text]) => h("details", {}, h("summary", {}, t("own.save.look", name)),
      h("p", {}, t(name.endsWith(".c") ? "own.save.c" : "own.save.python"), " ", h("code", {}, COMMANDS[name])),
      h("pre", { tabindex: 0, "aria-label": name }, h("code", {}, text)))));
  };
}
