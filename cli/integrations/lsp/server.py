"""The language server: what an editor asks, and what it gets. pygls speaks the protocol."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest, JsonRpcParseError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from agrad.cli import __version__
from agrad.cli.integrations.lsp.document import Document, definition, hover, loads
from agrad.cli.integrations.lsp.jobs import Checked, Found, Worker, check
from agrad.cli.terminal import handled
from agrad.grammar.help.completion import Candidate, completions
from agrad.grammar.session.session import Session

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
        self.checker = Worker(check, self._soon)
        self.loop: asyncio.AbstractEventLoop | None = None

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Tell what failed, but answer what is no message."""
        if source is not JsonRpcException:
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
        self._show(uri, None, [])

    def _checked(self, found: Checked) -> None:
        """Show the errors of a script, unless it has changed since: then others follow."""
        document = self.documents.get(found.uri)
        if document is not None and document.version == found.version:
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
    """Completion, hover and definition."""

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["."]))
    def completed(params: types.CompletionParams) -> types.CompletionList | None:
        document, offset = _place(server, params)
        if document is None:
            return None
        names = dict.fromkeys(document.names, _OF_TEXT)
        session = document.session(offset)
        before, by_python = document.before(offset), session is not None
        word, candidates = completions(before, session or server.session, names, by_python)
        where = _range(document, offset - len(word), offset)
        others = [one for one in candidates if one.text != word][:_MOST_ITEMS]
        items = [_item(one, where, number) for number, one in enumerate(others)]
        return types.CompletionList(is_incomplete=True, items=items)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hovered(params: types.HoverParams) -> types.Hover | None:
        document, offset = _place(server, params)
        found = hover(document, offset) if document is not None else None
        if document is None or found is None:
            return None
        text, (start, end) = found
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), _range(document, start, end))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def defined(params: types.DefinitionParams) -> types.Location | None:
        document, offset = _place(server, params)
        found = definition(document, offset) if document is not None else None
        if found is None:
            return None
        other, place = found
        uri = params.text_document.uri if other is document else uris.from_fs_path(other.source.name) or ""
        return types.Location(uri, _range(other, place, place))


def _place(server: Server, params: Any) -> tuple[Document | None, int]:
    """The script and the place in it that a request is about."""
    document = server.documents.get(params.text_document.uri)
    if document is None:
        return None, 0
    return document, document.offset(params.position.line, params.position.character)


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
    _answer(server)
    try:
        with handled(signal.SIG_IGN, "SIGPIPE"):  # of checks whose process has ended: it is started again
            server.start_io()
    finally:
        server.checker.stop()
