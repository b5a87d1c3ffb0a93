"""The language server: what an editor asks, and what it gets. pygls speaks the protocol."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcInvalidRequest, JsonRpcParseError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from agrad.cli import __version__
from agrad.cli.integrations.lsp.document import Document, definition, folds, hover, loads, signature, symbols
from agrad.cli.integrations.lsp.jobs import Checked, Found, Worker, check
from agrad.cli.integrations.lsp.layout import formatted
from agrad.cli.integrations.lsp.names import Use
from agrad.cli.terminal import handled
from agrad.grammar.help.completion import Candidate, completions
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.readings import is_script
from agrad.grammar.syntax.typed import tokens

_OF_TEXT = "of this script"
_MOST_ITEMS = 100  # the best completions, which an editor is sent; it asks again with the next letter


class Protocol(LanguageServerProtocol):
    """Answers a request that it cannot read with an error, by the number of the request."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """See pygls."""
        try:
            if "jsonrpc" in data and not (data["jsonrpc"] == "2.0" and isinstance(data.get("id", 0), int | str)):
                raise JsonRpcInvalidRequest
            return super().structure_message(data)
        except JsonRpcException as problem:
            if "id" in data:
                self.refuse(problem, data["id"])
            raise

    def refuse(self, problem: JsonRpcException, number: Any = None) -> None:
        """Answer with an error; without a number where it is not known."""
        error = {"code": problem.code, "message": problem.message}
        self._send_data({"jsonrpc": self.VERSION, "id": number, "error": error})


class Server(LanguageServer):
    """The scripts that are open, and what is known of them."""

    def __init__(self) -> None:
        # An editor sends the whole text: pygls would cut lines where agrad and the protocol do not.
        super().__init__(
            "agrad", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full, protocol_cls=Protocol
        )
        self.session = Session()  # in which completion finds no names but those of the language
        self.documents: dict[str, Document] = {}
        self.found: dict[str, Checked] = {}
        self.checker = Worker(check, self._soon)
        self.loop: asyncio.AbstractEventLoop | None = None

    def on(self, method: str, options: Any = None) -> Callable[[Callable[[Document, Any], Any]], None]:
        """Has a function answer the requests about scripts that are open; about others the answer is null."""

        def answers(function: Callable[[Document, Any], Any]) -> None:
            def asked(params: Any) -> Any:
                document = self.documents.get(params.text_document.uri)
                return function(document, params) if document is not None else None

            self.feature(method, options)(asked)

        return answers

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Tell what failed, but answer what is no message."""
        if source is not JsonRpcException and not isinstance(error, JsonRpcInvalidParams):
            super().report_server_error(error, source)
        elif not isinstance(error, JsonRpcException):  # which the protocol has answered
            is_read = not isinstance(error, ValueError | RecursionError)
            self.protocol.refuse(JsonRpcInvalidRequest() if is_read else JsonRpcParseError())

    def _soon(self, found: Checked) -> None:
        """Take what the worker has found, in the loop of the server, if it still runs."""
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._checked, found)

    def changed(self, uri: str, text: str, version: int | None) -> None:
        """Take a new version of a script, and have it checked."""
        self.loop = asyncio.get_running_loop()
        path = uris.to_fs_path(uri) or uri
        encoding = types.PositionEncodingKind(self.workspace.position_encoding or "utf-16")
        document = Document(path, text, version, encoding.value)
        self.documents[uri] = document
        self.checker.ask(uri, version, path, text)

    def closed(self, uri: str) -> None:
        """Forget a script."""
        self.documents.pop(uri, None)
        self.found.pop(uri, None)
        self._show(uri, None, [])

    def _checked(self, found: Checked) -> None:
        """Show the errors of a script, unless it has changed since: then others follow."""
        document = self.documents.get(found.uri)
        if document is not None and document.version == found.version:
            self.found[found.uri] = found
            self._show(found.uri, found.version, [_diagnostic(document, found.uri, one) for one in found.found])

    def _show(self, uri: str, version: int | None, found: list[types.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))


