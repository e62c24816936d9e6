// What the page shows, kept in the URL after #, so that a link reproduces it.

// Each field: its default, and the nearest allowed value to what a link or an input gives.
const field = (initial, allow) => ({ initial, allow });

const oneOf = (initial, ...others) => field(initial, (text) => (others.includes(text) ? text : initial));

const flag = () => field(false, (value) => value === true || value === "true");

const matching = (initial, pattern) => field(initial, (text) => (pattern.test(text) ? text : initial));

const amount = (initial, least, most) => field(initial, (value) => {
  const number = value === "" || value === null ? NaN : Number(value);
  return Number.isFinite(number) ? Math.min(most, Math.max(least, number)) : initial;
});

const whole = (initial, least, most) => {
  const { allow } = amount(initial, least, most);
  return field(initial, (value) => Math.round(allow(value)));
};

const sentence = (initial) => field(initial, (text) => String(text).replace(/[\p{C}\s]+/gu, " ").slice(0, 200));

/** Characters as a model of characters reads them: also blanks at the end, and new lines. */
const text = (initial) => field(initial, (given) => String(given).replace(/[^\P{C}\n]+/gu, "").slice(0, 500));

const fields = {
  lang: oneOf("", "en", "de", "fr"), // "": the browser's
  theme: oneOf("", "light", "dark"), // "": the system's
  present: flag(),                   // presenter mode
  letters: field(true, (value) => value !== false && value !== "false"), // keys of letters and digits work
  tab: oneOf("story", "class", "training", "breaks", "gpt", "quiz", "teachers"),
  embed: matching("", /^(line:\d{1,2}|matrix:[\w.@]{1,60}|picture:\d{1,2}|story:\d{1,2})$/), // one picture alone (embed.js)
  story: whole(1, 1, 11),            // its screen
  example: oneOf("tutorial", "pizza"),
  phase: oneOf("forward", "backward"),
  line: whole(0, 0, 99),             // of the class
  part: whole(0, 0, 9),              // of the formulas of a line, backward
  head: whole(0, 0, 15),             // from 0, shown from 1
  masked: flag(),                    // the tutorial with the mask
  cell: matching("", /^[\w .:@-]{1,99}$/), // the explained cell: "name:row:column"
  sentence: sentence("the pizza came out of the oven and it"), // the reader's
  seed: whole(0, 0, Number.MAX_SAFE_INTEGER),
  heads: whole(1, 1, 16),
  lr: amount(0.02, 0, 10),
  step: whole(0, 0, 2000),           // of the training run; at most STEPS of run.js
  watch: matching("", /^(own|\d{1,3})$/), // the sentence that training watches: "": pizza, or a held-out one
  broken: oneOf("", "no_scale", "wrong_dim", "mask_inverted", "mask_after", "no_positions", "same_keys",
    "no_zero_grad", "lr_100", "split_view", "merge_view", "scale_d_model"),       // the switch of "Break it"
  gpt_text: text("Eva has a drum. Who has the drum? "), // that the GPT reads
  gpt_box: matching("h.1.attn", /^[\w.]{1,20}$/), // the opened box of its map (boxes.js)
  gpt_part: matching("", /^[\w().]{0,20}$/), // what is shown of the box; "": the first
  gpt_at: whole(0, 0, 64),           // the chosen token, from 1; 0: the last
};

// What an entry of the browser's history shows, whatever the run is.
const SHOWN = ["tab", "story", "example", "phase", "line", "head", "masked", "cell", "broken", "gpt_text", "gpt_box", "gpt_part", "gpt_at"];
const MINE = "of this page"; // the state of its entries

const defaults = Object.fromEntries(Object.entries(fields).map(([key, { initial }]) => [key, initial]));

let now = { ...defaults };
const observers = new Set();

function parse(hash) {
  const found = { ...defaults }, given = new URLSearchParams(hash.replace(/^#/, ""));
  for (const [key, value] of given) {
    if (Object.hasOwn(fields, key)) {
      found[key] = fields[key].allow(value);
    }
  }
  // Links without a tab are from the time when the class came first, unless they name a screen of the story.
  const older = [...given.keys()].some((key) => Object.hasOwn(fields, key) && !["lang", "theme", "present"].includes(key));
  if (older && !given.has("tab") && !given.has("story")) {
    found.tab = "class";
  }
  const [kind, number] = found.embed.split(":");
  return kind === "matrix" ? { ...found, tab: "class" } : kind === "line" ? { ...found, tab: "class", line: fields.line.allow(number) }
    : kind === "story" ? { ...found, tab: "story", story: fields.story.allow(number) } : found;
}

function hashOf(values) {
  return "#" + new URLSearchParams(Object.entries(values).filter(([key, value]) => value !== defaults[key] ||
    (values.tab === "story" && key === "story")));
}

/** Writes the URL; push: as a new entry of the browser's history. */
function write(push = false) {
  const hash = hashOf(now), url = hash === "#" ? location.pathname + location.search : hash;
  try {
    push ? history.pushState(MINE, "", url) : history.replaceState(MINE, "", url);
  } catch {
    // Safari allows 100 changes in 30 seconds; a later one writes everything.
  }
}

/** The hash of a link to these values, defaults for the others, in the reader's language and looks. */
export function linkTo(values) {
  const { lang, theme, present, letters } = now;
  return hashOf({ ...defaults, lang, theme, present, letters, ...values });
}

function tell(before) {
  const changed = new Set(Object.keys(now).filter((key) => now[key] !== before[key]));
  if (changed.size > 0) {
    observers.forEach((observe) => observe(changed));
  }
}

/** The current values; read only. */
export const state = new Proxy({}, { get: (target, key) => now[key] });

/** Changes values to the nearest allowed ones, then calls the observers. Another tab or screen is a new entry of the
 * browser's history, so that Back leads to the one before. */
export function setState(changes) {
  const before = now;
  now = { ...now };
  for (const [key, value] of Object.entries(changes)) {
    now[key] = fields[key].allow(value);
  }
  write(["tab", "story"].some((key) => now[key] !== before[key]));
  tell(before);
}

/** Calls observe(set of changed keys) after each change. Returns a function that ends it. */
export function onState(observe) {
  observers.add(observe);
  return () => observers.delete(observe);
}

/** The URL has changed. Back and Forward show what their entry showed, but of the run as it is now: it is not taken back.
 * A link sets everything. */
function arrive() {
  const before = now, found = parse(location.hash);
  now = history.state === MINE ? { ...now, ...Object.fromEntries(SHOWN.map((key) => [key, found[key]])) } : found;
  write();
  tell(before);
}

/** Reads the URL, now and whenever it changes. */
export function beginState() {
  now = parse(location.hash);
  write();
  addEventListener("popstate", arrive);
}
