"""A WebSocket client for Python against the protocol of docs/websocket.md."""

import asyncio
import json
import unittest

from openai import OpenAI
from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from shared import FRAME, HELLO, KEY, LONG, NARROW_URL, URL, decode, eventually, metric, quiet

PATH = "/v1/audio/speech/stream"


def address(url=URL):
    return "ws" + url.removeprefix("http") + PATH


def message(kind, **fields):
    return json.dumps({"type": kind, **fields})


class Heard:
    """One utterance as it came: its events in order, and the audio of them all."""

    def __init__(self):
        self.events, self.audio = [], b""

    def take(self, received) -> bool:
        """Takes a message and tells whether it was the last."""
        if isinstance(received, bytes):
            self.audio += received
            return False
        self.events.append(json.loads(received))
        return self.events[-1]["type"] == "session.done"

    def of(self, kind):
        return [e for e in self.events if e["type"] == kind]


def hear(ws) -> Heard:
    heard = Heard()
    while not heard.take(ws.recv(timeout=30)):
        pass
    return heard


def over_http(text, **fields) -> bytes:
    """The same text by HTTP, in the layout of text in pieces."""
    body = {"seed": 5, "non_streaming_mode": False, **fields}
    with OpenAI(base_url=URL + "/v1", api_key="none") as c:
        return c.audio.speech.create(model="tts-1", voice="lark", input=text, response_format="pcm", extra_body=body).content


