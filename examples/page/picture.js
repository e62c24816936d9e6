// Copies what is drawn with tables, a matrix or a whole formula, as a picture (SVG) for slides and documents.

import { h } from "./dom.js";
import { t } from "./strings.js";

const PADDING = 8, SCALE = 2; // px around the picture; pixels of the bitmap per px

const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const round = (x) => Math.round(100 * x) / 100;

/** Returns a function that gives a colour of a style, over the page's, as #rrggbb, which every program reads. */
function colours() {
  const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
    .getContext("2d", { willReadFrequently: true });
  const known = new Map(), back = getComputedStyle(document.body).backgroundColor;
  return (colour) => {
    if (!known.has(colour)) {
      [back, colour].forEach((each) => {
        context.fillStyle = each;
        context.fillRect(0, 0, 1, 1);
      });
      const rgb = [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
      known.set(colour, `#${rgb.map((x) => x.toString(16).padStart(2, "0")).join("")}`);
    }
    return known.get(colour);
  };
}

/** Does an element show something of its own? */
const drawn = (element) =>
  element.checkVisibility({ visibilityProperty: true }) && !element.classList.contains("unseen");

/** Where the text of an element is on the screen, or null. */
function textBox(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  const box = range.getBoundingClientRect();
  return element.textContent.trim() === "" || box.width === 0 ? null : box;
}

/** {svg, width, height}: the cells, names, titles and symbols in an element, as they are on the screen, with their
 * numbers as text. */
export function pictureOf(element, title) {
  const colourOf = colours(), clear = "rgba(0, 0, 0, 0)";
  const parts = [...element.querySelectorAll("td, th, caption, .card-title, .symbol")].filter(drawn);
  const boxes = parts.map((part) => part.getBoundingClientRect());
  const left = Math.min(...boxes.map((box) => box.left)), top = Math.min(...boxes.map((box) => box.top));
  const x = (value) => round(value - left + PADDING), y = (value) => round(value - top + PADDING);
  const rectangles = [], texts = [];
  let right = 0, bottom = 0;
  parts.forEach((part, i) => {
    const style = getComputedStyle(part), box = boxes[i], text = textBox(part);
    right = Math.max(right, box.right, text?.right ?? 0);
    bottom = Math.max(bottom, box.bottom);
    if (part.matches("td[data-index]")) {
      rectangles.push(`<rect x="${x(box.left)}" y="${y(box.top)}" width="${round(box.width)}" ` +
        `height="${round(box.height)}" fill="${colourOf(style.backgroundColor)}" ` +
        `stroke="${colourOf(style.borderBottomColor)}" stroke-width="0.5"/>`);
    }
    if (text === null || style.color === clear || parseFloat(style.fontSize) < 2) {
      return;
    }
    const size = parseFloat(style.fontSize), isDown = style.writingMode.startsWith("vertical");
    const middle = [x((text.left + text.right) / 2), y((text.top + text.bottom) / 2)];
    const turn = isDown ? ` transform="rotate(${style.writingMode.endsWith("lr") ? -90 : 90} ${middle})"` : "";
    texts.push(`<text x="${middle[0]}" y="${middle[1]}" dy=".35em" text-anchor="middle" ` +
      `font-size="${round(size)}" font-weight="${style.fontWeight}" fill="${colourOf(style.color)}"${turn}>` +
      `${escaped(part.textContent.trim())}</text>`);
  });
  const width = Math.ceil(right - left + 2 * PADDING), height = Math.ceil(bottom - top + 2 * PADDING);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif">\n<title>${escaped(title)}</title>\n` +
    `<rect width="100%" height="100%" fill="${colourOf("transparent")}"/>\n` +
    `${[...rectangles, ...texts].join("\n")}\n</svg>\n`;
  return { svg, width, height };
}

/** The picture as PNG, for programs that paste no SVG. */
async function bitmapOf({ svg, width, height }) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: SCALE * width, height: SCALE * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function download(svg, name) {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  h("a", { href: url, download: `${name.replace(/[^\w.-]+/g, "_")}.svg` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** A button that copies the picture of an element to the clipboard, or saves it where the browser does not allow that.
 * element(), name(): what is drawn, and what it is called. */
export function pictureButton(element, name) {
  const said = h("span.said", { role: "status" });
  let timer = 0;
  const say = (key) => {
    said.textContent = t(key);
    clearTimeout(timer);
    timer = setTimeout(() => (said.textContent = ""), 4000);
  };
  const copy = async () => {
    const picture = pictureOf(element(), name());
    try {
      const vector = "image/svg+xml", item = { "image/png": bitmapOf(picture) };
      if (ClipboardItem.supports?.(vector)) {
        item[vector] = new Blob([picture.svg], { type: vector });
      }
      await navigator.clipboard.write([new ClipboardItem(item)]);
      say("picture.copied");
    } catch {
      download(picture.svg, name());
      say("picture.saved");
    }
  };
  const label = t("picture.copy");
  const button = h("button.small", { type: "button", "data-key": "picture", "aria-label": label, title: label, onclick: copy },
    h("span.sign", { "aria-hidden": true }, "⧉"), h("span.words", {}, label));
  return h("span.picture.not-printed", {}, button, said);
}
