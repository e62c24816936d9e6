// The worker's functions for the map of a GPT (gpt_map.h).

const decoder = new TextDecoder();

/** exports(): the engine's; the others: of worker.js. */
export function gptFunctions({ exports, lend, lendFile, json, elements }) {
  return {
    gptOpen(file) {
      const about = lendFile(file, (path) => json(exports().page_gpt_open(path)));
      return { ...about, tokens: about.tokens.map((bytes) => decoder.decode(Uint8Array.from(bytes))) };
    },
    gptRead(text) {
      const bytes = new TextEncoder().encode(text);
      const { left_out, ids, parts } = lend(bytes, (at) => json(exports().page_gpt_read(at, bytes.length)));
      return { left_out, ids, parts: Object.fromEntries(parts.map((part) =>
        [part.name, { shape: part.shape, values: elements(part) }])) };
    },
  };
}
