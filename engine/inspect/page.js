"use strict";
// The page of a graph. `data` is what the engine computed; `run`, where there is one, computes its numbers for other leaves.

const data = JSON.parse(document.getElementById("data").textContent);
const SPECIAL = { nan: NaN, inf: Infinity, "-inf": -Infinity };
const original = data.numbers.map((x) => (typeof x === "string" ? SPECIAL[x] : x));
const nodes = new Map(data.nodes.map((node) => [node.id, node]));
for (const node of data.nodes) node.info = (node.info || []).map((place) => data.facts[place]);
const boxes = new Map(data.boxes.map((box) => [box.id, box]));
const whole = data.boxes[data.boxes.length - 1];
const users = new Map();
for (const node of data.nodes) {
  for (const x of node.operands || []) {
    if (typeof x === "number" && nodes.has(x)) users.set(x, [...(users.get(x) || []), node.id]);
  }
}
for (const walk of data.walks) {
  if (walk.same !== undefined) Object.assign(walk, { visits: data.walks[walk.same].visits, kept: data.walks[walk.same].kept });
}

for (const drawing of data.flat ? [...data.boxes, data.flat] : data.boxes) {
  drawing.lines = drawing.lines.map(([from, to, first, count]) => [from, ...Array.from({ length: count || 0 }, (_, i) => first - i), to]);
}

const $ = (id) => document.getElementById(id);
let numbers = original;
let broken = [];

// Numbers as text

function num(x, digits = 6) {
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
  return digits ? String(Number(x.toPrecision(digits))) : String(x);
}

const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);
const shapeText = (shape) => `(${shape.join(", ")})`;

// Numbers with a unit are shown in it, and computed in SI units: by where they begin, how many, in what, factors and zeros
const measures = new Map(data.units.map(([begin, ...unit]) => [begin, unit]));

const named = (values, unit) => Object.assign(values, { unit: unit || "" });

function entries(place) {
  const unit = place && measures.get(place[0]);
  return place && place[0] >= 0 ? named(numbers.slice(place[0], place[0] + sizeOf(place.slice(1))), unit && unit[1]) : null;
}

function inSI(place) {
  const [, , factors, zeros] = measures.get(place[0]) || [0, "", [1], [0]];
  return (x, i) => (x + zeros[i % zeros.length]) * factors[i % factors.length];
}

function inUnits(found) {
  for (const [begin, [count, , factors, zeros]] of measures) {
    for (let i = 0; i < count; i += 1) found[begin + i] = found[begin + i] / factors[i % factors.length] - zeros[i % zeros.length];
  }
  return found;
}

function arrayText(values, shape, digits, ends) {
  if (values.unit) return `${arrayText([...values], shape, digits, ends)} ${values.unit}`;
  if (!shape.length) return num(values[0], digits);
  const step = sizeOf(shape.slice(1));
  const rows = [];
  for (let i = 0; i < shape[0]; i += 1) rows.push(arrayText(values.slice(i * step, (i + 1) * step), shape.slice(1), digits, ends));
  if (ends && rows.length > ends[0] + ends[1]) rows.splice(ends[0], rows.length - ends[0] - ends[1], "…");
  return `[${rows.join(", ")}]`;
}

function text(place, digits, ends) {
  if (!place) return "not held";
  const values = entries(place);
  return values ? arrayText(values, place.slice(1), digits, ends) : `array of shape ${shapeText(place.slice(1))}`;
}

const NUMBER = /(?<![\w.])-?(?:\d+\.?\d*|inf\b|nan\b)(?:e[-+]?\d+)?/g;

// Where it is too long for its place, up to the last number that fits whole
function cut(said, width) {
  if (said.length <= width) return said;
  const end = width - 1;
  const parted = [...said.matchAll(NUMBER)].find((found) => found.index < end && end <= found.index + found[0].length);
  return `${said.slice(0, parted ? parted.index : end)}…`;
}

// A value in so many columns: `…` is for entries in the middle of an array, of which `say` shows those at the ends
function brief(say, columns) {
  const texts = [null, [3, 1], [2, 1], [1, 1], [1, 0], [0, 0]].map((ends) => say(ends));
  return texts.find((said) => said.length <= columns) || cut(texts[0], columns);
}

const reader = new Map(data.sliders.map((id) => [id, entries(nodes.get(id).value)])); // the leaves as set here

function called(id) {
  const node = nodes.get(id);
  return node ? node.name || (node.leaf ? `%${id}` : cut(node.text || `%${id}`, 40)) : `%${id}`;
}

function headline(node) {
  return node.name && node.text && node.text !== node.name ? `${node.name} = ${node.text}` : node.name || node.text || `%${node.id}`;
}

// The events: forward, and one backward after the other

let events = [];
let phases = [];
let position = 0;

function makeEvents() {
  const retain = $("retain").checked;
  events = [];
  phases = [{ label: "forward", start: 0 }];
  for (const node of data.nodes) if (!node.leaf) events.push({ kind: "value", node: node.id });
  data.walks.forEach((walk, number) => {
    const again = data.walks.slice(0, number).some((other) => other.root === walk.root);
    phases.push({ label: `backward ${cut(called(walk.root), 24)}${again ? " again" : ""}`, start: events.length });
    const error = walk.refused || (retain ? null : walk.freed);
    if (error) {
      events.push({ kind: "refused", walk, number, node: walk.root, error });
      return;
    }
    events.push({ kind: "seed", walk, number, node: walk.root });
    for (const visit of walk.visits) events.push({ kind: "visit", walk, number, node: visit.node, visit });
    for (const [id, place] of walk.kept) events.push({ kind: "leaf", walk, number, node: id, place });
    events.push({ kind: retain ? "kept" : "free", walk, number, node: walk.root });
  });
  $("position").max = String(events.length);
}

