"""What the tests of this folder share: where the servers are, what is said to them, and
how their audio is decoded."""

import os
import subprocess
import time
import urllib.request

URL = os.environ["CLIENTS_URL"]  # a server for everyone
NARROW_URL = os.environ["CLIENTS_NARROW_URL"]  # one listener, no queue, keys
TLS_URL = os.environ["CLIENTS_TLS_URL"]  # with a certificate that SSL_CERT_FILE has
KEY = "sk-test"

HELLO = "Hello there, good morning."
FRAME = 2 * 1920  # bytes of pcm
# Minutes of speech: still being computed when the first bytes of it arrive.
LONG = "This sentence is one of very many, and nobody will hear the last of them. " * 50

# What a request for HELLO begins with in each format.
MAGIC = {"flac": b"fLaC", "wav": b"RIFF", "opus": b"OggS"}


def decode(data: bytes) -> bytes:
    """16-bit samples of an audio file of any format, as ffmpeg hears it."""
    command = ["ffmpeg", "-v", "error", "-i", "-", "-f", "s16le", "-ac", "1", "-ar", "24000", "-"]
    run = subprocess.run(command, input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    if run.stderr:
        raise AssertionError(run.stderr.decode())
    return run.stdout


def metric(name: str, url: str = URL) -> float:
    """One of the server's metrics."""
    with urllib.request.urlopen(url + "/metrics", timeout=30) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
    raise AssertionError("no metric " + name)


def eventually(what: str, holds) -> None:
    """Waits for a condition."""
    deadline = time.monotonic() + 30
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError("never: " + what)
        time.sleep(0.02)


def quiet(url: str = URL) -> None:
    """Waits until nobody is being spoken to."""
    eventually("nothing is live", lambda: metric("mynah_live_requests", url) == 0 and metric("mynah_queued_requests", url) == 0)
