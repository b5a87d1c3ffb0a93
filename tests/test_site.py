"""The site is built from the documents without a warning; its links lead somewhere, and its search finds."""

import os
import re
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urldefrag

import pytest
from browser import MISSING, Browser, NotStarted

ROOT = Path(__file__).parents[1]
_needed = ("mkdocs", "material", "markdown_it")
_absent = [name for name in _needed if find_spec(name) is None]
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(_absent), reason='MkDocs is not installed: make site, or pip install "agrad[site]"'),
]


class Page(HTMLParser):
    """What an HTML page refers to, the places in it, and the text of the article without what the theme adds."""

    def __init__(self, text, is_article=False):
        super().__init__()
        self.links, self.loaded, self.places, self.words = [], [], set(), []
        self.is_article, self.added, self.counts = is_article, "", {}
        self.feed(text)
        self.text = "".join("".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("script", "img", "iframe", "source", "link"):
            self.loaded += [given[name] for name in ("src", "href") if name in given]
        self.is_article |= tag == "article"
        if self.is_article:
            self.counts[tag] = self.counts.get(tag, 0) + 1
            if not self.added and (tag in ("button", "nav") or given.get("class") == "headerlink"):
                self.added = tag

    def handle_endtag(self, tag):
        self.is_article &= tag != "article"
        if tag == self.added:
            self.added = ""

    def handle_data(self, data):
        if self.is_article and not self.added:
            self.words.append(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of the site, built as `make site` does."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", place]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not re.search("WARNING|ERROR", done.stderr), done.stderr
    return place


@pytest.fixture(scope="module")
def built(folder):
    """The pages, by the names of their files."""
    return {path.name: Page(path.read_text("utf-8")) for path in folder.glob("*.html")}


def hook():
    """The module that prepares the pages."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import site_pages
    finally:
        sys.path.remove(str(ROOT / "docs"))
    return site_pages


def sources():
    """The documents, by the names of their pages."""
    found = {path.name: path for path in (ROOT / "docs").glob("*.md")}
    found |= {name: ROOT / path for name, path in hook().ELSEWHERE.items()}
    return {name.replace(".md", ".html"): path for name, path in found.items()}


def test_there_is_a_page_for_each_document(built):
    assert built.keys() == sources().keys() | {"404.html"}


def test_nothing_but_pages_is_in_it(folder):
    assert [*folder.rglob("__pycache__")] == []


def test_every_link_leads_to_a_place(built, folder):
    broken = []
    for name, page in built.items():
        if name == "404.html":  # its links are absolute, since it may be shown anywhere
            continue
        for link in page.links:
            if re.match(r"https?:|mailto:", link):
                continue
            target, place = urldefrag(unquote(link))
            target = os.path.normpath(target) if target else name
            if not (folder / target).is_file() or (place and place not in built[target].places):
                broken.append((name, link))
    assert broken == []
    assert sum(len(page.links) for page in built.values()) > 1000


def test_no_page_loads_anything_from_the_network(built):
    loaded = {name for page in built.values() for name in page.loaded}
    assert [name for name in loaded if re.match(r"\w+:|//", name)] == []
    assert len(loaded) > 3


def test_code_is_coloured_and_no_word_of_it_is_taken_for_an_error(folder):
    texts = {path.name: path.read_text("utf-8") for path in folder.glob("*.html")}
    assert [name for name, text in texts.items() if 'class="err"' in text] == []
    for name in ("tour.html", "semantics.html", "language.html"):
        assert '<span class="kr">var</span>' in texts[name], name


def test_a_page_says_what_its_document_says(built):
    """Python-Markdown reads some things otherwise than CommonMark, for which the documents are written."""
    from markdown_it import MarkdownIt

    common = MarkdownIt("commonmark").enable("table")
    for name, path in sources().items():
        text = path.read_text("utf-8")
        page, document = built[name], Page(common.render(text), is_article=True)
        assert page.text == document.text, name
        parts = ("li", "ul", "ol", "tr", "td", "pre", "blockquote", "details", "h1", "h2", "h3", "em", "strong")
        assert {part: page.counts.get(part) for part in parts} == {part: document.counts.get(part) for part in parts}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(folder):
    """Where the site is served."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    if MISSING:
        pytest.skip(MISSING)
    try:
        started = Browser()
    except NotStarted as problem:
        pytest.skip(str(problem))
    yield started
    started.close()


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("logsumexp", "functions.html"),
        ("no-files", "SECURITY.html"),
        ("--no-files", "SECURITY.html"),
        ("chain rule", "language.html"),
    ],
)
def test_the_search_finds(browser, address, typed, found):
    browser.open_address(f"{address}/index.html")
    results = "[...document.querySelectorAll('.md-search-result__link')].map(link => link.href)"
    # The field takes what is typed as soon as its script has run; until then it is typed again.
    browser.until(
        f"""const field = document.querySelector('.md-search__input');
        if (!field) return false;
        field.focus();
        field.value = {typed!r};
        field.dispatchEvent(new Event('keyup', {{bubbles: true}}));
        return {results}.length > 0;"""
    )
    links = browser.js(f"return {results}")
    assert any(link.startswith(f"{address}/{found}") for link in links), links
    browser.open_address(next(link for link in links if link.startswith(f"{address}/{found}")))
    words = [word for word in re.split(r"[\s-]+", typed) if word]
    shown = browser.text("article").lower()
    assert all(word in shown for word in words)
    assert browser.errors() == []
    assert [url for url in browser.requests() if not url.startswith((address, "blob:"))] == []


@pytest.mark.parametrize("theme", ["default", "slate"])
@pytest.mark.parametrize("page", ["python.html", "functions.html", "libraries.html"])
def test_what_is_read_has_contrast_and_what_is_wide_is_scrolled_by_keyboard(browser, address, page, theme):
    axe = pytest.importorskip("axe_core_python")
    browser.open_address(f"{address}/{page}")
    at_once = "document.head.insertAdjacentHTML('beforeend', '<style>* {transition: none !important}</style>')"
    browser.js(f"{at_once}; document.body.setAttribute('data-md-color-scheme', '{theme}')")
    browser.js(Path(axe.__file__).with_name("axe.min.js").read_text("utf-8"))
    rules = "{runOnly: ['color-contrast', 'scrollable-region-focusable']}"
    browser.js(f"axe.run('article', {rules}).then(found => window.found = found.violations)")
    browser.until("return Boolean(window.found)")
    told = "window.found.flatMap(one => one.nodes.map(node => one.id + ' ' + node.html + ' ' + node.failureSummary))"
    assert browser.js(f"return {told}") == []