function add(a, b) {
  if (!a) return b;
  if (!b) return a;
  return named(a.map((x, i) => x + b[i]), b.unit);
}

// What is known after the first `position` events
function stateNow() {
  const state = { computed: new Set(), cotangent: new Map(), grad: new Map(), freed: new Map(), visited: new Set(), before: null };
  for (const node of data.nodes) {
    if (node.leaf) state.computed.add(node.id);
    if (node.grad) state.grad.set(node.id, entries(node.grad) || "array");
    if (node.freed) state.freed.set(node.id, node.freed);
  }
  for (let i = 0; i < position; i += 1) {
    const event = events[i];
    if (event.kind === "value") state.computed.add(event.node);
    else if (event.kind === "seed") {
      state.cotangent = new Map();
      state.visited = new Set();
      const root = nodes.get(event.node);
      state.cotangent.set(event.node, Array(sizeOf(root.shape || [])).fill(1));
    } else if (event.kind === "visit") {
      state.visited.add(event.node);
      const exact = entries(event.visit.in);
      if (exact) state.cotangent.set(event.node, exact);
      for (const [to, , out] of event.visit.parts) state.cotangent.set(to, add(state.cotangent.get(to), entries(out)) || "array");
    } else if (event.kind === "leaf") {
      const before = state.grad.get(event.node);
      const arrived = entries(event.place);
      state.before = before;
      state.grad.set(event.node, before === "array" || !arrived ? "array" : add(before, arrived));
    } else if (event.kind === "free") {
      for (const id of event.walk.order) state.freed.set(id, `backward ${called(event.walk.root)}`);
    }
  }
  return state;
}

const shown = (values, node, digits, ends) => (values === "array" ? `array of shape ${shapeText(node.shape)}` : arrayText(values, node.shape || [], digits, ends));

// Where boxes stand: layers are given; places are by least squares under their order, as in the engine

function apart(wanted, sizes, gap) {
  const offsets = [];
  let reach = 0;
  sizes.forEach((size, i) => {
    if (i) reach += (sizes[i - 1] + size) / 2 + gap;
    offsets.push(reach);
  });
  const pools = [];
  wanted.forEach(([place, weight], i) => {
    let pool = [place - offsets[i], weight, 1];
    while (pools.length && pools[pools.length - 1][0] > pool[0]) {
      const [mean, heavy, more] = pools.pop();
      pool = [(pool[0] * pool[1] + mean * heavy) / (pool[1] + heavy), pool[1] + heavy, pool[2] + more];
    }
    pools.push(pool);
  });
  const means = pools.flatMap(([mean, , count]) => Array(count).fill(mean));
  return means.map((mean, i) => mean + offsets[i]);
}

function middles(layers, lines, widthOf, gap) {
  const near = new Map();
  const join = (a, b) => near.set(a, [...(near.get(a) || []), b]);
  for (const chain of lines) {
    for (let i = 1; i < chain.length; i += 1) {
      join(chain[i - 1], chain[i]);
      join(chain[i], chain[i - 1]);
    }
  }
  const passes = (joint) => joint < 0;
  const middle = new Map();
  const sizes = layers.map((layer) => layer.map(widthOf));
  layers.forEach((layer, i) => apart(layer.map(() => [0, 1]), sizes[i], gap).forEach((x, j) => middle.set(layer[j], x)));
  for (let sweep = 0; sweep < 32; sweep += 1) {
    const order = layers.map((_, i) => (sweep % 2 ? layers.length - 1 - i : i));
    for (const i of order) {
      const wanted = layers[i].map((joint) => {
        const others = near.get(joint) || [];
        if (!others.length) return [middle.get(joint), 1];
        let total = 0;
        let sum = 0;
        for (const other of others) {
          const weight = [1, 3, 9][passes(joint) + passes(other)];
          total += weight;
          sum += middle.get(other) * weight;
        }
        return [sum / total, total];
      });
      apart(wanted, sizes[i], gap).forEach((x, j) => middle.set(layers[i][j], x));
    }
  }
  return middle;
}

const ruler = document.createElement("canvas").getContext("2d");
ruler.font = `600 13px ${getComputedStyle(document.documentElement).getPropertyValue("--mono")}`;
const wide = (said) => ruler.measureText(said).width;
const CHARACTER = wide("0");
const LONG = 34; // columns
const ROW = 18;
const open = new Set([whole.id]);
let size = new Map(); // of each visible box
let laid = new Map(); // of each visible box with others in it

// What a box shows of each node in time
const placesOf = new Map(data.nodes.map((node) => [node.id, [node.value, node.grad]]));
for (const walk of data.walks) {
  for (const visit of walk.visits || []) placesOf.get(visit.node).push(visit.in);
  for (const [id, place] of walk.kept || []) placesOf.get(id).push(place);
}

function nodeSize(node) {
  const long = Math.max(...placesOf.get(node.id).filter((place) => place).map((place) => text(place).length + 5), 18); // 18: any number
  const name = wide(cut(headline(node), LONG)) + wide(" ►▼■~") + 8;
  const w = Math.max(name, wide(kindText(node)), Math.min(long, LONG) * CHARACTER) + 22;
  return { w: Math.ceil(w), h: ROW * (node.requires ? 4 : 3) + 12 };
}

const kindText = (node) => cut(`${node.op} ${node.shape && node.shape.length ? shapeText(node.shape) : ""}`, LONG);
const boxTitle = (box) => `${open.has(box.id) ? "▾" : "▸"} ${box.kind === "function" ? `${box.label}(…)` : box.label}`;

