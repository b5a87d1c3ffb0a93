"""The page of a graph in Chromium and in Firefox: what its buttons, keys and sliders do, and that it needs nothing else."""

import random
import re
from pathlib import Path

import browser
import firefox
import pytest
from pages import shown_in, started
from rows import divided, each

from agrad.engine import units
from agrad.grammar.session.session import Session

pytestmark = pytest.mark.long

TOY = "var a = [0.1, 0.2, 0.3, 0.4]\nb = a**2\nc = b*2\nd = mean(c)\ne = sum(c)"
CHOICE = "var x = 2; var y = 3\nz = sin(x)*y\nif x > 1:\n    z = z*x"
LOOP = "var q = 1.5\ns = q\nfor i in range(1250):\n    s = s*0.999\n    s = s + 0.001*sin(q)*q"


BROWSERS = {"chromium": (browser.Browser, browser.MISSING), "firefox": (firefox.Firefox, firefox.MISSING)}


@pytest.fixture(scope="module", params=BROWSERS)
def window(request):
    yield from started(*BROWSERS[request.param])


@pytest.fixture(scope="module")
def chromium():
    yield from started(*BROWSERS["chromium"])


@pytest.fixture
def shown(window, tmp_path):
    yield from shown_in(window, tmp_path)


@pytest.fixture
def shown_in_chromium(chromium, tmp_path):
    """For what needs the protocol of its developers' tools."""
    yield from shown_in(chromium, tmp_path)


def status(page):
    return page.text("#status")


def test_it_opens_with_all_values_and_asks_no_network_for_anything(shown):
    page = shown(TOY, "d", "e")
    assert page.text("h1") == "graph of d, e: 5 nodes, 1 leaf, held"
    assert status(page) == "Forward, node %5: e = sum(c) is 0.6."
    boxes = page.js("return [...document.querySelectorAll('svg .box .was')].map(x => x.textContent)")
    assert sorted(boxes) == [
        "= 0.15",
        "= 0.6",
        "= [0.01, 0.04, 0.09, 0.16]",
        "= [0.02, 0.08, 0.18, 0.32]",
        "= [0.1, 0.2, 0.3, 0.4]",
    ]


def test_every_button_does_what_it_says(shown):
    page = shown(TOY, "d", "e")
    page.click("#first")
    assert status(page) == "Before the first operation: only the leaves have values."
    assert page.js("return document.querySelector('#back').disabled")
    page.click("#step")
    assert status(page) == "Forward, node %2: b = a**2 is [0.01, 0.04, 0.09, 0.16]."
    page.click("#step")
    page.click("#back")
    assert status(page) == "Forward, node %2: b = a**2 is [0.01, 0.04, 0.09, 0.16]."
    page.click("#last")
    assert status(page) == "backward e is refused: e cannot be differentiated: part of its graph was freed."
    assert page.js("return document.querySelector('#step').disabled")
    page.click("#phases button:nth-child(2)")
    assert status(page) == "backward d begins: the cotangent of d is 1."
    assert page.js("return [...document.querySelectorAll('#phases button')].map(x => x.ariaCurrent)") == [
        "false",
        "true",
        "false",
    ]
    widths = [page.js("return Number(document.querySelector('svg').getAttribute('width'))")]
    for name in ("larger", "smaller", "smaller", "fit"):
        page.click(f"#{name}")
        widths.append(page.js("return Number(document.querySelector('svg').getAttribute('width'))"))
    assert widths[1] > widths[0] > widths[3]
    assert abs(widths[2] - widths[0]) <= 1  # pixels
    assert widths[4] == widths[0]


def test_it_plays_to_the_end_and_pauses(shown):
    page = shown(TOY, "d", "e")
    page.click("#first")
    page.js("document.querySelector('#speed').value = '40'")
    page.click("#play")
    assert page.text("#play") == "Pause"
    page.js_later(
        "const done = arguments[0]; (function look() { if (position === events.length) done(); else setTimeout(look, 20) })()"
    )
    assert page.text("#play") == "▶ Play"
    page.js("document.querySelector('#speed').value = '1600'")
    page.click("#play")
    assert page.js("return position") == 0
    page.click("#play")
    assert page.text("#play") == "▶ Play"


def test_the_second_backward_of_the_toy_is_refused_and_says_why(shown):
    page = shown(TOY, "d", "e")
    page.click("#phases button:nth-child(3)")
    assert page.js("return [...document.querySelectorAll('#detail p, #detail li')].map(x => x.textContent)") == [
        "e cannot be differentiated: part of its graph was freed",
        "line 2: a**2: PowBackward lost its saved values",
        "freed by backward d",
        "fix: evaluate e again",
        "Tick “retain the graph” above to see it walk.",
    ]
    assert len(page.js("return [...document.querySelectorAll('svg .box.freed')]")) == 3  # b, c, d
    page.click("#retain")
    page.click("#last")
    assert status(page) == "The graph behind e is retained: another backward can walk it."
    assert page.text("#leaves output") == "gradient [0.5, 1, 1.5, 2]"


