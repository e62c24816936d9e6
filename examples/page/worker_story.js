// The worker's functions for the story (story.h).

/** exports(): the engine's; lend, json: of worker.js. */
export function storyFunctions({ exports, lend, json }) {
  const floats = (values, use) => lend(values && Float32Array.from(values), use);
  return {
    storyOpen(bytes) {
      return lend(bytes, (at) => json(exports().page_story_open(at, bytes.byteLength / 4)));
    },
    storyRead({ tokens, at }) {
      return lend(Int32Array.from(tokens), (list) => json(exports().page_story_read(list, tokens.length, at)));
    },
    storyWords() {
      return json(exports().page_story_words());
    },
    storyPlaces(count) {
      return json(exports().page_story_places(count));
    },
    storyHeads({ heads, who, verb, whom }) {
      return json(exports().page_story_heads(heads, who, verb, whom));
    },
    storyTrain({ heads, seed }) {
      return json(exports().page_story_train(heads, seed));
    },
    storyAttend({ q, k, v }) {
      return floats(q, (a) => floats(k, (b) => floats(v, (c) => json(exports().page_story_attend(a, b, c,
        k.length / 2)))));
    },
    storyWeigh({ scores, v = null }) {
      return floats(scores, (a) => floats(v, (b) => json(exports().page_story_weigh(a, b, scores.length))));
    },
    storyMix({ weights, v }) {
      return floats(weights, (a) => floats(v, (b) => json(exports().page_story_mix(a, b, weights.length))));
    },
    storyDots({ seed, d, count }) {
      return json(exports().page_story_dots(seed, d, count));
    },
  };
}