function layOut(box, drawing) {
  for (const joint of drawing.layers.flat()) {
    if (joint < 0) continue;
    if (nodes.has(joint)) size.set(joint, nodeSize(nodes.get(joint)));
    else if (open.has(joint)) {
      const inside = layOut(joint, boxes.get(joint));
      size.set(joint, { w: Math.max(inside.w, wide(boxTitle(boxes.get(joint)))) + 28, h: inside.h + 52 });
    } else {
      size.set(joint, { w: Math.max(wide(`${boxTitle(boxes.get(joint))} ► □`), 16 * CHARACTER) + 30, h: ROW * 2 + 20 });
    }
  }
  const widthOf = (joint) => (joint > 0 ? size.get(joint).w : 2);
  const middle = middles(drawing.layers, drawing.lines, widthOf, 26);
  let left = Infinity;
  let right = -Infinity;
  for (const [joint, x] of middle) {
    left = Math.min(left, x - widthOf(joint) / 2);
    right = Math.max(right, x + widthOf(joint) / 2);
  }
  const spot = new Map();
  let top = 0;
  for (const layer of drawing.layers) {
    const tall = Math.max(0, ...layer.map((joint) => (joint > 0 ? size.get(joint).h : 0)));
    for (const joint of layer) {
      const h = joint > 0 ? size.get(joint).h : tall;
      spot.set(joint, { x: middle.get(joint) - left, y: top, h, w: widthOf(joint) });
    }
    top += tall + 48;
  }
  const made = { spot, lines: drawing.lines, w: right - left, h: Math.max(top - 48, 0) };
  laid.set(box, made);
  return made;
}

// The drawing

const SVG = "http://www.w3.org/2000/svg";
let drawn = new Map(); // the elements of visible boxes
let edges = new Map(); // and of the lines between them, by `from>to`
let standsFor = new Map(); // the visible box of each node
let scale = 1;
let view = "fit"; // or "follow", which zooms to what is told, or "free", as the user zoomed
let chosen = null;

function element(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function html(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children.flatMap((x) => (typeof x === "string" ? unbroken(x) : x)));
  return made;
}

// A text in which no line ends behind the minus of a number, as browsers allow
function unbroken(said) {
  const parts = said.split(/(-?[\d.]+e-\d+|-inf)/);
  return parts.map((part, i) => {
    if (i % 2 === 0) return part;
    const number = document.createElement("span");
    number.className = "number";
    number.textContent = part;
    return number;
  });
}

function nodesIn(id) {
  if (nodes.has(id)) return [id];
  return boxes.get(id).layers.flat().filter((x) => x > 0).flatMap(nodesIn);
}

function drawLine(spots, chain) {
  const last = spots.get(chain[chain.length - 1]);
  const from = spots.get(chain[0]);
  const end = last.x + Math.max(-1, Math.min(1, (spots.get(chain[chain.length - 2]).x - last.x) / 200)) * last.w * 0.3;
  let path = `M${from.x} ${from.y + from.h}`;
  for (let i = 1; i < chain.length; i += 1) {
    const above = spots.get(chain[i - 1]);
    const below = spots.get(chain[i]);
    const x = above.x;
    const y = above.y + above.h;
    const final = i === chain.length - 1;
    const to = final ? end : below.x;
    const down = final ? below.y - 8 : below.y;
    const half = (y + down) / 2;
    path += `C${x} ${half} ${to} ${half} ${to} ${down}`;
    if (!final) path += `V${below.y + below.h}`;
  }
  const line = element("g", { class: "line" }, element("path", { d: path }), element("path", { class: "tip", d: `M${end} ${last.y}l-4.5 -9h9z` }));
  edges.set(`${chain[0]}>${chain[chain.length - 1]}`, line);
  return line;
}

function drawInside(box, x, y) {
  const { spot, lines } = laid.get(box);
  const group = element("g", { transform: `translate(${x} ${y})` });
  for (const chain of lines) group.append(drawLine(spot, chain));
  for (const [joint, place] of spot) {
    if (joint < 0) continue;
    const made = nodes.has(joint) ? drawNode(joint, place) : drawBox(joint, place);
    group.append(made);
    if (nodes.has(joint) || !open.has(joint)) for (const id of nodesIn(joint)) standsFor.set(id, joint);
  }
  return group;
}

function drawNode(id, { x, y, w, h }) {
  const node = nodes.get(id);
  const group = element("g", { class: "box", role: "button", tabindex: "-1", transform: `translate(${x - w / 2} ${y})` });
  const about = node.info.map(([label, said]) => `${label}: ${said}`).join("\n");
  group.append(element("title", {}, `%${id} ${headline(node)}${node.where ? `, ${node.where}` : ""}${about ? `\n${about}` : ""}`));
  group.append(element("rect", { width: w, height: h, rx: node.leaf ? 0 : 9 }));
  const lines = node.requires ? ["name", "kind", "was", "got"] : ["name", "kind", "was"];
  const rows = Object.fromEntries(lines.map((row, i) => [row, element("text", { class: row, x: 11, y: 21 + ROW * i })]));
  rows.name.textContent = cut(headline(node), LONG);
  rows.kind.textContent = kindText(node);
  rows.signs = element("text", { class: "signs", x: w - 11, y: 21, "text-anchor": "end" });
  group.append(...Object.values(rows));
  group.addEventListener("click", () => choose(id, true));
  drawn.set(id, { group, rows, columns: Math.floor((w - 21) / CHARACTER) });
  return group;
}