def test_the_cotangent_comes_in_and_the_products_go_out(shown):
    page = shown("var x = 3\ny = x**2\nz = y*x", "z")
    page.click("#phases button:nth-child(2)")
    page.click("#step")
    assert status(page) == "Backward at z = y*x: 1 comes in; 3 to y, 9 to x goes out."
    cells = "return [...document.querySelectorAll('#detail dd')].map(x => x.textContent)"
    assert page.js(cells) == ["1", "y, x", "y", "3", "3", "3", "x", "9", "9", "9"]
    page.click("#step")
    assert page.js(cells) == ["3", "x", "x", "6", "18", "27"]  # the sum fills up
    page.click("#step")
    assert status(page) == "The gradient of x is written: 27."
    assert not page.js("return document.querySelectorAll('svg .box.freed').length")
    page.click("#step")
    assert page.js("return document.querySelectorAll('svg .box.freed').length") == 2


def test_keys_step_and_walk_along_the_edges(shown):
    page = shown(TOY, "d", "e")
    page.keys("Home")
    page.keys("Right", "Right", "Left")
    assert page.js("return position") == 1
    page.keys("3")
    assert status(page).startswith("backward e is refused")
    page.keys("End")
    page.keys("Up", at="#canvas")
    focused = "return document.activeElement.getAttribute('aria-label')"
    assert page.js(focused).startswith("%1 a, leaf")
    page.js("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}))")
    assert page.js(focused).startswith("%2 b = a**2, Pow")


