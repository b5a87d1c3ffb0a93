"""An editor, as the language server sees one: pygls's own client, driven from a test without `async`."""

import asyncio
import os
import sys

from lsprotocol import types
from pygls.lsp.client import LanguageClient

_PATIENCE = 60  # seconds until a test fails, which no server takes


class Editor:
    """A server process, and what it has said. Use as a context manager."""

    def __init__(self, folder, *encodings):
        self.folder = folder
        self.encodings = encodings
        self.diagnostics = {}  # by URI and version
        self.messages, self.log = [], []
        self.loop = asyncio.new_event_loop()

    def __enter__(self):
        self._wait(self._start())
        return self

    def __exit__(self, *problem):
        try:
            self._wait(self._end())
        finally:
            self.loop.close()

    def _wait(self, coroutine):
        return self.loop.run_until_complete(asyncio.wait_for(coroutine, _PATIENCE))

    async def _start(self):
        self.heard = asyncio.Event()
        self.client = LanguageClient("editor", "1")
        for feature, take in (
            (types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, lambda params: self._diagnosed(params)),
            (types.WINDOW_SHOW_MESSAGE, self._told(self.messages)),
            (types.WINDOW_LOG_MESSAGE, self._told(self.log)),
        ):
            self.client.feature(feature)(take)
        environment = {**os.environ, "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder)}
        words = (sys.executable, "-m", "agrad.cli", "lsp")
        await self.client.start_io(*words, cwd=self.folder, env=environment)
        general = types.GeneralClientCapabilities(position_encodings=list(self.encodings)) if self.encodings else None
        asked = types.InitializeParams(capabilities=types.ClientCapabilities(general=general))
        self.able = (await self.client.initialize_async(asked)).capabilities
        self.client.initialized(types.InitializedParams())

    async def _end(self):
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    def _diagnosed(self, params):
        self.diagnostics[params.uri, params.version] = params.diagnostics
        self.heard.set()

    def _told(self, said):
        def take(params):
            said.append(params.message)
            self.heard.set()

        return take

    def uri(self, name):
        return (self.folder / name).as_uri()

    def until(self, holds):
        """Wait until the server has said what makes a condition hold."""

        async def wait():
            while not holds():
                self.heard.clear()
                await self.heard.wait()

        self._wait(wait())

    def open(self, name, text):
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(self.uri(name), "agrad", 1, text))
        )

    def change(self, name, text, version):
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version, self.uri(name)),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    def close(self, name):
        self.client.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(self.uri(name)))
        )

    def errors(self, name, version=1):
        """The diagnostics of a version of a script, as soon as they are there."""
        self.until(lambda: (self.uri(name), version) in self.diagnostics)
        return self.diagnostics[self.uri(name), version]

    def _at(self, name, line, column):
        return types.TextDocumentIdentifier(self.uri(name)), types.Position(line, column)

    def completions(self, name, line, column):
        at = types.CompletionParams(*self._at(name, line, column))
        return self._wait(self.client.text_document_completion_async(at)).items

    def hover(self, name, line, column):
        return self._wait(self.client.text_document_hover_async(types.HoverParams(*self._at(name, line, column))))

    def definition(self, name, line, column):
        at = types.DefinitionParams(*self._at(name, line, column))
        return self._wait(self.client.text_document_definition_async(at))

    def actions(self, name):
        document, start = self._at(name, 0, 0)
        asked = types.CodeActionParams(document, types.Range(start, start), types.CodeActionContext([]))
        return self._wait(self.client.text_document_code_action_async(asked))

    def run(self, name):
        (command,) = self.able.execute_command_provider.commands
        asked = types.ExecuteCommandParams(command, [self.uri(name)])
        return self._wait(self.client.workspace_execute_command_async(asked))