function drawBox(id, { x, y, w, h }) {
  const box = boxes.get(id);
  const isOpen = open.has(id);
  const group = element("g", { transform: `translate(${x - w / 2} ${y})` });
  const button = element("g", { class: isOpen ? "box frame" : "box folded", role: "button", tabindex: "-1", "aria-expanded": String(isOpen) });
  if (!isOpen) button.append(element("rect", { class: "under", x: 5, y: 5, width: w, height: h, rx: 9 }));
  button.append(element("rect", { width: w, height: h, rx: 9 }));
  const rows = { name: element("text", { class: "name", x: 11, y: 22 }), kind: element("text", { class: "kind", x: 11, y: 22 + ROW }) };
  rows.name.textContent = boxTitle(box);
  rows.signs = element("text", { class: "signs", x: w - 11, y: 22, "text-anchor": "end" });
  if (!isOpen) rows.kind.textContent = `${box.nodes} nodes`;
  button.append(...Object.values(rows));
  button.addEventListener("click", () => toggle(id));
  group.append(button);
  if (isOpen) group.append(drawInside(id, 14, 40));
  drawn.set(id, { group: button, rows, box });
  return group;
}

function draw() {
  size = new Map();
  laid = new Map();
  drawn = new Map();
  edges = new Map();
  standsFor = new Map();
  const isFolded = $("folded").checked || !data.flat;
  const made = layOut(whole.id, isFolded ? whole : data.flat);
  const [w, h] = [made.w + 28, made.h + 28];
  const svg = element("svg", { viewBox: `0 0 ${w} ${h}`, role: "group", "aria-label": data.heading }, drawInside(whole.id, 14, 14));
  svg.dataset.w = w;
  svg.dataset.h = h;
  canvas.replaceChildren(svg);
  resize(scale);
  const first = drawn.values().next().value;
  if (first) first.group.setAttribute("tabindex", "0");
}

const canvas = $("canvas");
const isPresenting = () => document.body.classList.contains("presenting");
const fitTo = (w, h) => Math.min((canvas.clientWidth - 20) / w, (canvas.clientHeight - 20) / h);

// The rectangle around some boxes, in the window
function around(ids) {
  const found = ids.map((id) => drawn.get(id).group.getBoundingClientRect());
  const [left, top] = ["left", "top"].map((side) => Math.min(...found.map((one) => one[side])));
  const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...found.map((one) => one[side])));
  return { left, top, right, bottom, w: right - left, h: bottom - top };
}

// The scale at which some boxes, above all the first, are in view, with letters of at least 2.4 % of the height to present
function scaleFor(ids) {
  const least = isPresenting() ? Math.max(1, (0.024 * window.innerHeight) / 13) : 0.85;
  const [one, all] = [around(ids.slice(0, 1)), around(ids)];
  const wanted = Math.max(least, Math.min(1.35 * least, fitTo((all.w + 40) / scale, (all.h + 40) / scale)));
  return Math.min(wanted, fitTo((one.w + 20) / scale, (one.h + 20) / scale));
}

function scrollTo(ids) {
  const [outer, inner] = [canvas.getBoundingClientRect(), around(ids)];
  const over = { x: inner.right - outer.left - canvas.clientWidth, y: inner.bottom - outer.top - canvas.clientHeight };
  canvas.scrollLeft += Math.min(inner.left - outer.left - 9, Math.max(0, over.x + 9));
  canvas.scrollTop += Math.min(inner.top - outer.top - 9, Math.max(0, over.y + 9));
}

function resize(to) {
  const svg = canvas.firstChild;
  scale = Math.max(0.02, to);
  svg.setAttribute("width", Math.floor(svg.dataset.w * scale));
  svg.setAttribute("height", Math.floor(svg.dataset.h * scale));
}

// Some visible boxes in view: the first in any case, the others where there is room
function reveal(ids) {
  const visible = ids.filter((id) => drawn.has(id));
  if (view === "fit") resize(Math.min(2, fitTo(canvas.firstChild.dataset.w, canvas.firstChild.dataset.h)));
  else if (view === "follow" && visible.length) resize(scaleFor(visible));
  if (visible.length) {
    scrollTo(visible);
    scrollTo(visible.slice(0, 1));
  }
  for (const id of ["fit", "follow"]) $(id).setAttribute("aria-pressed", String(view === id));
}

// The boxes of which the current step tells
function told() {
  const event = position ? events[position - 1] : null;
  return event ? [standsFor.get(event.node), ...near(event)] : [drawn.keys().next().value];
}

function look(at, factor = 1) {
  view = at;
  if (factor !== 1) resize(Math.max(0.15, Math.min(4, scale * factor)));
  reveal(told());
}

function toggle(id) {
  if (open.has(id)) open.delete(id);
  else open.add(id);
  draw();
  update();
  const made = drawn.get(id);
  if (made) made.group.focus({ preventScroll: true });
}

// What the current step says

function words(event, state) {
  const node = nodes.get(event.node);
  const name = called(event.node);
  switch (event.kind) {
    case "value":
      return `Forward, node %${event.node}: ${cut(headline(node), 80)} is ${text(node.value)}.`;
    case "seed":
      return `backward ${name} begins: the cotangent of ${name} is ${num(1)}.`;
    case "visit": {
      const out = event.visit.parts.map(([to, , c]) => `${text(c)} to ${called(to)}`);
      return `Backward at ${cut(headline(node), 60)}: ${text(event.visit.in)} comes in; ${out.join(", ") || "nothing"} goes out.`;
    }
    case "leaf":
      return `The gradient of ${name} is written: ${state.before ? `${shown(state.before, node)} + ` : ""}${text(event.place)}${state.before ? ` = ${shown(state.grad.get(event.node), node)}` : ""}.`;
    case "free":
      return `The graph behind ${name} is freed: ${event.walk.order.length} operations give up what they saved. Leaves keep their values and gradients.`;
    case "kept":
      return `The graph behind ${name} is retained: another backward can walk it.`;
    default:
      return `backward ${name} is refused: ${event.error.message}.`;
  }
}

function table(head, rows) {
  const made = html("table", {});
  made.append(html("thead", {}, html("tr", {}, ...head.map((label) => html("th", { scope: "col" }, label)))));
  made.append(html("tbody", {}, ...rows.map((cells) => html("tr", {}, ...cells.map((cell) => html("td", {}, cell))))));
  return made;
}

