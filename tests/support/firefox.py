"""A headless Firefox, driven over Marionette, its own protocol: nothing besides the browser is needed."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from browser import KEYS, NotStarted

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
MISSING = None if FIREFOX else "firefox is not installed: apt-get install firefox-esr"
_SETTINGS = {
    "app.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
}
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
# What the console has of pages, not of the browser itself.
_CONSOLE = """
    const found = [];
    for (const message of Services.console.getMessageArray()) {
        if (message instanceof Ci.nsIScriptError && message.sourceName.startsWith("file:")) found.push(message.errorMessage);
    }
    Services.console.reset();
    return found;"""


class Firefox:
    """One window, with the methods of `browser.Browser` that tests of both call. `close` ends it."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="agrad-firefox-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings = {**_SETTINGS, "marionette.port": port}
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in settings.items()]
        Path(self.folder, "user.js").write_text("\n".join(lines), "utf-8")
        command = [
            FIREFOX,
            "--headless",
            "--marionette",
            "--remote-allow-system-access",
            "--no-remote",
            "--profile",
            self.folder,
        ]
        environment = {**os.environ, "HOME": self.folder}
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.number, self.unread = 0, b""
        try:
            self.socket = self._connected(port)
            self._answer()
            self._send("WebDriver:NewSession", capabilities={})
            self._send("WebDriver:SetWindowRect", width=1300, height=985)
        except (OSError, RuntimeError) as problem:
            self.process.kill()
            self.process.wait(30)
            raise NotStarted(f"firefox does not start: {problem}") from problem

    def _connected(self, port: int) -> socket.socket:
        for _ in range(600):
            if self.process.poll() is not None:
                break
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=120)
            except ConnectionRefusedError:
                time.sleep(0.05)
        raise OSError("it does not listen")

    def _answer(self) -> Any:
        while b":" not in self.unread:
            self.unread += self._more()
        length, _, rest = self.unread.partition(b":")
        while len(rest) < int(length):
            rest += self._more()
        self.unread = rest[int(length) :]
        return json.loads(rest[: int(length)])

    def _more(self) -> bytes:
        more = self.socket.recv(1 << 16)
        if not more:
            raise OSError("it has closed the connection")
        return more

    def _send(self, name: str, **parameters: object) -> Any:
        self.number += 1
        text = json.dumps([0, self.number, name, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        _, _, problem, result = self._answer()
        if problem is not None:
            raise RuntimeError(problem["message"])
        return result

    def open(self, path: Path) -> None:
        """A page from a file."""
        self.errors()
        self._send("WebDriver:Navigate", url=path.as_uri())

    def js(self, script: str, *arguments: object) -> Any:
        """What a script returns."""
        return self._run("ExecuteScript", script, arguments)

    def js_later(self, script: str, *arguments: object) -> Any:
        """What a script hands to its last argument, a function."""
        return self._run("ExecuteAsyncScript", script, arguments)

    def _run(self, command: str, script: str, arguments: tuple[object, ...]) -> Any:
        """By a script in the page itself: one of the driver does not see its constants."""
        text = json.dumps(f"window.agradTests = function () {{{script}\n}};")
        wrapped = f"""
            const element = document.createElement("script");
            element.textContent = {text};
            document.documentElement.append(element);
            element.remove();
            return window.agradTests.apply(null, arguments);"""
        return self._send(f"WebDriver:{command}", script=wrapped, args=list(arguments), sandbox=None)["value"]

    def until(self, script: str) -> Any:
        """What a script returns as soon as that is something."""
        for _ in range(600):
            if found := self.js(script):
                return found
            time.sleep(0.05)
        return found

    def _find(self, selector: str) -> str:
        return self._send("WebDriver:FindElement", using="css selector", value=selector)["value"][_ELEMENT]

    def click(self, selector: str) -> None:
        """A click as with a mouse."""
        self._send("WebDriver:ElementClick", id=self._find(selector))

    def keys(self, *keys: str, at: str = "body") -> None:
        """Keys pressed in an element."""
        text = "".join(KEYS.get(key, key) for key in keys)
        self._send("WebDriver:ElementSendKeys", id=self._find(at), text=text)

    def text(self, selector: str) -> str:
        """The text of an element."""
        return self.js("return document.querySelector(arguments[0]).textContent", selector)

    def errors(self) -> list[str]:
        """The warnings and errors of pages in the console since the last call."""
        self._send("Marionette:SetContext", value="chrome")
        try:
            return self._send("WebDriver:ExecuteScript", script=_CONSOLE, args=[])["value"]
        finally:
            self._send("Marionette:SetContext", value="content")

    def requests(self) -> list[str]:
        """The addresses that the page has asked for."""
        return self.js("return performance.getEntriesByType('resource').map((entry) => entry.name)")

    def close(self) -> None:
        """End the browser."""
        try:
            self._send("Marionette:Quit", flags=["eForceQuit"])
            self.process.wait(30)
        finally:
            self.process.kill()
            self.process.wait(30)
            self.socket.close()
            shutil.rmtree(self.folder, ignore_errors=True)
