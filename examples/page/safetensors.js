// Writes .safetensors files (src/heed.h): the length of a JSON header, the header, the data.

/** tensors: [{name, shape, values: Float32Array}]; metadata: {key: text}. Returns the file's bytes. */
export function writeSafetensors(tensors, metadata) {
  const header = { __metadata__: metadata };
  let end = 0;
  for (const { name, shape, values } of tensors) {
    header[name] = { dtype: "F32", shape, data_offsets: [end, (end += 4 * values.length)] };
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const length = Math.ceil(json.length / 8) * 8; // padded with spaces
  const file = new Uint8Array(8 + length + end).fill(0x20, 8, 8 + length);
  const view = new DataView(file.buffer);
  view.setBigUint64(0, BigInt(length), true);
  file.set(json, 8);
  let at = 8 + length;
  for (const { values } of tensors) {
    for (const value of values) {
      view.setFloat32(at, value, true);
      at += 4;
    }
  }
  return file;
}
