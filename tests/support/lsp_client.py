"""What an editor does with the language server, by the client of pytest-lsp."""

import os
import sys

from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import ClientServerConfig, LanguageClient
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features


def _client():
    """pytest-lsp's client, which keeps the diagnostics of each version of a text."""
    client = LanguageClient(converter_factory=default_converter)
    register_lsp_features(client, DEFAULT_CLIENT_FEATURES | {types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: _diagnosed})
    return client


def _diagnosed(client: LanguageClient, params: types.PublishDiagnosticsParams):
    client.diagnostics[params.uri, params.version] = params.diagnostics


CONFIG = ClientServerConfig(
    server_command=[sys.executable, "-m", "agrad.cli", "lsp"],
    client_factory=_client,
    server_env={**os.environ, "HOME": os.devnull, "XDG_CONFIG_HOME": os.devnull},
)


class Editor:
    """The scripts that an editor has open. A script is named by its path in a folder."""

    def __init__(self, client, folder):
        self.client, self.folder = client, folder

    def uri(self, name):
        return (self.folder / name).as_uri()

    async def until(self, method, holds):
        """Wait until a condition holds, which a kind of message from the server may bring about."""
        while not holds():
            await self.client.wait_for_notification(method)

    async def errors(self, name, version=1):
        """The diagnostics of a version of a script."""
        wanted = self.uri(name), version
        await self.until(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, lambda: wanted in self.client.diagnostics)
        return self.client.diagnostics[wanted]

    def open(self, name, text):
        """Open a script."""
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(self.uri(name), "agrad", 1, text))
        )

    def change(self, name, text, version):
        """Give a script another text."""
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version, self.uri(name)),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    def close(self, name):
        """Close a script."""
        self.client.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(self.uri(name)))
        )

    def at(self, name, line, column):
        return types.TextDocumentIdentifier(self.uri(name)), types.Position(line, column)

    async def completions(self, name, line, column):
        found = await self.client.text_document_completion_async(types.CompletionParams(*self.at(name, line, column)))
        return found.items

    def hover(self, name, line, column):
        return self.client.text_document_hover_async(types.HoverParams(*self.at(name, line, column)))

    def definition(self, name, line, column):
        return self.client.text_document_definition_async(types.DefinitionParams(*self.at(name, line, column)))