function facts(pairs) {
  return html("dl", {}, ...pairs.filter(([, said]) => said).flatMap(([label, said]) => [html("dt", {}, label), html("dd", {}, said)]));
}

const operandText = (x) => (typeof x === "number" ? `${called(x)} = ${nodes.has(x) ? text(nodes.get(x).value) : "…"}` : `${x}`);

function savedText(node) {
  return (node.saves || []).map((id) => (id === node.id ? "its result" : called(id))).join(", ");
}

function detail(event, state) {
  const node = nodes.get(event.node);
  if (event.kind === "value") {
    const list = (node.operands || []).map((x) => html("li", { class: "mono" }, operandText(x)));
    const parts = [html("p", { class: "mono" }, headline(node)), html("p", {}, `${node.op} of`), html("ul", {}, ...list)];
    parts.push(facts([["gives", text(node.value)], ["saves", savedText(node)], ["where", node.where]]));
    return parts;
  }
  if (event.kind === "visit") {
    const rows = event.visit.parts.map(([to, local, out]) => {
      const target = nodes.get(to);
      const sum = state.cotangent.get(to);
      return [["operand", called(to)], ["local derivative", local ? text(local) : "a matrix"], ["goes out", text(out)], ["sum there", target && sum ? shown(sum, target) : "…"]];
    });
    return [
      html("p", { class: "mono" }, headline(node)),
      facts([["comes in", text(event.visit.in)], ["reads", savedText(node)], ...rows.flat()]),
    ];
  }
  if (event.kind === "leaf") {
    return [facts([["gradient of", called(event.node)], ["before", state.before ? shown(state.before, node) : "none"], ["arrives", text(event.place)], ["now", shown(state.grad.get(event.node), node)]])];
  }
  if (event.kind === "refused") {
    const { error } = event;
    const list = error.places.map(([where, source, said]) => html("li", {}, where ? `${where}: ` : "", source ? html("code", {}, source) : "", source ? `: ${said}` : said));
    const parts = [html("p", { class: "error" }, error.message), html("ul", {}, ...list)];
    for (const note of error.notes) parts.push(html("p", {}, note));
    for (const fix of error.fixes) parts.push(html("p", {}, "fix: ", html("code", {}, fix)));
    if (!event.walk.refused) parts.push(html("p", {}, "Tick “retain the graph” above to see it walk."));
    return parts;
  }
  return [html("p", {}, words(event, state))];
}

function showNode(state) {
  if (chosen === null || !nodes.has(chosen)) return;
  const node = nodes.get(chosen);
  const has = new Set(node.info.map(([label]) => label));
  const now = state.freed.has(chosen) ? `freed by ${state.freed.get(chosen)}` : state.computed.has(chosen) ? "held" : "not computed yet";
  const cotangent = state.cotangent.get(chosen);
  const grad = state.grad.get(chosen);
  const pairs = [
    ["node", `%${node.id} ${headline(node)}`],
    ["where", node.where],
    ["operation", node.op],
    ["operands", (node.operands || []).map(operandText).join("\n")],
    ["value", state.computed.has(chosen) ? text(node.value, 0) : ""],
    ["cotangent", cotangent && !node.leaf ? shown(cotangent, node, 0) : ""],
    ["gradient", grad ? shown(grad, node, 0) : node.keeps ? "none yet" : ""],
    ["saves", savedText(node)],
    ["now", now],
    ["shape", has.has("shape") ? "" : shapeText(node.shape || [])],
    ["version", has.has("version") ? "" : node.version ? `${node.version}, written by ${node.written}` : ""],
    ["comparison", node.change && { same: "the same in both", changed: "changed", gone: "only in the first", new: "only in the second" }[node.change]],
    ["stale", node.stale ? "older than what it was computed from" : ""],
    ["guard", node.guard !== undefined ? (data.guarded[node.guard] || {}).text : ""],
    ...node.info.map(([label, said], i) => [i ? label || "and" : "what", said]),
  ];
  $("node").replaceChildren(facts(pairs));
}

function choose(id, withFocus) {
  if (chosen !== null && drawn.has(chosen)) drawn.get(chosen).group.setAttribute("tabindex", "-1");
  chosen = id;
  const made = drawn.get(id);
  if (made) {
    made.group.setAttribute("tabindex", "0");
    if (withFocus) made.group.focus({ preventScroll: true });
    reveal([id]);
  }
  if (nodes.has(id) && reader.has(id)) addLeaf(id);
  update();
}

// Everything that changes with a step or a slider

const signs = { now: ["►", "this step"], ...data.signs };
for (const [kind, said] of [["changed", "changed"], ["gone", "only in the first"], ["new", "only in the second"]]) {
  if (data.nodes.some((node) => node.change === kind)) signs[kind] = [data.changes[kind], said];
}

function near(event) {
  const found = new Set();
  if (event && event.kind === "value") for (const x of nodes.get(event.node).operands || []) found.add(standsFor.get(x));
  if (event && event.kind === "visit") for (const [to] of event.visit.parts) found.add(standsFor.get(to));
  return found;
}

function update() {
  const event = position ? events[position - 1] : null;
  const state = stateNow();
  const here = event && !["free", "kept"].includes(event.kind) ? standsFor.get(event.node) : null;
  const around = near(event);
  for (const [id, made] of drawn) updateBox(id, made, state, event, here, around);
  for (const line of edges.values()) line.setAttribute("class", "line");
  if (event && here !== undefined) {
    for (const other of around) {
      const line = edges.get(`${other}>${here}`);
      if (line) line.setAttribute("class", event.kind === "visit" ? "line active flow" : "line active");
    }
  }
  const said = event ? words(event, state) : "Before the first operation: only the leaves have values.";
  if ($("status").textContent !== said) $("status").replaceChildren(...unbroken(said));
  $("status").dataset.step = `${position} / ${events.length}`;
  $("status").className = event && event.kind === "refused" ? "bad" : "";
  $("detail").replaceChildren(...(event ? detail(event, state) : [html("p", { class: "hint" }, "Step forward to compute the first operation.")]));
  updateControls();
  updateLeaves(state);
  showNode(state);
  if ($("table").open) updateTable(state);
}

