// The worker's functions for the story (story.h).

/** exports(): the engine's; lend, json: of worker.js. */
export function storyFunctions({ exports, lend, json }) {
  const floats = (values, use) => lend(Float32Array.from(values), use);
  const call = (name, ...args) => json(exports()[`page_story_${name}`](...args));
  return {
    storyOpen: (bytes) => lend(bytes, (at) => call("open", at, bytes.byteLength / 4)),
    storyRead: ({ tokens, at }) => lend(Int32Array.from(tokens), (ids) => call("read", ids, tokens.length, at)),
    storyWords: () => call("words"),
    storyPlaces: (count) => call("places", count),
    storyHeads: ({ heads, who, whom }) => call("heads", heads, who, whom),
    storyAttend: ({ q, k }) => floats(q, (a) => floats(k, (b) => call("attend", a, b, k.length / 2))),
    storyWeigh: ({ scores }) => floats(scores, (a) => call("weigh", a, scores.length)),
    storyMix: ({ weights, v }) => floats(weights, (a) => floats(v, (b) => call("mix", a, b, weights.length))),
    storyDots: ({ seed, d, count }) => call("dots", seed, d, count),
  };
}
