"""A headless Chromium, driven by Debian's chromedriver over WebDriver's HTTP; nothing is downloaded."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NODE = shutil.which("node")
MISSING = (
    None if CHROMIUM and DRIVER else "chromium and chromedriver are not installed: apt-get install chromium-driver"
)
_OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --force-device-scale-factor=1 --hide-scrollbars"
).split()
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Home": "\ue011", "End": "\ue010", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015", "Enter": "\ue007", "Tab": "\ue004"}  # fmt: skip


class NotStarted(Exception):
    """The browser is installed, and does not start."""


class Browser:
    """One window. `close` ends it."""

    def __init__(self, width: int = 1300, height: int = 900) -> None:
        self.folder = tempfile.mkdtemp(prefix="agrad-chromium-")
        for _ in range(3):  # another process may take the port first
            if self._started():
                break
        else:
            raise NotStarted("chromedriver does not start")
        options = [*_OPTIONS, f"--user-data-dir={self.folder}", f"--window-size={width},{height}"]
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": CHROMIUM, "args": options},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        try:
            made = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except (RuntimeError, OSError) as problem:
            self._end_driver()
            raise NotStarted(f"chromium does not start: {problem}") from problem
        self.url += f"/session/{made['sessionId']}"
        self.opened = ""

    def _started(self) -> bool:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.driver = subprocess.Popen([DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{port}"
        for _ in range(600):
            if self.driver.poll() is not None:
                return False
            try:
                if self._send("GET", "/status")["ready"]:
                    return True
            except OSError:
                time.sleep(0.05)
        self._end_driver()
        return False

    def _end_driver(self) -> None:
        self.driver.kill()
        self.driver.wait(30)

    def _send(self, method: str, path: str, body: object = None) -> object:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def command(self, name: str, **parameters: object) -> object:
        """A command of the DevTools protocol."""
        return self._send("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def open(self, path: Path) -> None:
        """A page from a file."""
        self.open_address(path.as_uri())

    def open_address(self, address: str) -> None:
        """A page from an address."""
        self.log("browser"), self.log("performance")
        self.opened = address
        self._send("POST", "/url", {"url": self.opened})

    def js(self, script: str, *arguments: object) -> object:
        """What a script returns."""
        return self._send("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def until(self, script: str) -> object:
        """What a script returns as soon as that is something; some events come a moment after their cause."""
        for _ in range(600):
            if found := self.js(script):
                return found
            time.sleep(0.05)
        return found

    def js_later(self, script: str, *arguments: object) -> object:
        """What a script hands to its last argument, a function."""
        return self._send("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def _find(self, selector: str) -> str:
        return self._send("POST", "/element", {"using": "css selector", "value": selector})[_ELEMENT]

    def click(self, selector: str) -> None:
        """A click as with a mouse."""
        self._send("POST", f"/element/{self._find(selector)}/click", {})

    def keys(self, *keys: str, at: str = "body") -> None:
        """Keys pressed in an element."""
        text = "".join(KEYS.get(key, key) for key in keys)
        self._send("POST", f"/element/{self._find(at)}/value", {"text": text})

    def text(self, selector: str) -> str:
        """The text of an element."""
        return self.js("return document.querySelector(arguments[0]).textContent", selector)

    def log(self, kind: str) -> list[dict]:
        """What was logged since the last call."""
        return self._send("POST", "/se/log", {"type": kind})

    def errors(self) -> list[str]:
        """The warnings and errors in the console."""
        return [entry["message"] for entry in self.log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """The addresses that were asked for, besides that of the page and the browser's own pages."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        asked = [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]
        return [
            url for url in asked if url != self.opened.partition("#")[0] and not url.startswith(("chrome", "data:"))
        ]

    def screenshot(self) -> bytes:
        """The window as PNG."""
        return base64.b64decode(self._send("GET", "/screenshot"))

    def printed(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self._send("POST", "/print", {}))

    def close(self) -> None:
        """End the browser and its driver."""
        try:
            self._send("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(30)
            shutil.rmtree(self.folder, ignore_errors=True)
