// The few functions of the system that the engine imports (WASI preview 1 and emscripten's own).

const NOT_SUPPORTED = 52;

/** Imports for a module; memory() is its memory, say(text) receives what it prints. */
export function imports(module, memory, say) {
  const known = {
    clock_time_get(clock, precision, out) {
      new DataView(memory().buffer).setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    fd_write(fd, vectors, count, written) {
      const view = new DataView(memory().buffer);
      let total = 0;
      for (let i = 0; i < count; i++) {
        const at = view.getUint32(vectors + 8 * i, true), size = view.getUint32(vectors + 8 * i + 4, true);
        say(new TextDecoder().decode(new Uint8Array(memory().buffer, at, size)));
        total += size;
      }
      view.setUint32(written, total, true);
      return 0;
    },
    environ_sizes_get(count, size) {
      const view = new DataView(memory().buffer);
      view.setUint32(count, 0, true);
      view.setUint32(size, 0, true);
      return 0;
    },
    environ_get: () => 0,
    proc_exit(code) {
      throw new Error(`the engine stopped with exit code ${code}`);
    },
    emscripten_notify_memory_growth() {},
  };
  const all = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    all[from] ??= {};
    all[from][name] = known[name] ?? (() => NOT_SUPPORTED);
  }
  return all;
}