def test_a_click_shows_all_of_info(shown):
    page = shown(TOY, "d")
    page.js("document.querySelector('svg .box').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    facts = page.text("#node")
    for fact in ("leaf that requires grad", "(4), 4 entries", "0, never written in place", "its own", "memory32 bytes"):
        assert fact in facts


def test_a_guard_that_breaks_is_named(shown):
    page = shown(CHOICE, "z")
    page.js("setLeaf(data.sliders[0], 0.5)")
    assert page.text("#broken") == (
        "This graph was built where x > 1 is true, line 3. That does not hold here: another graph would be computed. "
        "The numbers shown are the last for which it held."
    )
    page.js("setLeaf(data.sliders[0], 1.5)")
    assert page.js("return document.querySelector('#broken').hidden")


def test_a_slider_computes_values_gradients_and_the_walk_anew(shown):
    page = shown("var x = 2; var y = 3\nz = x*y + x**2", "z")
    page.click("#last")
    page.keys("1", "0", at="input[type=number]")  # behind the 2
    assert page.js("return document.querySelector('input[type=number]').value") == "210"
    assert page.js("return document.querySelector('#leaves output').textContent") == "gradient 423"
    page.js(
        "const s = document.querySelector('#leaves input[type=range]'); s.value = -1; s.dispatchEvent(new Event('input'))"
    )
    assert page.js("return [...document.querySelectorAll('#leaves output')].map(x => x.textContent)") == [
        "gradient 1",
        "gradient -1",
    ]


PINNED = Path(__file__).with_name("test_page_browser")
EXPRESSIONS = divided((PINNED / "expressions.txt").read_text("utf-8"))


@each("expression", EXPRESSIONS)
def test_the_page_computes_what_the_engine_computes(expression, shown):
    text = "var x = 0.7; var y = 1.3\nz = " + expression
    session = Session()
    try:
        session.run(text, lambda result: None)
    finally:
        page = shown(text, "z")
    assert page.js("return data.reason") == ""
    rng = random.Random(expression)
    points = [(rng.uniform(-3, 4), rng.uniform(-3, 4)) for _ in range(50)]
    script = """
        const ids = data.sliders, root = nodes.get(data.roots[0]);
        return arguments[0].map(([x, y]) => {
            reader.set(ids[0], [x]); reader.set(ids[1], [y]); recompute();
            const kept = new Map(data.walks[0].kept);
            return [root.value, kept.get(ids[0]), kept.get(ids[1])].map((p) => String(p ? numbers[p[0]] : 0));
        })"""
    found = page.js(script, points)
    names = session.names
    for (x, y), here in zip(points, found, strict=True):
        session.run(f"forward z with x={x!r}, y={y!r}\nzero_grad\nbackward z retain", lambda result: None)
        there = [names["z"].item(), *(0.0 if (g := names[name].grad) is None else g.item() for name in "xy")]
        assert [float(one.replace("Infinity", "inf")) for one in here] == pytest.approx(
            there, rel=1e-12, abs=1e-12, nan_ok=True
        ), (x, y)


def test_values_gradients_sliders_and_the_walk_have_units(shown):
    page = shown("var v = 10 km/h\nE = 0.5*(2 kg)*v^2", "E")
    page.click("#last")
    page.click("#back")
    page.click("#back")
    assert status(page) == "The gradient of v is written: 1.54321 J/(km/h)."
    page.click("#back")
    assert status(page) == "Backward at v^2: 0.0771605 J/(km²/h²) comes in; 1.54321 J/(km/h) to v goes out."
    assert page.js("return document.querySelector('#leaves input[type=number]').value") == "10"
    labels = page.js("return [...document.querySelectorAll('#leaves input')].map(x => x.ariaLabel)")
    assert labels == ["v in km/h, slider", "v in km/h, number"]
    page.keys("0", at="input[type=number]")  # behind the 10
    page.click("#step")
    assert page.text("#leaves") == "v km/hgradient 15.4321 J/(km/h)"
    boxes = page.js("return [...document.querySelectorAll('svg .box .was')].map(x => x.textContent)")
    assert boxes == ["= 2 kg", "= 100 km/h", "= 1 kg", "= 10000 km²/h²", "= 771.605 J"]


# What is computed from x km/h and y °C.
MEASURED = [
    "0.5*(2 kg)*x^2*exp(-(y - 20 °C)/(300 K))",
    "sqrt(x*(3 m/s))*(y - 300 K) if x < 9000 m/s else x*(1 K)",
    "mean([y, 5 °C + x*(1 K h/km)]) to °F",
    "(x to m/s)/(y to K)",
    "sum([1, 2] kg*x)*([1 kg, 3 kg] @ [y, y])*2",
]


@each("expression", MEASURED)
def test_the_page_computes_with_units_what_the_engine_computes(expression, shown):
    text = f"var x = 7 km/h; var y = 20 °C\nz = {expression}"
    page, session = shown(text, "z"), Session()
    session.run(text, lambda result: None)
    assert page.js("return data.reason") == ""
    script = """
        const [x, y] = data.sliders, root = nodes.get(data.roots[0]), kept = new Map(data.walks[0].kept);
        return arguments[0].map((point) => {
            [x, y].forEach((id, i) => reader.set(id, [point[i]]));
            recompute();
            return [root.value, kept.get(x), kept.get(y)].map((place) => [numbers[place[0]], measures.get(place[0])?.[1] || ""]);
        })"""
    rng = random.Random(expression)
    points = [(rng.uniform(1, 40), rng.uniform(-30, 90)) for _ in range(20)]
    for (x, y), here in zip(points, page.js(script, points), strict=True):
        session.run(f"forward z with x={x!r} km/h, y={y!r} °C\nzero_grad\nbackward z retain", lambda result: None)
        values = [session.names["z"], *(session.names[name].grad for name in "xy")]
        for (number, unit), value in zip(here, values, strict=True):
            there, _, of = units.shown(value)
            assert unit == of
            assert number == pytest.approx(there, rel=1e-12, abs=1e-12)


def test_no_number_in_a_box_or_under_the_pointer_is_cut_inside(shown):
    entries = [[-79.7979797, 7.97e-79, -9797979.9], [7, -99.79, 7.7e97], [-9.9e-99, 797.9, -7]]
    for count in range(1, 9):
        values = [x for row in entries for x in row][:count]
        page = shown(f"var w = {values}\ny = w*{values[::-1]}\nz = sum(y)", "z")
        page.js("go(events.length)")
        said = page.js("return [...document.querySelectorAll('#canvas text, #canvas title')].map(x => x.textContent)")
        seen = re.findall(r"(?<![-+\w.#])-?[79.]+(?:e[-+]?[79]+)?(?![\w.])", "\n".join(said))
        assert len(seen) > count
        whole = [*values, *(x * y for x, y in zip(values, values[::-1], strict=True))]
        assert {*map(float, seen)} <= {*whole, *(float(f"{x:.6g}") for x in whole)}, said


def test_a_singular_matrix_is_a_broken_guard(shown):
    page = shown("var x = 2\nz = sum(solve([[x, 1], [1, 2]], [1, 1]))", "z")
    page.js("setLeaf(data.sliders[0], 0.5)")
    assert page.text("#broken") == (
        "This graph was built where the results of its matrix operations are finite. That does not hold here: another "
        "graph would be computed. The numbers shown are the last for which it held."
    )
    page.js("setLeaf(data.sliders[0], 3)")
    assert page.js("return [nodes.get(data.roots[0])].map((node) => numbers[node.value[0]])") == [0.6]


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (
            "gammainc(x, 2)",
            "the derivative of an incomplete gamma function by its shape cannot be written in JavaScript: "
            "no short algorithm for it is accurate",
        ),
        ("sum(expm([[x, 1], [2, 3]]))", "the page has no code for expm of shape (2, 2)"),
        ("sum(sort(x*arange(30)))", "the page has no code for argsort of shape (30)"),
    ],
)
def test_what_it_cannot_compute_it_names(expression, reason, shown):
    page = shown(f"var x = 0.5\nz = {expression}", "z")
    assert page.text("#reason") == f"No sliders: {reason}."


