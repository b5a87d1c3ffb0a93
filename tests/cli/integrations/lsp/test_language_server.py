"""The language server, as an editor sees it."""

import asyncio
import json
from pathlib import Path

import pytest
from answers import answers
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from agrad.grammar.diagnostics import Source
from agrad.grammar.lint.lint import problems

pytest_lsp = pytest.importorskip("pytest_lsp")
from lsp_client import CONFIG, Editor  # noqa: E402

pytestmark = pytest.mark.asyncio(loop_scope="module")

SCRIPT = """\
var w = tensor([1, 2])
def loss(x, k=2):
    s = sum((x - k)**2)
    return s
y = loss(w) + sin(1)
backward y
print w.grad
"""
# Each with the places of its errors, as lines and columns of an editor, and their kinds.
DOCUMENTS = {SCRIPT: "", **answers(Path(__file__).with_name("documents.txt"))}


async def begin(client, editor):
    """Begin as an editor does. The client warns, and so a test fails, where the server sends what it cannot show."""
    capabilities = pytest_lsp.client_capabilities(editor)
    client.server = (await client.initialize_session(types.InitializeParams(capabilities))).capabilities


async def end(client):
    await client.shutdown_session()
    assert client._server.returncode == 0


@pytest_lsp.fixture(scope="module", config=CONFIG)
async def client(lsp_client: pytest_lsp.LanguageClient):
    await begin(lsp_client, "visual-studio-code")
    yield
    await end(lsp_client)


@pytest.fixture(scope="module")
def editor(client, tmp_path_factory):
    return Editor(client, tmp_path_factory.mktemp("scripts"))


def places(found):
    return [(one.range.start.line, one.range.start.character, one.range.end.character, str(one.code)) for one in found]


def labels(items):
    return [item.label for item in sorted(items, key=lambda item: item.sort_text)]


@pytest.mark.parametrize(("text", "expected"), DOCUMENTS.items(), ids=repr)
async def test_the_errors_of_a_script_are_those_of_a_check(editor, text, expected):
    name = f"document-{list(DOCUMENTS).index(text)}.ag"
    editor.open(name, text)
    found = await editor.errors(name)
    assert "\n".join(" ".join(map(str, place)) for place in places(found)) == expected
    told = [problem.message for problem in problems(Source(str(editor.folder / name), text, 1, True), ["args"])]
    assert [one.message.partition("\n")[0] for one in found] == told


async def test_an_error_has_its_notes_its_fixes_and_other_places(editor):
    editor.open("margins.ag", "\n  x = 1\ny = 2\n")
    (found,) = await editor.errors("margins.ag")
    (other,) = found.related_information
    assert (other.message, other.location.range.start.line) == ("and this one", 2)
    editor.open("fixes.ag", "alpha = 1\nprint alpa")
    (found,) = await editor.errors("fixes.ag")
    assert found.message == "alpa has no value\nfix: did you mean alpha?"
    assert (found.source, found.severity) == ("agrad", types.DiagnosticSeverity.Error)


async def test_errors_follow_what_is_typed(editor):
    editor.open("typed.ag", "print x")
    assert len(await editor.errors("typed.ag")) == 1
    editor.change("typed.ag", "x = 1\nprint x", 2)
    assert await editor.errors("typed.ag", 2) == ()
    for version, letter in enumerate("abcdefgh", 3):
        editor.change("typed.ag", f"print {letter}", version)
    (last,) = await editor.errors("typed.ag", 10)
    assert last.message.startswith("h has no value\nfix: ")
    editor.close("typed.ag")
    assert await editor.errors("typed.ag", None) == ()


async def test_an_error_of_a_script_that_is_loaded_stands_where_it_is_loaded(editor):
    (editor.folder / "broken.ag").write_text("x = 1\ny = (\n")
    editor.open("loads.ag", 'print 1\nload "broken.ag"\n')
    (found,) = await editor.errors("loads.ag")
    assert places([found]) == [(1, 5, 16, "syntax")]
    assert found.message.startswith(f"{editor.folder / 'broken.ag'}:2:5: ")


