// The worker's functions for "Onward" (onward.h).

/** exports(): the engine's; the others: of worker.js. */
export function onwardFunctions({ exports, lend, json, elements }) {
  return {
    split({ tokens, width, heads, breaks }) {
      return json(exports().page_split(tokens, width, heads, breaks));
    },
    generate(tokens) {
      const ids = Int32Array.from(tokens);
      const found = lend(ids, (at) => json(exports().page_generate(at, ids.length)));
      return { ...found, ...Object.fromEntries(["q", "k", "v", "percents"].map((name) =>
        [name, elements(found[name])])) };
    },
    rope({ q, k, atQ, atK, most, base, pair }) {
      return lend(Float32Array.from(q), (a) => lend(Float32Array.from(k), (b) =>
        json(exports().page_rope(a, b, q.length, atQ, atK, most, base, pair))));
    },
  };
}