function updateBox(id, { group, rows, box, columns }, state, event, here, around) {
  const classes = ["box"];
  if (box) {
    const inside = nodesIn(id);
    classes.push(open.has(id) ? "frame" : "folded");
    if (inside.every((x) => nodes.get(x).leaf || state.freed.has(x))) classes.push("freed");
    group.setAttribute("aria-label", `${box.label}, ${box.nodes} nodes, ${open.has(id) ? "open" : "folded"}`);
  } else {
    const node = nodes.get(id);
    const known = state.computed.has(id);
    const got = node.leaf || node.keeps ? state.grad.get(id) || state.cotangent.get(id) : state.cotangent.get(id);
    const isGrad = (node.leaf || node.keeps) && state.grad.has(id);
    rows.was.textContent = known ? brief((ends) => `= ${text(node.value, 6, ends)}`, columns) : "";
    if (rows.got) rows.got.textContent = got ? brief((ends) => `${isGrad ? "grad" : "ḡ"} ${shown(got, node, 6, ends)}`, columns) : node.leaf ? "grad none" : "";
    classes.push(!node.requires ? "constant" : node.leaf ? "leaf" : data.roots.includes(id) ? "result" : "operation");
    if (!known) classes.push("waiting");
    else if (node.saves && !state.freed.has(id)) classes.push("saved");
    if (state.freed.has(id)) classes.push("freed");
    if (node.stale) classes.push("stale");
    if (node.change && node.change !== "same") classes.push(node.change);
    if (id === chosen) classes.push("chosen");
    const says = [`%${id} ${headline(node)}`, node.op, known ? `value ${text(node.value)}` : "not computed yet"];
    if (got) says.push(`${isGrad ? "gradient" : "cotangent"} ${shown(got, node)}`);
    if (state.freed.has(id)) says.push("freed");
    if (node.change) says.push(node.change);
    group.setAttribute("aria-label", says.join(", "));
  }
  if (id === here) classes.push(event.kind === "refused" ? "failed" : "now");
  else if (around.has(id)) classes.push("near");
  group.setAttribute("class", classes.join(" "));
  rows.signs.replaceChildren(...classes.filter((kind) => signs[kind]).map((kind) => element("tspan", { class: `sign ${kind}` }, signs[kind][0])));
}

function updateControls() {
  $("position").value = String(position);
  $("position").setAttribute("aria-valuetext", `step ${position} of ${events.length}`);
  for (const id of ["first", "back"]) $(id).disabled = position === 0;
  for (const id of ["step", "last"]) $(id).disabled = position === events.length;
  let current = 0;
  phases.forEach((phase, i) => {
    if (position > phase.start) current = i;
  });
  [...$("phases").children].forEach((button, i) => button.setAttribute("aria-current", String(i === current)));
}

function updateTable(state) {
  const rows = data.nodes.map((node) => {
    const got = node.keeps ? state.grad.get(node.id) : state.cotangent.get(node.id);
    return [`%${node.id}`, node.name || "", node.text || "", node.op, node.where || "", state.computed.has(node.id) ? text(node.value) : "", got ? shown(got, node) : "", savedText(node), state.freed.has(node.id) ? "freed" : ""];
  });
  const head = ["node", "name", "source", "operation", "where", "value", "gradient", "saves", "state"];
  $("table").querySelector(".scroll").replaceChildren(table(head, rows));
}

// Leaves and their sliders

const leafRows = new Map();
const MANY = 100;
const FEW = 12; // sliders that are shown at once

function addLeaf(id) {
  if (leafRows.has(id)) return;
  const node = nodes.get(id);
  const made = { told: html("output", {}), value: html("span", { class: "mono" }) };
  const sliders = () => (reader.get(id) || []).map((_, place) => sliderRow(id, place));
  leafRows.set(id, made);
  if (reader.has(id) && !node.shape) {
    const [row] = sliders();
    row.append(made.told);
    $("leaves").append(row);
    return;
  }
  const name = html("span", { class: "mono" }, called(id), " ", made.value);
  if (!reader.has(id)) {
    $("leaves").append(html("div", { class: "leaf-row whole" }, name, made.told));
    return;
  }
  const inside = html("div", {});
  const row = html("details", { class: "leaf-row" }, html("summary", {}, name, made.told), inside);
  row.addEventListener("toggle", () => inside.firstChild || inside.append(...sliders()));
  row.open = [...reader.values()].flat().length <= FEW;
  $("leaves").append(row);
}

// A slider and a field for an entry of a leaf
function sliderRow(id, place) {
  const index = [];
  let rest = place;
  for (const length of [...(nodes.get(id).shape || [])].reverse()) {
    index.unshift(rest % length);
    rest = Math.floor(rest / length);
  }
  const name = called(id) + (index.length ? `[${index.join(", ")}]` : "");
  const value = reader.get(id)[place];
  const reach = Number.isFinite(value) ? Math.max(1, 2 * Math.abs(value)) : 1;
  const unit = reader.get(id).unit;
  const said = unit ? `${name} in ${unit}` : name;
  const slider = html("input", { type: "range", min: value - reach, max: value + reach, step: "any", "aria-label": `${said}, slider` });
  const exact = html("input", { type: "number", step: "any", "aria-label": `${said}, number` });
  slider.value = String(value);
  exact.value = num(value);
  slider.addEventListener("input", () => {
    exact.value = num(Number(slider.value));
    setLeaf(id, Number(exact.value), place);
  });
  exact.addEventListener("input", () => {
    if (exact.value === "" || Number.isNaN(Number(exact.value))) return;
    slider.value = exact.value;
    setLeaf(id, Number(exact.value), place);
  });
  for (const one of [slider, exact]) one.addEventListener("change", redraw); // the boxes are as wide as the new numbers
  return html("div", { class: "leaf-row" }, html("span", { class: "mono" }, name), slider, exact, unit ? ` ${unit}` : "");
}