async def test_completion_is_that_of_the_prompt_with_the_names_of_the_script(editor):
    editor.open("words.ag", f"{SCRIPT}\nlos\ngraph y as d\ny.de\nsi")
    assert labels(await editor.completions("words.ag", 8, 3)) == ["loss"]
    assert labels(await editor.completions("words.ag", 9, 12)) == ["dot"]
    assert "detach" in labels(await editor.completions("words.ag", 10, 4))
    first = min(await editor.completions("words.ag", 11, 2), key=lambda item: item.sort_text)
    assert (first.label, first.detail, first.documentation) == ("sigmoid", "sigmoid(x)", "1/(1 + exp(-x)).")
    assert (first.text_edit.range.start.character, first.text_edit.range.end.character) == (0, 2)


async def test_completion_inside_a_bracket_over_several_lines(editor):
    editor.open("bracket.ag", "value = 1\nx = sum([1,\nvalue,\nva")
    assert labels(await editor.completions("bracket.ag", 3, 2))[0] == "value"


async def test_hover_has_the_help_of_a_word(editor):
    editor.open("help.ag", "y = sin(1)\nbackward y\ny.detach()\nprint 2\ntorch.cos(2)\n")
    found = await editor.hover("help.ag", 0, 5)
    assert found.contents.kind == "markdown"
    assert found.contents.value.startswith("```text\nsin(x)\n  The sine of an angle in radians.\n")
    assert (found.range.start.character, found.range.end.character) == (4, 7)
    assert (await editor.hover("help.ag", 1, 0)).contents.value.startswith("```text\nbackward ")
    assert "detach" in (await editor.hover("help.ag", 2, 4)).contents.value
    assert "cosine" in (await editor.hover("help.ag", 4, 7)).contents.value
    assert await editor.hover("help.ag", 3, 6) is None


async def test_hover_has_the_line_that_gives_a_name_its_value(editor):
    editor.open("values.ag", SCRIPT)
    assert (await editor.hover("values.ag", 4, 0)).contents.value == "```agrad\ny = loss(w) + sin(1)\n```"


async def test_definitions(editor):
    (editor.folder / "model.ag").write_text("x = 1\ndef model(a): return a\n")
    editor.open("names.ag", f'load "model.ag"\n{SCRIPT}w = 2\nprint model(w), k, loss\n')

    async def place(line, column):
        found = await editor.definition("names.ag", line, column)
        return found and (found.uri.rpartition("/")[2], found.range.start.line, found.range.start.character)

    assert await place(5, 5) == ("names.ag", 2, 4)  # loss: its def
    assert await place(3, 13) == ("names.ag", 2, 9)  # x in the function: its parameter
    assert await place(4, 11) == ("names.ag", 3, 4)  # s: where the function binds it
    assert await place(7, 6) == ("names.ag", 1, 4)  # w: what is bound last before
    assert await place(9, 12) == ("names.ag", 8, 0)
    assert await place(9, 7) == ("model.ag", 1, 4)  # in the script that is loaded
    assert await place(0, 8) == ("model.ag", 0, 0)  # that script
    assert await place(9, 16) is None  # k is only known in the function
    assert await place(7, 9) is None  # an attribute