class WebSocket(unittest.TestCase):
    def setUp(self):
        self.addCleanup(quiet)

    def open(self, **config):
        ws = self.enterContext(connect(address()))
        created = json.loads(ws.recv())
        self.assertEqual((created["type"], created["format"], created["sample_rate"]), ("session.created", "pcm", 24000))
        ws.send(message("session.config", voice="lark", seed=5, **config))
        self.assertEqual(json.loads(ws.recv())["type"], "session.updated")
        return ws

    def test_pieces(self):
        want = over_http(HELLO)
        ws = self.open()
        for utterance, cut in enumerate((1, 3, len(HELLO))):
            for at in range(0, len(HELLO), cut):
                ws.send(message("input.text", text=HELLO[at:at + cut]))
            ws.send(message("input.done"))
            heard = hear(ws)
            self.assertEqual(heard.audio, want)
            start, done, end = heard.of("audio.start")[0], heard.of("audio.done")[0], heard.events[-1]
            self.assertEqual([e["utterance_index"] for e in (start, done, end)], [utterance] * 3)
            self.assertEqual((done["total_bytes"], done["frames"], done["finish_reason"], done["error"]), (len(want), len(want) // FRAME, "stop", False))
            self.assertEqual((end["total_sentences"], end["finish_reason"]), (1, "stop"))
        ws.send(message("session.close"))
        with self.assertRaises(ConnectionClosed) as caught:
            ws.recv(timeout=30)
        self.assertEqual((caught.exception.rcvd.code, caught.exception.rcvd.reason), (1000, "session_closed"))

    def test_speech_begins_before_the_text_has_ended(self):
        ws = self.open()
        ws.send(message("input.text", text="Once upon a time there was a bird that "))
        heard = Heard()
        while not heard.audio:
            self.assertFalse(heard.take(ws.recv(timeout=30)))
        ws.send(message("input.text", text="could speak."))
        ws.send(message("input.done"))
        while not heard.take(ws.recv(timeout=30)):
            pass
        self.assertEqual(heard.audio, over_http("Once upon a time there was a bird that could speak."))

    def test_barge_in(self):
        ws = self.open()
        ws.send(message("input.text", text=LONG[:4000]))
        interrupted = Heard()
        while not interrupted.audio:
            interrupted.take(ws.recv(timeout=30))
        ws.send(message("input.cancel"))
        ws.send(message("input.text", text=HELLO))
        ws.send(message("input.done"))
        while not interrupted.take(ws.recv(timeout=30)):
            pass
        self.assertEqual(interrupted.of("audio.done")[-1]["finish_reason"], "cancelled")
        self.assertEqual(interrupted.events[-1]["finish_reason"], "cancelled")
        heard = hear(ws)
        self.assertEqual(heard.audio, over_http(HELLO))
        self.assertEqual(heard.events[-1]["utterance_index"], 1)

    def test_formats(self):
        want = over_http(HELLO)
        for name in ("wav", "flac"):
            with self.subTest(name):
                ws = self.open(response_format=name)
                ws.send(message("input.text", text=HELLO))
                ws.send(message("input.done"))
                self.assertEqual(decode(hear(ws).audio), want)

    def test_mistakes(self):
        ws = self.open()

        def refused(sent, code):
            ws.send(sent)
            answer = json.loads(ws.recv(timeout=30))
            self.assertEqual((answer["type"], answer["code"], answer["fatal"]), ("error", code, False))

        for sent, code in (
            (message("input.shout"), "unknown_type"),
            (message("session.config", voice="bob"), "voice_not_found"),
            (message("session.config", speed=9), "invalid_value"),
        ):
            with self.subTest(code):
                refused(sent, code)
        # What may have been text: without it the rest would be another one.
        for sent, code in (
            ("{", "invalid_message"),
            (b"\0\1", "binary_message"),
            (message("input.text", text=7), "invalid_type"),
        ):
            with self.subTest(code):
                refused(sent, code)
                ws.send(message("input.text", text=HELLO))
                ws.send(message("input.done"))
                heard = hear(ws)
                self.assertEqual((heard.events[-1]["finish_reason"], heard.audio), ("error", b""))
        ws.send(message("input.text", text=HELLO))  # nothing of that is left
        ws.send(message("input.done"))
        self.assertEqual(hear(ws).audio, over_http(HELLO))

    def test_pings(self):
        ws = self.open()
        self.assertTrue(ws.ping(b"are you there").wait(30))

    def test_vanishing(self):
        before = metric("mynah_websockets")
        for _ in range(4):
            ws = self.open()
            ws.send(message("input.text", text=LONG[:4000]))
            ws.recv(timeout=30)
            ws.socket.close()
        eventually("the sockets are gone", lambda: metric("mynah_websockets") == before)

    def test_keys(self):
        with self.assertRaises(InvalidStatus) as caught:
            connect(address(NARROW_URL))
        self.assertEqual(caught.exception.response.status_code, 401)
        for options in ({"additional_headers": {"Authorization": "Bearer " + KEY}}, {"subprotocols": ["mynah", "openai-insecure-api-key." + KEY]}):
            with connect(address(NARROW_URL), **options) as ws:
                self.assertEqual(json.loads(ws.recv(timeout=30))["type"], "session.created")
        with connect(address(NARROW_URL) + "?api_key=" + KEY) as ws:
            self.assertEqual(json.loads(ws.recv(timeout=30))["type"], "session.created")

    def test_foreign_page(self):
        with self.assertRaises(InvalidStatus) as caught:
            connect(address(), origin="https://elsewhere.example")
        self.assertEqual(caught.exception.response.status_code, 403)

    def test_many(self):
        want = over_http(HELLO)

        async def one():
            async with connect_async(address()) as ws:
                await ws.recv()
                await ws.send(message("session.config", voice="lark", seed=5))
                await ws.recv()
                for word in HELLO.split(" "):
                    await ws.send(message("input.text", text=word if word == "Hello" else " " + word))
                    await asyncio.sleep(0.01)
                await ws.send(message("input.done"))
                heard = Heard()
                while not heard.take(await asyncio.wait_for(ws.recv(), 30)):
                    pass
                return heard.audio

        async def all_at_once():
            return await asyncio.gather(*(one() for _ in range(16)))

        self.assertEqual(asyncio.run(all_at_once()), [want] * 16)


if __name__ == "__main__":
    unittest.main()
