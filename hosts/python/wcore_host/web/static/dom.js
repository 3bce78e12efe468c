// Elements are made here, from text nodes only: nothing that anybody said is ever read as markup.

/** @typedef {Node | string | null | undefined | false} Child */
/** @typedef {{[name: string]: string | boolean | number | EventListener | ((event: any) => void) | null | undefined}} Props */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an element. Props that are functions become listeners, `true` an empty attribute.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  fill(element, props, children);
  return element;
}

/**
 * Make an element of a drawing.
 * @param {keyof SVGElementTagNameMap} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function draw(tag, props = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  fill(element, props, children);
  return element;
}

/**
 * @param {Element} element
 * @param {Props} props
 * @param {Child[]} children
 */
function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  put(element, ...children);
}

/**
 * Add children; what is nothing is left out.
 * @param {Element | DocumentFragment} parent
 * @param {...Child} children
 */
export function put(parent, ...children) {
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) parent.append(child);
  }
}

/**
 * Replace everything inside an element.
 * @param {Element} parent
 * @param {...Child} children
 */
export function replace(parent, ...children) {
  parent.replaceChildren();
  put(parent, ...children);
}

/**
 * The element of the page that has this id.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}
