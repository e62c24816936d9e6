// The worker's functions for "Onward" (onward.h).

/** exports(): the engine's; json: of worker.js. */
export function onwardFunctions({ exports, json }) {
  return {
    split({ tokens, width, heads, breaks }) {
      return json(exports().page_split(tokens, width, heads, breaks));
    },
  };
}
