// Elements without a framework.

/** h("button.primary", {onclick, title}, "text", child, ...): an element. Properties that start with
 * "on" are listeners, true and false are boolean attributes (with aria-: words), null is left out. */
export function h(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length > 0) {
    element.className = classes.join(" ");
  }
  set(element, properties);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** The same in SVG. */
export function svg(tag, properties = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(element, properties);
  element.append(...children.flat());
  return element;
}

function set(element, properties) {
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) {
      element.addEventListener(key.slice(2), value);
    } else if (key.startsWith("aria-") && typeof value === "boolean") {
      element.setAttribute(key, value);
    } else if (value === true) {
      element.setAttribute(key, "");
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(key, value);
    }
  }
}

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}