def applied(text, edits):
    """A text of ASCII after some edits."""
    starts = [0, *(place + 1 for place, sign in enumerate(text) if sign == "\n"), len(text)]
    offset = lambda place: min(starts[min(place.line, len(starts) - 1)] + place.character, len(text))  # noqa: E731
    for edit in sorted(edits, key=lambda one: offset(one.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


async def test_an_action_makes_each_fix_beside_other_errors(editor):
    text = "x = = 2\nalpha = 1; print alpa  # a\nz = alpha.summ()\n"
    editor.open("actions.ag", text)
    assert [one[0] for one in places(await editor.errors("actions.ag"))] == [0, 1, 2]
    whole = types.Range(types.Position(1, 0), types.Position(9, 0))
    about = types.TextDocumentIdentifier(editor.uri("actions.ag"))
    asked = types.CodeActionParams(about, whole, types.CodeActionContext([]))
    found = await editor.client.text_document_code_action_async(asked)
    assert [applied(text, one.edit.changes[about.uri]) for one in found] == [
        text.replace("alpa ", "alpha "), text.replace("summ", "sum")
    ]  # fmt: skip
    assert [(one.title, one.kind, one.diagnostics[0].code) for one in found] == [
        ("alpha", "quickfix", "name"), ("z = alpha.sum()", "quickfix", "name")
    ]  # fmt: skip
    asked = types.CodeActionParams(
        about, types.Range(types.Position(1, 0), types.Position(1, 3)), types.CodeActionContext([])
    )
    assert not await editor.client.text_document_code_action_async(asked)


async def test_all_errors_are_told_beside_a_syntax_error_in_both_readings(editor):
    text = "x = 1\nprint zz\ny = = 2\nprint nope, y\nimport math\nprint(x, y2)\nz = )\nprint(w, z)\n"
    editor.open("both.ag", text)
    kinds = [(1, "name"), (2, "syntax"), (3, "name"), (5, "name"), (6, "syntax"), (7, "name")]
    assert [(line, code) for line, _, _, code in places(await editor.errors("both.ag"))] == kinds
    editor.open("all.py", "import torch\nx = torch.tensor(1))\ny = q\nfor i in y:\nprint(x)\n")
    kinds = [(1, "syntax"), (2, "name"), (4, "syntax")]
    assert [(line, code) for line, _, _, code in places(await editor.errors("all.py"))] == kinds


async def test_references_highlights_and_rename(editor):
    text = f"{SCRIPT}z = loss(w, k=3)\nprint k\n"
    editor.open("names.ag", text)
    client, at = editor.client, lambda line, column: editor.at("names.ag", line, column)
    found = await client.text_document_references_async(types.ReferenceParams(types.ReferenceContext(True), *at(1, 12)))
    assert [(one.range.start.line, one.range.start.character) for one in found] == [(1, 12), (2, 17), (7, 12)]
    found = await client.text_document_document_highlight_async(types.DocumentHighlightParams(*at(4, 0)))
    assert [one.range.start.line for one in found] == [4, 5]
    assert (await client.text_document_prepare_rename_async(types.PrepareRenameParams(*at(4, 0)))).end.character == 1
    made = await client.text_document_rename_async(types.RenameParams(*at(7, 12), "shift"))
    wanted = text.replace("k=", "shift=").replace("- k", "- shift")
    assert applied(text, made.changes[editor.uri("names.ag")]) == wanted
    for place, new, why in (((4, 0), "w", "w is used already"), ((4, 0), "1a", "1a is no name"), ((0, 9), "t", "tensor gets no value in this script"), ((4, 2), "t", "there is no name here")):  # fmt: skip
        with pytest.raises(JsonRpcException) as refused:
            await client.text_document_rename_async(types.RenameParams(*at(*place), new))
        assert (refused.value.code, refused.value.message) == (-32602, why)


async def test_symbols_folds_colours_and_signatures(editor):
    text = f"{SCRIPT}import math\nclass A:\n    def f(self, x): return math.sqrt(x)\nprint(math.atan2(1, 2))\n"
    editor.open("outline.ag", text)
    client, about = editor.client, types.TextDocumentIdentifier(editor.uri("outline.ag"))
    found = await client.text_document_document_symbol_async(types.DocumentSymbolParams(about))
    told = [(one.name, one.kind.name, one.range.end.line) for one in found]
    assert told == [
        ("w", "Variable", 0),
        ("loss", "Function", 3),
        ("y", "Variable", 4),
        ("math", "Module", 7),
        ("A", "Class", 9),
    ]
    found = await client.text_document_folding_range_async(types.FoldingRangeParams(about))
    assert [(one.start_line, one.end_line) for one in found] == [(1, 3), (8, 9)]
    found = await client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(about))
    legend = client.server.semantic_tokens_provider.legend.token_types
    assert [legend[kind] for kind in found.data[3::5]][:6] == [
        "macro",
        "variable",
        "operator",
        "variable",
        "operator",
        "operator",
    ]
    for line, column, usage, parameters, active in (
        (4, 9, "def loss(x, k=2):", ["x", "k=2"], 0), (4, 18, "sin(x)", ["x"], 0), (10, 20, "math.atan2(y, x)", ["y", "x"], 1)
    ):  # fmt: skip
        found = await client.text_document_signature_help_async(
            types.SignatureHelpParams(*editor.at("outline.ag", line, column))
        )
        (told,) = found.signatures
        assert (told.label, [one.label for one in told.parameters], found.active_parameter) == (
            usage,
            parameters,
            active,
        )


async def test_formatting_changes_spaces_alone(editor):
    editor.open("spaces.ag", "x=[1,2 ]   # a\nyy = 2 # b\n\n\n\n\nimport math\nz=math.sqrt( 2 )")
    about = types.TextDocumentIdentifier(editor.uri("spaces.ag"))
    asked = types.DocumentFormattingParams(about, types.FormattingOptions(4, True))
    (edit,) = await editor.client.text_document_formatting_async(asked)
    assert edit.new_text == "x = [1, 2]  # a\nyy = 2      # b\n\n\nimport math\nz = math.sqrt(2)\n"


async def test_the_server_counts_in_utf_16(editor):
    assert editor.client.server.position_encoding == "utf-16"


@pytest_lsp.fixture(config=CONFIG, params=["visual-studio-code", "neovim", "emacs"])
async def each_client(lsp_client: pytest_lsp.LanguageClient, request):
    await begin(lsp_client, request.param)
    yield
    await end(lsp_client)


@pytest.mark.asyncio(loop_scope="function")
async def test_places_are_counted_as_each_editor_counts(each_client, tmp_path):
    column = {"utf-8": 15, "utf-16": 13, "utf-32": 12}[each_client.server.position_encoding]
    editor = Editor(each_client, tmp_path)
    editor.open("emoji.ag", 'x = 1; "😀", unknown, x\n')
    (found,) = await editor.errors("emoji.ag")
    assert (found.range.start.character, found.range.end.character) == (column, column + 7)
    assert (await editor.definition("emoji.ag", 0, column + 9)).range.start.character == 0
    assert await editor.hover("emoji.ag", 0, column - 1) is None
    editor.open("words.ag", "si")
    assert "sigmoid" in labels(await editor.completions("words.ag", 0, 2))


HOVER = {"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover", "params": {"textDocument": {"uri": "file:///a.ag"}}}
READ = HOVER | {"params": HOVER["params"] | {"position": {"line": 0, "character": 0}}}
BACKWARDS = {"start": {"line": 9, "character": 9}, "end": {"line": 0, "character": 0}}
ACTIONS = HOVER["params"] | {"range": BACKWARDS, "context": {"diagnostics": []}}
NO_CHANGE = {"textDocument": {"uri": "file:///a.ag", "version": 2}, "contentChanges": []}
# Each with the number and the code of the answer.
MALFORMED = [
    *((HOVER | {"params": params}, 1, -32602) for params in (None, [1], {}, HOVER["params"] | {"position": 3})),
    (HOVER, 1, -32602),
    *(
        (READ | {"params": READ["params"] | {"position": {"line": x, "character": 0}}}, 1, -32602)
        for x in (-1, 2**40, "a")
    ),
    ({"jsonrpc": "2.0", "id": 1}, 1, -32603),
    (READ | {"method": "a/b"}, 1, -32601),
    (READ | {"jsonrpc": "1.0"}, 1, -32600),
    (READ | {"id": [1]}, [1], -32600),
    *((one, None, -32600) for one in ({"id": 1, "method": "textDocument/hover"}, [READ], 42, None, "a", {})),
    *((one, None, -32700) for one in (b"{bad", b'"\xff"', b"[" * 100_000)),
    ({"jsonrpc": "2.0", "id": 1, "method": "textDocument/codeAction", "params": ACTIONS}, 1, None),
    (READ | {"method": "textDocument/rename"}, 1, -32602),
    (READ | {"method": "textDocument/references"}, 1, -32602),
    ({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": NO_CHANGE}, "still there", None),
]


async def test_each_malformed_message_is_answered_and_the_server_goes_on(tmp_path):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.PIPE)
    server = await asyncio.create_subprocess_exec(*CONFIG.server_command, **pipes, env=CONFIG.server_env)
    start = READ | {"id": 0, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}
    told, last = [], READ | {"id": "still there"}
    for body in (start, *(body for body, _, _ in MALFORMED), last):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
    while not told or told[-1].get("id") != "still there":
        head = await server.stdout.readuntil(b"\r\n\r\n")
        told.append(json.loads(await server.stdout.readexactly(int(head.split(b":")[1].split()[0]))))
    server.kill()
    await server.communicate()
    found = [(one["id"], one["error"]["code"] if "error" in one else None) for one in told[1:] if "id" in one]
    assert sorted(map(str, found)) == sorted(str((number, code)) for _, number, code in MALFORMED)
