"""A client of `rewind serve --stdio`, in one file: copy it. It needs Python 3.9.

    with Rewind("/path/to/project") as rewind:
        rewind.snapshot(label="before my agent")

Each method of docs/protocol.md is a method here, with its parameters by name and
the result as a dict. An answer that says no raises RewindError, and so does
everything else once the process has ended.
"""

import json
import queue
import subprocess
import sys
import threading

PROTOCOL = 1
CANCELLED = -32097


class RewindError(Exception):
    """The message of the answer, and its code: docs/protocol.md lists them."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


class Rewind:
    """One process of rewind, for one directory. One thread at a time may use it."""

    def __init__(self, directory=".", binary="rewind", client="rewind.py", warn=None):
        """Starts the process. `warn` is called with each warning, from another thread;
        without it they go to standard error."""
        self._warn = warn or (lambda message: print("rewind:", message, file=sys.stderr))
        self._answers = queue.Queue()
        self._last = 0
        self._process = subprocess.Popen([binary, "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self.about = self.request("initialize", {"protocol": PROTOCOL, "dir": directory, "client": client})
        except BaseException:
            self.close()
            raise
        for message in self.about["warnings"]:
            self._warn(message)

    def request(self, method, params=None, timeout=None):
        """Sends a request and waits for its result. After `timeout` seconds it is
        cancelled: a restore is then unfinished, and the next request finishes it."""
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params or {}})
        while True:
            try:
                answer = self._answers.get(timeout=timeout)
            except queue.Empty:
                self._send({"jsonrpc": "2.0", "method": "cancel", "params": {"id": self._last}})
                raise RewindError(f"{method}: no answer within {timeout} seconds", CANCELLED) from None
            if answer is None:
                self._answers.put(None)
                raise RewindError(f"rewind ended with {self._process.wait()}", 1)
            if answer.get("id") != self._last:
                continue  # of a request that was given up
            if "error" in answer:
                raise RewindError(answer["error"]["message"], answer["error"]["code"])
            return answer["result"]

    def __getattr__(self, method):
        if method.startswith("_"):
            raise AttributeError(method)
        return lambda timeout=None, **params: self.request(method, params, timeout)

    def close(self):
        """Ends the process, after what it does now."""
        try:
            self._process.stdin.close()
        except OSError:
            pass  # it has ended by itself
        self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _send(self, message):
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            pass  # the process has ended, which the reader tells

    def _read(self):
        try:
            for line in self._process.stdout:
                message = json.loads(line)
                if message.get("method") == "warning":
                    self._warn(message["params"]["message"])
                elif "id" in message:
                    self._answers.put(message)
        finally:
            self._answers.put(None)
