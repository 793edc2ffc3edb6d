"""A chromium without a window, spoken to over its debugging pipe: enough to show a page at a size, in light or dark."""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")
SECONDS = 100
# Above what the program may have open itself, so that moving them to 3 and 4 overwrites nothing.
FIRST_FD = 20


def find() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def high(fd: int) -> int:
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD, FIRST_FD)
    os.close(fd)
    return moved


class Browser:
    """Answers come back by number; what the page says on its console is kept in `said`."""

    def __init__(self, program: str, home: str) -> None:
        commands, self.commands = (high(fd) for fd in os.pipe())
        self.answers, answers = (high(fd) for fd in os.pipe())
        arguments = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        # Containers often have a /dev/shm too small for it.
        arguments += ["--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={home}", "about:blank"]

        def move() -> None:
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        self.process = subprocess.Popen(arguments, preexec_fn=move, pass_fds=(3, 4), stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.numbers, self.rest, self.said = itertools.count(1), b"", list[str]()
        self.loaded = False
        self.session = ""

    def __enter__(self) -> Browser:
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self.commands)
        os.close(self.answers)
        self.process.terminate()
        self.process.wait()

    def read(self) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while b"\0" not in self.rest:
            if not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError(f"the browser said nothing for {SECONDS} s")
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                raise ConnectionError("the browser ended")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        found: dict[str, Any] = json.loads(message)
        return found

    def note(self, message: dict[str, Any]) -> None:
        if message.get("method") == "Page.loadEventFired":
            self.loaded = True
        if message.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.said.append(json.dumps(message["params"])[:300])

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self.numbers)
        command: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while (message := self.read()).get("id") != number:
            self.note(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        result: dict[str, Any] = message["result"]
        return result

    def run(self, script: str) -> Any:
        result = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"])[:500])
        return result["result"].get("value")

    def show(self, address: str, width: int, dark: bool, media: str = "screen") -> None:
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.loaded = False
        self.ask("Page.navigate", url=address)
        while not self.loaded:
            self.note(self.read())

    def picture(self) -> bytes:
        taken = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(taken["data"])
