// Prints the hash of the weights that a built page trains, without a browser: node package/page_hash.mjs PAGE STEPS HEADS
// It is that of build/page_hash with HEED_ISA=baseline (tests/page/hash.c).
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

const [path, steps, heads] = process.argv.slice(2);
const [, base64] = /id="engine-wasm"[^>]*>([^<]*)</.exec(readFileSync(path, "utf8"));
const module = new WebAssembly.Module(gunzipSync(Buffer.from(base64.trim(), "base64")));
const system = {}; // of WASI; the engine's training calls none of it but what allocates memory
for (const { module: from, name } of WebAssembly.Module.imports(module)) {
  (system[from] ??= {})[name] = () => 0;
}
const engine = new WebAssembly.Instance(module, system).exports;
engine._initialize?.();
const text = (at) => {
  const bytes = new Uint8Array(engine.memory.buffer);
  return Buffer.from(bytes.subarray(at, bytes.indexOf(0, at))).toString();
};
engine.page_start(0, Number(heads), 0.02, 2000, 0);
engine.page_go_to(Number(steps));
const hash = engine.page_hash();
if (hash === 0) {
  throw new Error(text(engine.page_error()));
}
console.log(text(hash));