def _follow(server: Server) -> None:
    """The scripts that are opened, changed and closed."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        server.changed(document.uri, document.text, document.version)
        # Read it now, so that the first answer does not wait for that.
        made = server.documents[document.uri]
        completions(made.before(0), made.session(0) or server.session)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        for whole in params.content_changes[-1:]:
            server.changed(params.text_document.uri, whole.text, params.text_document.version)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)


def _answer(server: Server) -> None:
    """Completion, help, definitions, and the call that is being typed."""
    on = server.on

    @on(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["."]))
    def completed(document: Document, params: types.CompletionParams) -> types.CompletionList:
        offset = _offset(document, params)
        names = dict.fromkeys(document.names, _OF_TEXT)
        session = document.session(offset)
        before, by_python = document.before(offset), session is not None
        word, candidates = completions(before, session or server.session, names, by_python)
        where = _range(document, offset - len(word), offset)
        others = [one for one in candidates if one.text != word][:_MOST_ITEMS]
        items = [_item(one, where, number) for number, one in enumerate(others)]
        return types.CompletionList(is_incomplete=True, items=items)

    @on(types.TEXT_DOCUMENT_HOVER)
    def hovered(document: Document, params: types.HoverParams) -> types.Hover | None:
        found = hover(document, _offset(document, params))
        if found is None:
            return None
        text, (start, end) = found
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), _range(document, start, end))

    @on(types.TEXT_DOCUMENT_DEFINITION)
    def defined(document: Document, params: types.DefinitionParams) -> types.Location | None:
        found = definition(document, _offset(document, params))
        if found is None:
            return None
        other, place = found
        uri = params.text_document.uri if other is document else uris.from_fs_path(other.source.name) or ""
        return types.Location(uri, _range(other, place, place))

    @on(types.TEXT_DOCUMENT_SIGNATURE_HELP, types.SignatureHelpOptions(["(", ","]))
    def called(document: Document, params: types.SignatureHelpParams) -> types.SignatureHelp | None:
        found = signature(document, _offset(document, params))
        if found is None:
            return None
        usage, names, number = found
        parameters = [types.ParameterInformation(name) for name in names]
        return types.SignatureHelp([types.SignatureInformation(usage, None, parameters)], 0, number)


def _correct(server: Server) -> None:
    """Fixes of errors, and the format."""
    on = server.on

    @on(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([types.CodeActionKind.QuickFix]))
    def fixed(document: Document, params: types.CodeActionParams) -> list[types.CodeAction]:
        checked = server.found.get(params.text_document.uri)
        if checked is None or checked.version != document.version:
            return []
        first, last = (document.offset(one.line, one.character) for one in (params.range.start, params.range.end))
        made = []
        for found in checked.found:
            told = [_diagnostic(document, checked.uri, found)]
            for title, *edit in found.edits if found.start <= last and first <= found.end else ():
                edits = _edit(document, checked.uri, [edit])
                made.append(types.CodeAction(title, types.CodeActionKind.QuickFix, told, edit=edits))
        return made

    @on(types.TEXT_DOCUMENT_FORMATTING)
    def laid_out(document: Document, params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        made = formatted(document.source)
        return [types.TextEdit(_range(document, 0, len(document.text)), made)] if made != document.text else []


def _edit(document: Document, uri: str, edits: Iterable[Sequence[Any]]) -> types.WorkspaceEdit:
    """An edit of a script: of each place, where it begins and ends, and its new text."""
    return types.WorkspaceEdit({uri: [types.TextEdit(_range(document, start, end), new) for start, end, new in edits]})


def _name(server: Server) -> None:
    """What is the same name: highlights, references, renaming."""
    on = server.on

    def same(document: Document, params: Any) -> list[Use]:
        use = document.uses.at(_offset(document, params))
        return document.uses.same(use) if use is not None else []

    @on(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlighted(document: Document, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        return [types.DocumentHighlight(_of(document, use)) for use in same(document, params)]

    @on(types.TEXT_DOCUMENT_REFERENCES)
    def referred(document: Document, params: types.ReferenceParams) -> list[types.Location]:
        return [types.Location(params.text_document.uri, _of(document, use)) for use in same(document, params)]

    @on(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def renamable(document: Document, params: types.PrepareRenameParams) -> types.Range | None:
        use = document.uses.at(_offset(document, params))
        return _of(document, use) if use is not None else None

    @on(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def renamed(document: Document, params: types.RenameParams) -> types.WorkspaceEdit:
        found = same(document, params)
        why = document.uses.refusal(found, params.new_name) if found else "there is no name here"
        if why is not None:
            raise JsonRpcInvalidParams(why)
        edits = [(use.start, use.start + len(use.name), params.new_name) for use in found]
        return _edit(document, params.text_document.uri, edits)


def _of(document: Document, use: Use) -> types.Range:
    return _range(document, use.start, use.start + len(use.name))


# The types that the protocol has for the kinds of tokens that the prompt colours: errors have none.
_TYPES = {kind: kind for kind in ("number", "string", "name", "command", "keyword", "operator", "comment")}
_TYPES |= {"name": "variable", "command": "macro"}
_SYMBOLS = {"def": types.SymbolKind.Function, "class": types.SymbolKind.Class, "import": types.SymbolKind.Module}


def _outline(server: Server) -> None:
    """The structure of a script: its names, its blocks, the kinds of its words."""
    on = server.on

    @on(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def listed(document: Document, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        made = []
        for name, word, place, start, end in symbols(document):
            kind, own = _SYMBOLS.get(word, types.SymbolKind.Variable), _range(document, place, place + len(name))
            made.append(types.DocumentSymbol(name, kind, _range(document, start, end), own))
        return made

    @on(types.TEXT_DOCUMENT_FOLDING_RANGE)
    def folded(document: Document, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
        return [types.FoldingRange(*lines) for lines in folds(document)]

    @on(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, types.SemanticTokensLegend([*_TYPES.values()], []))
    def coloured(document: Document, params: types.SemanticTokensParams) -> types.SemanticTokens:
        return types.SemanticTokens([*chain.from_iterable(_kinds(document))])


def _kinds(document: Document) -> Iterator[tuple[int, int, int, int, int]]:
    """Each line of each token as the protocol has it: by how far it is from the one before."""
    before = 0, 0
    for kind, start, end in tokens(document.text, is_script(document.source)):
        for line in document.text[start:end].splitlines(keepends=True) if kind in _TYPES else ():
            here, stop = document.position(start), document.position(start + len(line.rstrip("\r\n")))
            down = here[0] - before[0]
            yield down, here[1] - (0 if down else before[1]), stop[1] - here[1], [*_TYPES].index(kind), 0
            before, start = here, start + len(line)


def _offset(document: Document, params: Any) -> int:
    """The place that a request is about."""
    return document.offset(params.position.line, params.position.character)


def _range(document: Document, start: int, end: int) -> types.Range:
    return types.Range(types.Position(*document.position(start)), types.Position(*document.position(end)))


def _item(candidate: Candidate, where: types.Range, number: int) -> types.CompletionItem:
    """A completion, which stays at its place in the order."""
    return types.CompletionItem(
        label=candidate.text,
        detail=candidate.usage or None,
        documentation=candidate.meaning or None,
        sort_text=f"{number:05}",
        text_edit=types.TextEdit(where, candidate.text),
    )


def _diagnostic(document: Document, uri: str, found: Found) -> types.Diagnostic:
    """An error of a script; one of a script that it loads stands where that is loaded."""
    start, end = found.start, found.end
    if found.path != document.source.name:
        places = [(first, last) for first, last, path in loads(document) if found.path.endswith(path.lstrip("./"))]
        start, end = places[0] if places else (0, 0)
    related = [
        types.DiagnosticRelatedInformation(types.Location(uri, _range(document, first, last)), text)
        for first, last, text in found.related
    ]
    return types.Diagnostic(
        range=_range(document, start, end),
        message=found.message,
        severity=types.DiagnosticSeverity.Error,
        code=found.kind,
        source="agrad",
        related_information=related or None,
    )


def serve() -> None:
    """Answer on stdin and stdout until the editor says goodbye."""
    server = Server()
    _follow(server)
    for features in (_answer, _correct, _name, _outline):
        features(server)
    try:
        with handled(signal.SIG_IGN, "SIGPIPE"):  # of checks whose process has ended: it is started again
            server.start_io()
    finally:
        server.checker.stop()
