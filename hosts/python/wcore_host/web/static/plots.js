// Pictures of numbers, drawn as SVG. Each says in words what it shows, for who cannot see it.
import { draw, make } from "./dom.js";
import { duration, visibleLine } from "./visible.js";

const WIDTH = 720;
const HEIGHT = 200;
const LEFT = 36;
const BOTTOM = 24;
const TOP = 10;

/** @typedef {{label: string, parts: {name: string, count: number}[]}} Bar */

/**
 * Stacked bars, one for each label, with a legend.
 * @param {string} title
 * @param {Bar[]} bars
 * @param {string[]} names in the order of the stack, which is that of the colours
 */
export function stacked(title, bars, names) {
  const total = (/** @type {Bar} */ bar) => bar.parts.reduce((sum, part) => sum + part.count, 0);
  const most = Math.max(1, ...bars.map(total));
  const step = (WIDTH - LEFT) / Math.max(1, bars.length);
  const scale = (HEIGHT - BOTTOM - TOP) / nice(most);
  const shapes = bars.flatMap((bar, at) => {
    let y = HEIGHT - BOTTOM;
    return names.flatMap((name, colour) => {
      const count = bar.parts.find((part) => part.name === name)?.count ?? 0;
      if (count === 0) return [];
      const height = count * scale;
      y -= height;
      const width = Math.max(1, Math.min(48, step * 0.7));
      const shape = draw("rect", { x: LEFT + at * step + (step - width) / 2, y, width, height, class: `c${colour % 8}` });
      shape.append(draw("title", {}, `${bar.label}: ${count} ${visibleLine(name, 40)}`));
      return [shape];
    });
  });
  const every = Math.ceil(bars.length / 10);
  const labels = bars.flatMap((bar, at) => (at % every ? [] : [draw("text", { x: LEFT + (at + 0.5) * step, y: HEIGHT - 6, "text-anchor": "middle" }, visibleLine(bar.label, 24))]));
  const said = `${title}. ${bars.map((bar) => `${bar.label}: ${bar.parts.map((part) => `${part.count} ${part.name}`).join(", ")}`).join("; ")}`;
  return figure(title, said, HEIGHT, [...axis(nice(most), scale), ...shapes, ...labels], legend(names));
}

/** @param {number} most @param {number} scale */
function axis(most, scale) {
  return [0, most / 2, most].flatMap((value) => {
    const y = HEIGHT - BOTTOM - value * scale;
    const text = Number.isInteger(value) ? [draw("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, String(value))] : [];
    return [draw("line", { x1: LEFT, x2: WIDTH, y1: y, y2: y, class: "grid" }), ...text];
  });
}

/** A round number that is no less. @param {number} value */
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].map((factor) => factor * power).find((round) => round >= value) ?? value;
}

/** @param {string[]} names */
function legend(names) {
  return make("ul", { class: "legend" }, ...names.map((name, at) => make("li", {}, make("span", { class: `key c${at % 8}`, "aria-hidden": "true" }), visibleLine(name, 40))));
}

/**
 * @param {string} title
 * @param {string} said
 * @param {number} height
 * @param {Node[]} content
 * @param {Node | null} below
 */
function figure(title, said, height, content, below) {
  const picture = draw("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": said }, ...content);
  return make("figure", { class: "plot" }, make("figcaption", {}, title), make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": title }, picture), below);
}

/** @typedef {{label: string, kind: "turn" | "wait" | "run", start: number, end: number, told: string}} Stretch */

/**
 * Stretches of time below each other, on one axis in seconds.
 * @param {string} title
 * @param {Stretch[]} stretches
 */
export function timeline(title, stretches) {
  const last = Math.max(1, ...stretches.map((each) => each.end));
  const lane = 18;
  const height = stretches.length * lane + BOTTOM + TOP;
  const left = 150;
  const x = (/** @type {number} */ at) => left + (at / last) * (WIDTH - left - 8);
  const content = stretches.flatMap((each, at) => {
    const y = TOP + at * lane;
    const bar = draw("rect", { x: x(each.start), y: y + 3, width: Math.max(2, x(each.end) - x(each.start)), height: lane - 6, rx: 2, class: `k-${each.kind}` });
    bar.append(draw("title", {}, visibleLine(each.told, 300)));
    return [draw("text", { x: left - 8, y: y + 13, "text-anchor": "end" }, visibleLine(each.label, 20)), bar];
  });
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    content.push(draw("line", { x1: x(part * last), x2: x(part * last), y1: TOP, y2: height - BOTTOM, class: "grid" }));
    content.push(draw("text", { x: x(part * last), y: height - 6, "text-anchor": part === 1 ? "end" : "middle" }, duration(part * last)));
  }
  const said = `${title}. ${stretches.map((each) => each.told).join("; ")}`.slice(0, 4000);
  const keys = make("ul", { class: "legend" }, ...[["turn", "turn"], ["wait", "waits for an answer"], ["run", "runs"]].map(([kind, text]) => make("li", {}, make("span", { class: `key k-${kind}`, "aria-hidden": "true" }), text)));
  return figure(title, said, height, content, keys);
}
