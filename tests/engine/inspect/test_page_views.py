"""The page in windows of three sizes: what is in view, sliders of arrays, presenting, keys alone, and links."""

import random

import browser
import pytest
from pages import shown_in, started

from agrad.grammar.session.session import Session

SIZES = [(1280, 800), (1920, 1080), (390, 844)]
LAYER = "var w = [[0.1, -0.2], [0.3, 0.4], [-0.5, 1e-7]]; var b = [0.1, 0.2, -30.25]"
NETWORK = f"{LAYER}\nv = [1, 2]\nh = tanh(w@v + b)\nvar u = [1.5, -1, 0.5]\nloss = (sum(u*h) - 0.5)**2"
GRAPHS = {
    "a fit": ("var a = [0.1, 0.2, 0.3, 0.4]\nb = a**2\nc = b*2\nd = mean(c)\ne = sum(c)", "d", "e"),
    "a network": (NETWORK, "loss"),
    "many numbers": (f"var m = {[[-1234567.25 / (i + j + 1) for j in range(4)] for i in range(3)]}\ns = m*m\nt = sum(s)", "t"),
    "names": ("var 温度の測定値 = 2; var x_with_a_name_that_is_too_long_for_any_box = -3e-100\ny = sin(温度の測定値*x_with_a_name_that_is_too_long_for_any_box) + 1", "y"),
    "functions": ("var x = 2\ndef a_function_with_a_long_name(u):\n    p = u*u\n    return sin(p)\n" "y = a_function_with_a_long_name(x)\nz = a_function_with_a_long_name(y)", "z"),
    "a long sum": ("var x = 0.5; s = x\nfor i in range(12):\n    s = s*x + sin(x)", "s"),
}  # fmt: skip

# What is not where it should be: a text of the drawing outside its box, one of the page outside the window or its
# section, a number broken over two lines, a control over another.
FAULTS = """
const found = [];
const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
const rect = (x) => x.getBoundingClientRect();
for (const one of document.querySelectorAll("svg text")) {
  const box = rect(one.parentNode.querySelector(":scope > rect:not(.under)"));
  if (one.textContent && !inside(rect(one), box)) found.push(`outside its box: ${one.textContent}`);
}
for (const group of document.querySelectorAll("svg .box")) {
  const [name, signs] = ["name", "signs"].map((kind) => rect(group.querySelector(`:scope > .${kind}`)));
  if (signs.width && name.right > signs.left) found.push(`over its signs: ${group.textContent}`);
}
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const [node, owner] = [walker.currentNode, walker.currentNode.parentElement];
  if (!node.data.trim() || !owner.checkVisibility() || owner.closest("svg, script, option, .scroll")) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  const around = rect(owner.closest("button, #status, #broken, section, nav, dialog, header, details"));
  for (const one of range.getClientRects()) {
    if (one.left < around.left - 1 || one.right > around.right + 1) found.push(`outside: ${node.data}`);
    if (one.right > window.innerWidth) found.push(`beyond the window: ${node.data}`);
  }
  for (const part of node.data.matchAll(NUMBER)) {
    range.setStart(node, part.index);
    range.setEnd(node, part.index + part[0].length);
    if (new Set([...range.getClientRects()].map((one) => one.top)).size > 1) found.push(`broken: ${part[0]}`);
  }
}
const controls = [...document.querySelectorAll("button, input, select, summary")].filter((x) => x.checkVisibility());
controls.forEach((one, i) => controls.slice(i + 1).forEach((other) => {
  const [a, b] = [rect(one), rect(other)];
  if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) found.push(`${one.id} over ${other.id}`);
}));
if (document.documentElement.scrollWidth > window.innerWidth) found.push("wider than the window");
return [...new Set(found)];
"""
# Of the step that is told: whether its box is in the drawing's view and that in the window, and the size of its letters.
TOLD = """
const [box, view] = [told()[0], canvas].map((x) => (typeof x === "number" ? drawn.get(x).group : x).getBoundingClientRect());
const isIn = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
return [isIn(box, view), isIn(view, { left: 0, top: 0, right: window.innerWidth, bottom: window.innerHeight }), 13 * scale];
"""


@pytest.fixture(scope="module")
def window():
    yield from started(browser.Browser, browser.MISSING)


