// What the page shows, kept in the URL after #, so that a link reproduces it.

// key: default. The type of the default is the type of the value.
const defaults = {
  lang: "",          // "" : the browser's
  theme: "",         // "": the system's; light, dark
  present: false,    // presenter mode
  tab: "class",
  example: "tutorial", // tutorial, pizza, own
  phase: "forward",  // forward, backward
  line: 0,           // of the class
  head: 0,
  cell: "",          // the explained cell: "name:row:column"
  sentence: "the pizza came out of the oven and it", // the reader's
  seed: 0,
  heads: 1,
  lr: 0.02,
  step: 0,           // of the training run
  mask: "",          // edited cells, as "row.column" joined by commas
  broken: "",        // the switch of "Break it"
};

let now = { ...defaults };
const observers = new Set();

function parse(hash) {
  const found = { ...defaults };
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!(key in defaults)) {
      continue;
    }
    if (typeof defaults[key] === "number") {
      const number = Number(value);
      found[key] = value !== "" && Number.isFinite(number) ? number : defaults[key];
    } else {
      found[key] = typeof defaults[key] === "boolean" ? value === "true" : value;
    }
  }
  return found;
}

function write() {
  const changed = Object.entries(now).filter(([key, value]) => value !== defaults[key]);
  const hash = new URLSearchParams(changed).toString();
  history.replaceState(null, "", hash === "" ? location.pathname + location.search : "#" + hash);
}

function tell(before) {
  const changed = new Set(Object.keys(now).filter((key) => now[key] !== before[key]));
  if (changed.size > 0) {
    observers.forEach((observe) => observe(changed));
  }
}

/** The current values; read only. */
export const state = new Proxy({}, { get: (target, key) => now[key] });

/** Changes values, then calls the observers. */
export function setState(changes) {
  const before = now;
  now = { ...now, ...changes };
  write();
  tell(before);
}

/** Calls observe(set of changed keys) after each change. Returns a function that ends it. */
export function onState(observe) {
  observers.add(observe);
  return () => observers.delete(observe);
}

/** Reads the URL, now and whenever it changes. */
export function beginState() {
  now = parse(location.hash);
  addEventListener("hashchange", () => {
    const before = now;
    now = parse(location.hash);
    tell(before);
  });
}
