"""`agrad lsp`: the language server, which an editor starts."""

from __future__ import annotations

import click

from agrad.cli.base import Command


@click.command("lsp", cls=Command)
@click.option("--stdio", is_flag=True, help="Speak on standard input and output: it always does.")
def command(stdio: bool) -> None:
    """Start the language server, for an editor: it shows errors as one types, completes, and explains names.

    It speaks the Language Server Protocol on standard input and output, and needs pygls, which comes with the extra
    `lsp`. docs/editors.md says how editors are set up.

    \b
    agrad lsp < /dev/null     what an editor starts
    """
    from agrad.engine.extras import extra  # here, as below: an editor starts this once

    extra("pygls.lsp.server", "agrad lsp", "pygls", "lsp")
    from agrad.cli.integrations.lsp.server import serve

    serve()