function redraw() {
  draw();
  update();
  reveal(told());
}

function updateLeaves(state) {
  for (const [id, row] of leafRows) {
    const node = nodes.get(id);
    const grad = state.grad.get(id);
    row.told.replaceChildren(...unbroken(grad ? `gradient ${shown(grad, node)}` : "gradient none"));
    row.value.replaceChildren(...unbroken(`= ${text(node.value)}`));
  }
}

function setLeaf(id, value, place = 0) {
  reader.get(id)[place] = value;
  recompute();
  update();
}

// The guards that have another outcome than in the engine
function brokenGuards(found) {
  let at = found.length - data.guards.reduce((sum, guard) => sum + guard.size, 0);
  return data.guards.filter((guard) => {
    const [now, then] = [found.slice(at, at + guard.size), original.slice(at, at + guard.size)];
    at += guard.size;
    if (guard.read === "truth") return (now[0] !== 0) !== (then[0] !== 0);
    if (guard.read === "integer") return !Number.isFinite(now[0]) || Math.trunc(now[0]) !== Math.trunc(then[0]);
    if (guard.read === "number") return !(now[0] === then[0] || Object.is(now[0], then[0]));
    return now.some((x, i) => !Object.is(x, then[i]));
  });
}

function recompute() {
  const found = inUnits(run(...data.sliders.flatMap((id) => reader.get(id).map(inSI(nodes.get(id).value)))));
  broken = brokenGuards(found);
  if (!broken.length) numbers = found;
  const told = broken.map((guard) => guard.text).join("; ");
  $("broken").hidden = !broken.length;
  $("broken").textContent = broken.length ? `This graph was built where ${told}. That does not hold here: another graph would be computed. The numbers shown are the last for which it held.` : "";
  $("canvas").classList.toggle("dim", broken.length > 0);
}

// Control

let timer = null;

function pause() {
  if (timer !== null) window.clearInterval(timer);
  timer = null;
  $("play").textContent = "▶ Play";
  $("play").setAttribute("aria-label", "Play");
}

function go(to) {
  position = Math.max(0, Math.min(events.length, to));
  update();
  reveal(told());
  if (position === events.length) pause();
}

function play() {
  if (timer !== null) {
    pause();
    return;
  }
  if (position === events.length) go(0);
  $("play").textContent = "Pause";
  $("play").setAttribute("aria-label", "Pause");
  timer = window.setInterval(() => go(position + 1), Number($("speed").value));
}

const stepTo = (to) => {
  pause();
  go(to);
};

// Along the edges: up to an operand, down to a user, aside in the layer
function neighbour(id, key) {
  const visible = (list) => list.map((x) => standsFor.get(x) ?? x).find((x) => drawn.has(x) && x !== id);
  const inside = nodes.has(id) ? [id] : nodesIn(id);
  if (key === "ArrowUp") return visible(inside.flatMap((x) => (nodes.get(x).operands || []).filter((y) => typeof y === "number")));
  if (key === "ArrowDown") return visible(inside.flatMap((x) => users.get(x) || []));
  const order = [...drawn.keys()];
  return order[order.indexOf(id) + (key === "ArrowRight" ? 1 : -1)];
}

function canvasKey(event) {
  if (isPresenting()) return;
  const current = [...drawn].find(([, made]) => made.group === document.activeElement);
  if (!event.key.startsWith("Arrow") && event.key !== "Enter" && event.key !== " ") return;
  if (!current) {
    if (event.key.startsWith("Arrow")) choose(drawn.keys().next().value, true);
  } else if (event.key.startsWith("Arrow")) {
    const next = neighbour(current[0], event.key);
    if (next !== undefined) choose(next, true);
  } else if (boxes.has(current[0])) toggle(current[0]);
  else choose(current[0], true);
  event.preventDefault();
  event.stopPropagation();
}

let viewBefore = view;

function present(isOn) {
  if (isOn === isPresenting()) return;
  document.body.classList.toggle("presenting", isOn);
  if (!isOn && document.fullscreenElement) document.exitFullscreen();
  if (isOn && navigator.userActivation?.isActive) document.documentElement.requestFullscreen?.()?.catch(() => {}); // else in the window
  if (isOn) viewBefore = view;
  look(isOn ? "follow" : viewBefore);
}

const step = (by) => stepTo(position + by);
const KEYS = [ // what is pressed, how it is called, what it does
  [["ArrowRight"], "→", "a step forward", () => step(1)],
  [["ArrowLeft"], "←", "a step back", () => step(-1)],
  [["Home"], "Home", "to the start", () => stepTo(0)],
  [["End"], "End", "to the end", () => stepTo(events.length)],
  [[" "], "space", "play and pause; a step forward while presenting", () => (isPresenting() ? step(1) : play())],
  [[..."123456789"], "1 to 9", "a phase", (key) => phases[key - 1] && choosePhase(key - 1)],
  [["p"], "p", "present: full screen, a step at a time", () => present(!isPresenting())],
  [["PageDown", "Enter"], "Page Down", "a step forward while presenting", () => isPresenting() && step(1)],
  [["PageUp"], "Page Up", "a step back while presenting", () => isPresenting() && step(-1)],
  [["Escape"], "Escape", "end presenting", () => isPresenting() && present(false)],
  [["+", "="], "+", "larger", () => look("free", 1.25)],
  [["-"], "-", "smaller", () => look("free", 1 / 1.25)],
  [["f"], "f", "fit the whole graph", () => look("fit")],
  [["z"], "z", "zoom to each step", () => look("follow")],
  [["c"], "c", "copy a link to what is shown", () => copyLink()],
  [["?"], "?", "these keys", () => $("keys").showModal()],
];

