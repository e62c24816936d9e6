// Where the boxes of the map stand, and the lines between them: from left to right, or from top to bottom on a phone.

const ADD = 11; // radius of a sum

const BEGIN = 236, END = 300, STEP = 130; // of the parts before and after the blocks, and of half a block

/** {isDown, width, height, boxes: Map of id -> {x, y, w, h}, lines: [path], sums: [[x, y]], blocks: [{x, y, w, h}]}. */
export function layout(layers, available) {
  const enough = BEGIN + END + 2 * STEP * Math.min(2, layers); // for more layers, the map scrolls
  return available < enough ? down(layers, Math.min(560, available)) : across(layers, available);
}

function across(layers, available) {
  const branches = 2 * layers, begin = BEGIN;
  const step = Math.max(STEP, Math.min(210, (available - begin - END) / branches));
  const Y = 198, thick = 36, boxes = new Map(), lines = [], sums = [], blocks = [];
  const put = (id, x, y, w, height) => boxes.set(id, { x, y, w, h: height });
  const top = 26, op = 68, norm = 38;
  put("text", 0, 114, 84, 52);
  put("wte", 102, 104, 100, 62);
  put("wpe", 102, top, 100, 62);
  lines.push("M84 135H102", `M202 135H${begin - ADD}V${Y - ADD}`, `M202 ${top + 31}H${begin - ADD}V${Y - ADD}`);
  sums.push([begin - ADD, Y]);
  for (let k = 0; k <= branches; k++) {
    const x = begin + k * step, last = k === branches;
    const w = last ? 76 : step - 2 * ADD;
    put(`stream.${k}`, x, Y - thick / 2, w, thick);
    if (last) {
      put("ln_f", x + w + 16, Y - 31, 84, 62);
      put("logits", x + w + 116, Y - 40, 100, 80);
      lines.push(`M${x + w} ${Y}h16`, `M${x + w + 100} ${Y}h16`);
      return { isDown: false, width: x + w + 218, height: Y + 38, boxes, lines, sums, blocks, thick };
    }
    const i = Math.floor(k / 2), first = k % 2 === 0;
    const of = (name) => `h.${i}.${name}`;
    if (first) {
      blocks.push({ x: x - 4, y: 0, w: 2 * step - 2, h: Y + 38 });
    }
    put(of(first ? "ln_1" : "ln_2"), x + 10, top + op + 14, Math.min(84, w - 24), norm);
    put(of(first ? "attn" : "mlp"), x + 10, top, w - 26, op);
    const joint = x + w + ADD;
    lines.push(`M${x + 52} ${Y - thick / 2}V${top + op + 14 + norm}`, `M${x + 52} ${top + op + 14}V${top + op}`,
      `M${x + w - 16} ${top + op / 2}H${joint}V${Y - ADD}`);
    sums.push([joint, Y]);
  }
}

function down(layers, available) {
  const X = 20, thick = 36, step = 108, begin = 130, left = 56, boxes = new Map(), lines = [], sums = [], blocks = [];
  const put = (id, x, y, w, height) => boxes.set(id, { x, y, w, h: height });
  const half = (available - left - 10) / 2, norm = 92, op = left + norm + 18;
  put("text", 0, 0, available, 44);
  put("wte", left, 54, half, 44);
  put("wpe", left + half + 10, 54, half, 44);
  lines.push(`M${left + half / 2} 44V54`, `M${left + half / 2} 98V${begin - ADD}H${X}`, `M${left + 1.5 * half + 10} 98V${begin - ADD}H${X}`);
  sums.push([X, begin - ADD]);
  for (let k = 0; ; k++) {
    const y = begin + k * step, tall = step - 2 * ADD;
    put(`stream.${k}`, X - thick / 2, y, thick, k === 2 * layers ? 56 : tall);
    if (k === 2 * layers) {
      put("ln_f", left, y + 4, norm, 46);
      put("logits", op, y - 2, available - op, 62);
      lines.push(`M${X + thick / 2} ${y + 28}H${left}`, `M${left + norm} ${y + 28}H${op}`);
      return { isDown: true, width: available, height: y + 66, boxes, lines, sums, blocks, thick };
    }
    const i = Math.floor(k / 2), first = k % 2 === 0;
    const of = (name) => `h.${i}.${name}`;
    if (first) {
      blocks.push({ x: left - 8, y: y - 4, w: available - left + 8, h: 2 * step - 12 });
    }
    put(of(first ? "ln_1" : "ln_2"), left, y + 14, norm, 46);
    put(of(first ? "attn" : "mlp"), op, y + 6, available - op - 6, 62);
    lines.push(`M${X + thick / 2} ${y + 37}H${left}`, `M${left + norm} ${y + 37}H${op}`,
      `M${op + 60} ${y + 68}V${y + tall + ADD}H${X + ADD}`);
    sums.push([X, y + tall + ADD]);
  }
}
