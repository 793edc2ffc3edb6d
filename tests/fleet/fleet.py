"""What the drivers share: a real Redis server in a temporary directory, worker processes told by lines, arguments, complaints."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

SKIPPED = 77
# Nothing that is waited for here takes so long: it is a hang.
SECONDS = 120.0
PREFIX = "guardcache:1:"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_until(what: str, holds: Callable[[], bool], seconds: float = SECONDS, every: float = 0.01) -> float:
    """How long it took. SystemExit: it didn't come."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > seconds:
            raise SystemExit(f"{what}: not within {seconds:.0f} s")
        time.sleep(every)
    return time.monotonic() - began


# ---- the server ----


class Client:
    """As much of RESP as the tests need to look into the server and to change what it holds."""

    def __init__(self, path: str, password: str = "") -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(SECONDS)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        if password:
            self.ask("AUTH", password)

    def close(self) -> None:
        self.file.close()
        self.socket.close()

    def ask(self, *words: str | bytes | int) -> Any:
        parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
        return self.reply()

    def reply(self) -> Any:
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server has gone")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return self.file.read(int(rest) + 2)[:-2] if rest != b"-1" else None
        return [self.reply() for _ in range(int(rest))] if rest != b"-1" else None


class Server:
    """A redis-server on a Unix socket and a port of the loopback; stopped and started again as often as one likes."""

    def __init__(self, scratch: Path, *settings: str, password: str = "") -> None:
        self.folder = scratch / f"redis-{free_port()}"
        self.folder.mkdir()
        self.path = str(self.folder / "socket")
        self.port = free_port()
        self.password = password
        self.settings = settings
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        words = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", self.path]
        words += ["--dir", str(self.folder), "--save", "", "--logfile", "log", *self.settings]
        if self.password:
            words += ["--requirepass", self.password]
        # Its log isn't ours: what a password is set by stands in its arguments.
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until("redis-server answers", self.answers)

    def answers(self) -> bool:
        try:
            with self.client() as client:
                return client.ask("PING") == "PONG"
        except (OSError, RuntimeError):
            return False

    @contextmanager
    def client(self) -> Iterator[Client]:
        one = Client(self.path, self.password)
        try:
            yield one
        finally:
            one.close()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def url(self, options: str = "", credentials: str = "") -> str:
        return url_of(self.port, options, credentials)

    def heads(self) -> dict[bytes, list[bytes]]:
        """Every key's candidates: ids."""
        with self.client() as client:
            names = client.ask("KEYS", PREFIX + "*:h")
            return {name: client.ask("HKEYS", name) for name in names}


def url_of(port: int, options: str = "", credentials: str = "") -> str:
    at = credentials + "@" if credentials else ""
    return f"redis://{at}127.0.0.1:{port}/0" + ("?" + options if options else "")


# ---- workers ----


class Died(Exception):
    """The worker is dead, or says nothing that makes sense."""


class Worker:
    """A worker process. It says what it did, a line of JSON each."""

    def __init__(self, program: str, directory: Path, tiers: str = "", log: Path | None = None, **arguments: str) -> None:
        words = [program, str(directory), f"tiers={tiers}", *(f"{name}={value}" for name, value in arguments.items())]
        self.log = log if log is not None else directory.parent / (directory.name + ".log")
        with self.log.open("ab") as complaints:
            self.process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, env=environment()
            )
        self.pid = self.process.pid
        self.said = ""  # all of it
        self.hear()

    def tell(self, *words: object) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise Died(self.log.read_text(errors="replace")) from error

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise Died(self.log.read_text(errors="replace")[-2000:])
        self.said += line.decode(errors="replace")
        answer: dict[str, Any] = json.loads(line)
        if "status" in answer:
            answer["status"] = answer["status"].lower()
        return answer

    def ask(self, *words: object) -> dict[str, Any]:
        self.tell(*words)
        return self.hear()

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def is_stopped(self) -> bool:
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def end(self) -> int:
        """Its exit status, after closing its cache."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        status = self.process.wait(SECONDS)
        self.process.stdout.close()
        return status

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.end()


def environment() -> dict[str, str]:
    """Nothing of who runs the tests but what sanitizers and the loader need."""
    kept = {name: os.environ[name] for name in os.environ if name.endswith("SAN_OPTIONS") or name == "LD_LIBRARY_PATH"}
    return kept | {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


# ---- drivers ----


class Trial:
    """One run: where it is, how large it is, and what it found wrong."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options = options
        self.scratch = scratch
        self.program: str = options.worker
        self.command: str = options.command
        self.seed: int = options.seed
        self.random = Random(options.seed)
        self.complaints: list[str] = []
        self.started: list[Worker] = []
        self.servers: list[Server] = []

    def complain(self, text: str) -> None:
        print("wrong:", text, flush=True)
        self.complaints.append(text)

    def expect(self, holds: bool, text: str) -> bool:
        if not holds:
            self.complain(text)
        return holds

    def folder(self, name: str) -> Path:
        return self.scratch / name

    def server(self, *settings: str, password: str = "") -> Server:
        self.servers.append(Server(self.scratch, *settings, password=password))
        return self.servers[-1]

    def worker(self, name: str, tiers: str = "", **arguments: str) -> Worker:
        """name is its directory's: several workers of one name are on one host."""
        one = Worker(self.program, self.folder(name), tiers, self.folder(f"{name}.{len(self.started)}.log"), **arguments)
        self.started.append(one)
        return one

    def forget(self) -> None:
        """Ends what workers are left and removes their directories."""
        for worker in self.started:
            worker.kill()
        for path in self.scratch.iterdir():
            if not path.name.startswith("redis-"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def clear_up(self) -> None:
        for worker in self.started:
            worker.kill()
        for server in self.servers:
            server.kill()


def parser(description: str | None) -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--worker", required=True)
    words.add_argument("--command", required=True)
    words.add_argument("--seed", type=int, default=int(os.environ.get("GUARDCACHE_SEED", "1")))
    return words


def drive(options: argparse.Namespace, run: Callable[[Trial], None], needs_server: bool = True) -> None:
    """Runs it in a temporary directory and exits: 0, 1 with complaints, 77 without a server."""
    if needs_server and shutil.which("redis-server") is None:
        print("skipped: redis-server isn't installed")
        raise SystemExit(SKIPPED)
    options.worker, options.command = (str(Path(name).resolve()) for name in (options.worker, options.command))
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        trial = Trial(options, Path(folder))
        began = time.monotonic()
        try:
            run(trial)
        finally:
            trial.clear_up()
    print(f"    {len(trial.complaints)} complaints, {time.monotonic() - began:.1f} s, seed {trial.seed}")
    sys.stdout.flush()
    raise SystemExit(1 if trial.complaints else 0)