def test_5000_nodes_are_folded_and_unfold_on_click(shown):
    page = shown(LOOP, "s")
    assert page.js("return data.nodes.length") > 5000
    assert 1 < page.js("return document.querySelectorAll('svg .box').length") <= 101
    before = page.js("return drawn.size")
    folded = "document.querySelector('svg .folded')"
    page.js(f"{folded}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    assert page.js("return drawn.size") > before
    page.click("#last")
    assert status(page).startswith("backward s is refused")
    page.click("#back")
    assert status(page).startswith("The graph behind s is freed: 6250 operations")
    page.click("#table summary")
    assert page.until("return document.querySelectorAll('#table tbody tr').length") > 5000


def test_a_function_folds_into_one_box(shown):
    page = shown("var x = 2\ndef f(u):\n    p = u*u\n    return sin(p)\ny = f(x)\nz = f(y)", "z")
    assert page.js("return document.querySelectorAll('svg .box').length") == 5
    page.click("#folded")
    names = "return [...document.querySelectorAll('svg .name')].map(x => x.textContent)"
    assert sorted(page.js(names)) == ["x", "▸ f(…)", "▸ f(…)"]
    page.js("toggle([...drawn.keys()].find((id) => boxes.has(id)))")
    assert {"p = u*u", "x", "▸ f(…)", "▾ f(…)"} < set(page.js(names))


def test_a_text_of_the_user_does_not_run(window, tmp_path):
    import agrad.engine as ag
    from agrad.engine.inspect.dump import dump

    x = ag.tensor(2.0, requires_grad=True)
    x.name = "</script><script>document.title = 'broken'</script><img src=x onerror=alert(1)>"
    path = Path(tmp_path / "walk.html")
    path.write_text(dump(x * x, x.name).page(), encoding="utf-8")
    window.open(path)
    assert window.js("return document.title").startswith("graph of </script><script>")
    assert window.js("return document.querySelectorAll('img').length") == 0
    assert (window.errors(), window.requests()) == ([], [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 640])  # the second is a window at 200 %
def test_axe_finds_nothing(shown_in_chromium, scheme, width):
    axe = pytest.importorskip("axe_core_python")
    page = shown_in_chromium(CHOICE, "z")
    page.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.command("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    try:
        page.js(Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8"))
        page.js("document.querySelector('#table').open = true")
        for phase in (1, 2, 3):
            page.click(f"#phases button:nth-child({phase})")
            page.js("choose(data.nodes[0].id)")
            found = page.js_later("const done = arguments[0]; axe.run().then((found) => done(found.violations), done)")
            assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
        assert page.js("return document.documentElement.scrollWidth <= window.innerWidth")
    finally:
        page.command("Emulation.clearDeviceMetricsOverride")
        page.command("Emulation.setEmulatedMedia", features=[])


def test_it_prints_the_drawing_without_controls(shown_in_chromium):
    page = shown_in_chromium(TOY, "d")
    page.command("Emulation.setEmulatedMedia", media="print")
    visible = "return getComputedStyle(document.querySelector(arguments[0])).display !== 'none'"
    try:
        assert [page.js(visible, one) for one in ("svg", "#controls", "nav", ".zoom")] == [True, False, False, False]
    finally:
        page.command("Emulation.setEmulatedMedia", media="")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_looks_as_it_did(shown_in_chromium, scheme):
    """In 26 by 18 fields: their mean colours, which fonts change little. Delete a file to make it anew."""
    plots = pytest.importorskip("matplotlib.image")
    np = pytest.importorskip("numpy")
    from io import BytesIO

    page = shown_in_chromium(TOY, "d", "e")
    page.command("Emulation.setDeviceMetricsOverride", width=1300, height=900, deviceScaleFactor=1, mobile=False)
    page.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    try:
        page.js(
            "document.head.append(Object.assign(document.createElement('style'), {textContent: '* {transition: none !important}'}))"
        )
        page.click("#phases button:nth-child(3)")
        picture = plots.imread(BytesIO(page.screenshot()))[:900, :1300, :3]
    finally:
        page.command("Emulation.clearDeviceMetricsOverride")
        page.command("Emulation.setEmulatedMedia", features=[])
    fields = picture.reshape(18, 50, 26, 50, 3).mean(axis=(1, 3))
    path = PINNED / f"{scheme}.png"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        plots.imsave(path, fields)
    pinned = plots.imread(path)[:, :, :3]
    assert np.abs(pinned - fields).max() < 0.15
    assert np.abs(pinned - fields).mean() < 0.01
