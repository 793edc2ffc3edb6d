"""A proxy between workers and a server, which does what networks and broken servers do. It knows bytes, not the protocol.

A fault is a word and what must stand in a request for its reply to suffer ("" is any, so that greetings suffer already):

  pass          nothing
  refuse        nobody listens, and what was open is closed
  hang          connections are accepted, and nothing ever answers
  cut           the connection ends in the middle of a reply
  drip          a byte of the reply now and then
  garbage       random bytes in place of the reply
  long, short   the first length in the reply says more, or less, than follows
  flip          a bit of the reply's last quarter is another one
  late          the request is handed on half a second later
  swap          the reply that was kept (Proxy.keep) in place of this one
"""

from __future__ import annotations

import re
import select
import socket
import threading
import time
from random import Random

LENGTH = re.compile(rb"\$(\d+)\r\n")
CHUNK = 1 << 16
DRIP_SECONDS = 0.02
LATE_SECONDS = 0.5


class Link:
    """One connection: two threads, which end with it."""

    def __init__(self, proxy: Proxy, near: socket.socket, far: socket.socket) -> None:
        self.proxy = proxy
        self.near = near
        self.far = far
        self.asked = b""
        self.ended = False
        for work in (self.ask, self.answer):
            threading.Thread(target=work, daemon=True).start()

    def end(self) -> None:
        self.ended = True
        for one in (self.near, self.far):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def ask(self) -> None:
        try:
            while chunk := self.near.recv(CHUNK):
                self.asked = chunk
                if self.suffers("late"):
                    time.sleep(LATE_SECONDS)
                if not self.suffers("hang"):
                    self.far.sendall(chunk)
        except OSError:
            pass
        self.end()

    def answer(self) -> None:
        try:
            while chunk := self.far.recv(CHUNK):
                # A large reply comes in pieces.
                while select.select([self.far], [], [], 0.005)[0] and (more := self.far.recv(CHUNK)):
                    chunk += more
                self.hand_on(chunk)
        except OSError:
            pass
        self.end()

    def suffers(self, fault: str) -> bool:
        return self.proxy.fault == fault and self.proxy.where in self.asked

    def hand_on(self, reply: bytes) -> None:
        proxy = self.proxy
        if proxy.keeping and proxy.keeping in self.asked:
            proxy.kept = reply
        if proxy.where not in self.asked or proxy.fault in ("pass", "late"):
            self.near.sendall(reply)
            return
        proxy.harmed += 1
        if proxy.fault == "cut":
            self.near.sendall(reply[: max(1, len(reply) // 2)])
            self.end()
        elif proxy.fault == "drip":
            self.drip(reply)
        elif proxy.fault != "hang":
            self.near.sendall(proxy.spoil(reply))

    def drip(self, reply: bytes) -> None:
        for at in range(len(reply)):
            if self.ended:
                return
            self.near.sendall(reply[at : at + 1])
            time.sleep(DRIP_SECONDS)


class Proxy:
    """Listens on a port of the loopback, in front of a Unix socket."""

    def __init__(self, path: str, seed: int) -> None:
        self.path = path
        self.random = Random(seed)
        self.fault = "pass"
        self.where = b""
        self.keeping = b""
        self.kept = b""
        self.harmed = 0
        self.links: list[Link] = []
        self.listener: socket.socket | None = None
        self.port = 0
        self.listen()

    def listen(self) -> None:
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.port = int(self.listener.getsockname()[1])
        self.listener.listen(64)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def accept(self, listener: socket.socket) -> None:
        try:
            while True:
                near, _ = listener.accept()
                far = socket.socket(socket.AF_UNIX)
                try:
                    far.connect(self.path)
                except OSError:
                    near.close()
                    continue
                self.links.append(Link(self, near, far))
        except OSError:
            pass

    def set(self, fault: str, where: bytes = b"") -> None:
        self.where = where
        self.fault = fault
        if fault == "refuse":
            self.close()
        elif self.listener is None:
            self.listen()
        if fault == "pass":
            # Who was cheated may have a connection left that is out of step: a real fault ends with new ones too.
            self.end_links()

    def keep(self, where: bytes) -> None:
        """The next reply to a request with this in it is what `swap` hands out."""
        self.keeping = where

    def spoil(self, reply: bytes) -> bytes:
        if self.fault == "garbage":
            return self.random.randbytes(len(reply))
        if self.fault == "swap":
            return self.kept
        if self.fault == "flip":
            at = len(reply) - 1 - self.random.randrange(2, max(3, len(reply) // 4))
            return reply[:at] + bytes([reply[at] ^ 1]) + reply[at + 1 :]
        more = 7 if self.fault == "long" else -7
        return LENGTH.sub(lambda found: b"$%d\r\n" % max(0, int(found[1]) + more), reply, count=1)

    def end_links(self) -> None:
        for link in self.links:
            link.end()
        self.links.clear()

    def close(self) -> None:
        if self.listener is not None:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.listener = None
        self.end_links()