function pageKey(event) {
  const { target, key } = event;
  const isField = /^(INPUT|SELECT|SUMMARY)$/.test(target.tagName) && target.type !== "checkbox";
  if (event.ctrlKey || event.altKey || event.metaKey || isField || $("keys").open) return;
  if (/BUTTON|INPUT/.test(target.tagName) && (key === " " || key === "Enter")) return;
  const found = KEYS.find(([pressed]) => pressed.includes(key));
  if (found && found[3](key) !== false) event.preventDefault();
}

// A link to what is shown

let link = window.location.hash;

async function copyLink() {
  const state = new URLSearchParams({ step: position, view: view === "free" ? scale : view });
  for (const id of ["retain", "folded"]) state.set(id, Number($(id).checked));
  state.set("open", [...open].join(","));
  for (const [id, values] of reader) state.set(id, values.join(","));
  link = `#${state}`;
  const address = window.location.href.split("#")[0] + link;
  if (window.location.protocol !== "about:") window.location.replace(address); // a frame in a notebook has none
  const isCopied = await navigator.clipboard?.writeText(address).then(() => true, () => false);
  $("link").textContent = isCopied ? "copied" : "in the address";
  window.setTimeout(() => ($("link").textContent = "link"), 2000);
}

function restore() {
  const state = new URLSearchParams(link.slice(1));
  for (const id of reader.keys()) {
    const values = (state.get(id) || "").split(",").map(Number);
    if (state.has(id) && values.length === reader.get(id).length && !values.some(Number.isNaN)) reader.set(id, named(values, reader.get(id).unit));
  }
  if (state.size && reader.size) recompute();
  for (const id of ["retain", "folded"]) if (state.has(id)) $(id).checked = state.get(id) === "1";
  for (const id of (state.get("open") || "").split(",").map(Number)) if (boxes.has(id)) open.add(id);
  return state;
}

// A phase begins with its first event; the forward one is shown when it is over
function choosePhase(i) {
  stepTo(i ? phases[i].start + 1 : (phases[1] || { start: events.length }).start);
}

function changeRetain() {
  const current = phases.reduce((found, phase, i) => (position > phase.start ? i : found), 0);
  const offset = position - phases[current].start;
  makeEvents();
  go(Math.min(phases[current].start + offset, (phases[current + 1] || { start: events.length }).start));
}

function start() {
  $("folded").checked = data.nodes.length > 60;
  const state = restore();
  makeEvents();
  phases.forEach((phase, i) => {
    const button = html("button", { "aria-current": "false" }, `${i + 1} ${phase.label}`);
    button.addEventListener("click", () => choosePhase(i));
    $("phases").append(button);
  });
  $("first").addEventListener("click", () => stepTo(0));
  $("back").addEventListener("click", () => step(-1));
  $("play").addEventListener("click", play);
  $("step").addEventListener("click", () => step(1));
  $("last").addEventListener("click", () => stepTo(events.length));
  $("position").addEventListener("input", () => stepTo(Number($("position").value)));
  $("speed").addEventListener("change", () => {
    if (timer !== null) {
      pause();
      play();
    }
  });
  $("retain").addEventListener("change", changeRetain);
  $("folded").addEventListener("change", redraw);
  for (const [id, key] of [["smaller", "-"], ["larger", "+"], ["fit", "f"], ["follow", "z"], ["present", "p"], ["link", "c"], ["help", "?"]]) {
    $(id).addEventListener("click", KEYS.find(([pressed]) => pressed.includes(key))[3]);
  }
  $("keys").querySelector("dl").replaceWith(facts(KEYS.map(([, name, said]) => [name, said])));
  $("close").addEventListener("click", () => $("keys").close());
  canvas.addEventListener("keydown", canvasKey);
  document.addEventListener("keydown", pageKey);
  document.addEventListener("fullscreenchange", () => document.fullscreenElement || present(false));
  window.addEventListener("hashchange", () => window.location.hash === link || window.location.reload());
  $("table").addEventListener("toggle", update);
  for (const [kind, [sign, said]] of Object.entries(signs)) $("legend").append(html("li", {}, html("i", { class: `sign ${kind}` }, sign), said));
  $("folded-label").hidden = !data.flat || data.boxes.length < 2;
  const leaves = data.nodes.filter((node) => node.leaf && node.requires);
  for (const leaf of leaves.slice(0, MANY)) addLeaf(leaf.id);
  $("reason").textContent = leaves.length > MANY ? `${leaves.length - MANY} more leaves: choose one in the drawing` : data.sliders.length ? "" : `No sliders: ${data.reason}.`;
  const guards = [...new Set(data.guarded.map((guard) => guard.text))];
  $("guards").hidden = !guards.length;
  $("guards").querySelector("ul").append(...guards.slice(0, 50).map((said) => html("li", { class: "mono" }, said)));
  const at = Number(state.get("step") ?? (phases[1] || { start: events.length }).start);
  position = Math.max(0, Math.min(events.length, at || 0));
  draw();
  update();
  reveal([]);
  if (scale < 0.7) view = "follow"; // where its letters would be too small to read
  if (state.has("view")) view = state.get("view");
  if (Number(view) > 0) {
    resize(Number(view));
    view = "free";
  }
  new ResizeObserver(() => reveal(told())).observe(canvas);
}

start();
