"""Firefox without its driver: the Marionette protocol that geckodriver would speak, over TCP.

A message is its length in bytes, a colon, and JSON: [0, id, command, parameters], answered by
[1, id, error, result]. https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time


def find():
    """The path of the browser, or None."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    """A headless browser: with Firefox() as firefox: firefox.open(url); firefox.run(script, ...)."""

    def __enter__(self):
        self.profile = tempfile.mkdtemp()
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with open(os.path.join(self.profile, "user.js"), "w", encoding="utf-8") as file:
            file.write(f'user_pref("marionette.port", {port});\n')
        self.process = subprocess.Popen([find(), "--headless", "--marionette", "--no-remote", "--profile", self.profile],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.count = 0
        try:
            self.connect(port)
            self.version = self.ask("WebDriver:NewSession")["capabilities"]["browserVersion"]
            self.ask("WebDriver:SetTimeouts", script=60000, pageLoad=60000)
        except BaseException:
            self.__exit__()
            raise
        return self

    def connect(self, port):
        for _ in range(300):
            try:
                self.stream = socket.create_connection(("127.0.0.1", port)).makefile("rwb")
                self.receive()  # a greeting
                return
            except OSError:
                time.sleep(0.1)
        raise TimeoutError("Firefox does not listen")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self):
        length = b""
        while (digit := self.stream.read(1)) != b":":
            assert digit != b"", "Firefox has closed the connection"
            length += digit
        return json.loads(self.stream.read(int(length)))

    def ask(self, command, **parameters):
        self.count += 1
        message = json.dumps([0, self.count, command, parameters]).encode()
        self.stream.write(b"%d:%s" % (len(message), message))
        self.stream.flush()
        _, _, error, result = self.receive()
        assert error is None, (command, error)
        return result

    def open(self, url):
        self.ask("WebDriver:Navigate", url=url)

    def run(self, script, *arguments):
        """The value of a JavaScript function body, or that of its promise."""
        return self.ask("WebDriver:ExecuteScript", script=script, args=list(arguments))["value"]