@pytest.fixture
def shown(window, tmp_path):
    yield from shown_in(window, tmp_path)
    window.command("Emulation.clearDeviceMetricsOverride")


def sized(page, width, height):
    """A window of this size, in which the page has been laid out anew."""
    page.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    settled(page)


def settled(page):
    """After what changed sizes has been answered."""
    page.js_later("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))")


def test_the_slider_of_an_entry_computes_what_the_engine_computes(shown):
    page = shown(NETWORK, "loss")
    session = Session()
    session.run(NETWORK, lambda result: None)
    names = session.names
    random_ = random.Random(3)
    values = {name: names[name].numpy().copy() for name in "wbu"}
    assert page.js("return data.sliders.map((id) => nodes.get(id).name)") == [*"wbu"]
    assert page.js("return document.querySelectorAll('#leaves details').length") == 3
    page.js("document.querySelectorAll('#leaves details').forEach((row) => { row.open = true })")
    page.until("return document.querySelectorAll('#leaves input[type=range]').length === 12")
    for _ in range(20):
        name = random_.choice("wbu")
        index = tuple(random_.randrange(length) for length in values[name].shape)
        label = f"{name}[{', '.join(map(str, index))}], number"
        values[name][index] = round(random_.uniform(-3, 3), 5)
        page.js(
            """const field = [...document.querySelectorAll("input")].find((x) => x.ariaLabel === arguments[0]);
            field.value = arguments[1]; field.dispatchEvent(new Event("input"))""",
            label,
            str(values[name][index]),
        )
        given = ", ".join(f"{name}={x.tolist()!r}" for name, x in values.items())
        session.run(f"forward loss with {given}\nzero_grad\nbackward loss retain", lambda result: None)
        found = page.js(
            """const kept = new Map(data.walks[0].kept);
            return [entries(nodes.get(data.roots[0]).value), ...data.sliders.map((id) => entries(kept.get(id)))]"""
        )
        there = [[names["loss"].item()], *(names[name].grad.numpy().ravel().tolist() for name in "wbu")]
        for here, wanted in zip(found, there, strict=True):
            assert here == pytest.approx(wanted, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("name", ["a fit", *[pytest.param(name, marks=pytest.mark.long) for name in list(GRAPHS)[1:]]])
def test_texts_stay_in_their_boxes_and_controls_apart(name, shown):
    page = shown(*GRAPHS[name])
    page.js("document.querySelectorAll('#leaves details').forEach((row) => { row.open = true })")
    for width, height in SIZES:
        sized(page, width, height)
        for at in (0, 0.5, 0.8, 1):
            page.js(
                "stepTo(Math.round(events.length * arguments[0])); choose(data.nodes[data.nodes.length - 1].id)", at
            )
            assert page.js(FAULTS) == [], (width, at)
        page.js("for (const id of data.sliders) setLeaf(id, -1.2345678e-101); stepTo(Math.round(events.length * 0.7))")
        assert page.js(FAULTS) == [], (width, "moved")
        page.js("redraw()")
        assert page.js(FAULTS) == [], (width, "drawn anew")
        page.js("document.querySelector('#keys').showModal()")
        assert page.js("const x = document.querySelector('#keys'); return x.scrollWidth <= x.clientWidth")
        page.js("document.querySelector('#keys').close(); present(true)")
        settled(page)
        assert page.js(FAULTS) == [], (width, "presenting")
        page.js("present(false)")


@pytest.mark.long
@pytest.mark.parametrize("name", GRAPHS)
def test_what_is_told_is_in_view_and_is_read(name, shown):
    page = shown(*GRAPHS[name])
    for presents in (False, True):
        page.js("present(arguments[0])", presents)
        for width, height in SIZES:
            sized(page, width, height)
            page.js("look('follow')")
            for at in range(page.js("return events.length") + 1):
                page.js("stepTo(arguments[0])", at)
                settled(page)
                in_view, in_window, letters = page.js(TOLD)
                assert (in_view, in_window) == (True, True), (at, width)
                least = 11 if not presents else 0.022 * height if width > height else 12
                assert letters >= least, (at, width, letters)


@pytest.mark.long
@pytest.mark.parametrize("name", GRAPHS)
def test_fit_shows_all_of_the_drawing(name, shown):
    page = shown(*GRAPHS[name])
    for width, height in SIZES:
        sized(page, width, height)
        page.click("#fit")
        inner = "canvas.scrollWidth <= canvas.clientWidth && canvas.scrollHeight <= canvas.clientHeight"
        fills = (
            "[svg.width >= 0.9*(canvas.clientWidth - 20), svg.height >= 0.9*(canvas.clientHeight - 20), scale === 2]"
        )
        found = page.js(
            f"const svg = canvas.firstChild.getBoundingClientRect(); return [{inner}, {fills}.some((x) => x)]"
        )
        assert found == [True, True], (width, height)


@pytest.mark.long
def test_one_key_a_step_presents(shown):
    page = shown(NETWORK, "loss")
    page.keys("Home", "p")
    visible = (
        "return ['#status', '#canvas', '#controls', 'aside'].map((x) => document.querySelector(x).checkVisibility())"
    )
    assert page.js(visible) == [True, True, False, False]
    told = [page.text("#status")]
    for key in (" ", "\ue00f", "Enter", "Right"):  # the third is Page Down
        page.keys(key)
        told.append(page.text("#status"))
    assert len(set(told)) == 5
    page.keys("\ue00e")
    assert page.text("#status") == told[-2]
    assert (
        page.js("return parseFloat(getComputedStyle(document.querySelector('#status')).fontSize) / innerHeight")
        >= 0.022
    )
    page.keys("p")
    assert page.js(visible) == [True] * 4


@pytest.mark.long
def test_all_is_reached_by_keys_alone_and_shows_where_it_is(shown):
    page = shown(GRAPHS["a fit"][0], "d", "e")
    reached = []
    for _ in range(60):
        page.keys("Tab", at="body" if not reached else ":focus")
        reached.append(
            page.js(
                """const x = document.activeElement, s = getComputedStyle(x.closest("svg") ? x.querySelector("rect") : x);
                return [x.id || x.ariaLabel || x.textContent, s.outlineStyle !== "none" || s.strokeWidth === "4px"]"""
            )
        )
        if reached.count(reached[0]) > 1 or page.js("return document.activeElement === document.body"):
            break
    names = [name for name, _ in reached]
    wanted = "1 forward,first,position,speed,retain,folded,canvas,fit,follow,present,link,help".split(",")
    assert [name for name in names if name in wanted] == wanted
    assert {"a[0], slider", "a[3], number"} <= set(names)
    assert [name for name, is_seen in reached[:-1] if not is_seen] == []
    page.keys("?")
    assert page.js("return document.querySelector('#keys').open")
    assert page.js("return document.querySelectorAll('#keys dt').length === KEYS.length")
    page.click("#close")
    assert not page.js("return document.querySelector('#keys').open")
    page.keys("?")
    page.keys("\ue00c", at=":focus")  # Escape
    assert not page.js("return document.querySelector('#keys').open")
    for key, seen in [("f", "fit"), ("z", "follow"), ("+", "free"), ("f", "fit"), ("-", "free")]:
        page.keys(key)
        assert page.js("return view") == seen


@pytest.mark.long
def test_a_link_restores_what_is_shown(shown):
    page = shown(GRAPHS["functions"][0], "z")
    page.click("#folded")
    page.js("toggle([...drawn.keys()].find((id) => boxes.has(id))); setLeaf(data.sliders[0], 0.1 + 0.2)")
    page.js("document.querySelector('#retain').click(); stepTo(9); look('free', 1.37)")
    now = """return [position, view, scale, [...open], [...reader].join(), numbers.join(), retain.checked, folded.checked,
        document.querySelector("#status").textContent, [...drawn.keys()].join()]"""
    now = now.replace("retain.", "document.querySelector('#retain').").replace(
        "folded.", "document.querySelector('#folded')."
    )
    before = page.js(now)
    page.keys("c")
    address = page.until("return location.hash.length > 1 && location.href")
    page.until("return document.querySelector('#link').textContent !== 'link'")
    page.open_address("about:blank")
    page.open_address(address)
    settled(page)
    assert page.js(now) == before
    for hostile in ("#step=x&view=-3&1=1,2,3&open=999,z", "#step=99999&view=nothing&1=nan"):
        page.open_address("about:blank")
        page.open_address(address.split("#")[0] + hostile)
        assert page.js("return [position <= events.length, reader.get(1)[0], view]")[:2] == [True, 2]
        assert page.js(FAULTS) == []
