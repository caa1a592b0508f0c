"""OpenAI's client for Python against `mynah serve`."""

import asyncio
import base64
import json
import pathlib
import tempfile
import threading
import unittest

import openai
from openai import AsyncOpenAI, OpenAI

from shared import FRAME, HELLO, KEY, LONG, MAGIC, NARROW_URL, URL, decode, metric, quiet


def client(url=URL, key="none", **options):
    return OpenAI(base_url=url + "/v1", api_key=key, timeout=60, **options)


class Speech(unittest.TestCase):
    """The client closes its connections; what it left is over before the next test."""

    def setUp(self):
        self.addCleanup(quiet)
        self.client = self.enterContext(client())

    def speak(self, text=HELLO, seed=5, **fields):
        fields = {"model": "tts-1", "voice": "alloy", "extra_body": {"seed": seed}, **fields}
        return self.client.audio.speech.create(input=text, **fields)

    def stream(self, text=HELLO, seed=5, **fields):
        fields = {"model": "tts-1", "voice": "alloy", "extra_body": {"seed": seed}, **fields}
        return self.client.audio.speech.with_streaming_response.create(input=text, **fields)

    def test_default_is_mp3(self):
        with self.stream() as answer:
            data = b"".join(answer.iter_bytes())
        self.assertEqual(answer.headers["content-type"], "audio/mpeg")
        self.assertEqual(data[0], 0xFF)
        self.assertEqual(data[1] & 0xE0, 0xE0)
        pcm = self.speak(response_format="pcm").content
        # A decoder that knows no delay of the encoder hears its silence too.
        self.assertLess(abs(len(decode(data)) - len(pcm)), 2 * 24000 // 5)

    def test_exact_formats(self):
        pcm = self.speak(response_format="pcm").content
        self.assertGreater(len(pcm), 5 * FRAME)
        self.assertEqual(len(pcm) % FRAME, 0)
        for name in ("wav", "flac"):
            with self.subTest(name), self.stream(response_format=name) as answer:
                data = b"".join(answer.iter_bytes(1000))
                self.assertEqual(answer.headers["content-type"], "audio/" + name)
                self.assertTrue(data.startswith(MAGIC[name]))
                self.assertEqual(decode(data), pcm)

    def test_lossy_formats(self):
        pcm = self.speak(response_format="pcm").content
        for name in ("opus", "aac"):
            with self.subTest(name):
                data = self.speak(response_format=name).content
                self.assertTrue(data.startswith(MAGIC.get(name, b"\xff\xf1")))
                self.assertLess(abs(len(decode(data)) - len(pcm)), 2 * 24000 // 5)

    def test_first_bytes_come_long_before_the_end(self):
        for name in ("mp3", "pcm", "wav", "flac"):
            with self.subTest(name):
                with self.stream(LONG, response_format=name) as answer:
                    chunks = answer.iter_bytes()
                    self.assertGreater(len(next(chunks)), 0)
                    # The first are here, and the rest is still being computed.
                    self.assertEqual(metric("mynah_live_requests"), 1)
                    for _ in range(3):
                        next(chunks)
                quiet()  # leaving ends it

    def test_headers(self):
        raw = self.client.audio.speech.with_raw_response.create(
            model="gpt-4o-mini-tts", voice="lark", input=HELLO, response_format="pcm", extra_body={"seed": 77, "sample_rate": 16000})
        self.assertEqual(raw.headers["x-mynah-seed"], "77")
        self.assertEqual(raw.headers["x-mynah-voice"], "lark")
        self.assertEqual(raw.headers["x-mynah-sample-rate"], "16000")
        self.assertTrue(raw.headers["x-request-id"].startswith("req_"))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "hello.wav")
            with self.stream(response_format="wav") as answer:
                answer.stream_to_file(path)
            self.assertEqual(decode(path.read_bytes()), self.speak(response_format="pcm").content)
            whole = pathlib.Path(folder, "hello.mp3")
            self.speak().write_to_file(whole)
            self.assertGreater(whole.stat().st_size, 1000)

    def test_events(self):
        for name in ("pcm", "mp3"):
            with self.subTest(name), self.stream(response_format=name, stream_format="sse") as answer:
                self.assertEqual(answer.headers["content-type"], "text/event-stream")
                events = [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: ")]
                self.assertEqual({e["type"] for e in events[:-1]}, {"speech.audio.delta"})
                audio = b"".join(base64.b64decode(e["audio"], validate=True) for e in events[:-1])
                self.assertEqual(audio, self.speak(response_format=name).content)
                self.assertGreater(len(events), 3)
                done = events[-1]
                self.assertEqual((done["type"], done["finish_reason"], done["seed"]), ("speech.audio.done", "stop", 5))
                usage = done["usage"]
                self.assertEqual(usage["input_tokens"] + usage["output_tokens"], usage["total_tokens"])
                self.assertEqual(usage["output_tokens"], done["frames"])

    def test_events_as_the_client_decodes_them(self):
        """The stream class of the client itself, which the speech API does not use."""
        with self.stream(response_format="pcm", stream_format="sse") as answer:
            decoder = self.client._make_sse_decoder()
            events = list(decoder.iter_bytes(answer.iter_bytes()))
        self.assertEqual(events[0].event, "speech.audio.delta")
        self.assertEqual(events[-1].event, "speech.audio.done")
        self.assertEqual(events[-1].json()["type"], "speech.audio.done")

    def test_instructions_and_speed(self):
        plain = self.speak(response_format="pcm").content
        # The built-in voice was trained without them: it would speak noise.
        with self.assertRaises(openai.BadRequestError) as refused:
            self.speak(response_format="pcm", instructions="Speak slowly and sadly.")
        self.assertEqual(refused.exception.param, "instructions")
        fast = self.speak(response_format="pcm", speed=2.0).content
        self.assertAlmostEqual(len(fast) / len(plain), 0.5, delta=0.05)
        self.assertEqual(self.speak(response_format="pcm", speed=1.0).content, plain)

    def test_voices(self):
        plain = self.speak(response_format="pcm", voice="lark").content
        for voice in ("LARK", {"id": "lark"}, "nova", "default"):
            with self.subTest(voice=voice):
                self.assertEqual(self.speak(response_format="pcm", voice=voice).content, plain)

    def test_typed_errors(self):
        for name, fields, error, param, code in (
            ("voice", {"voice": "bob"}, openai.BadRequestError, "voice", "voice_not_found"),
            ("model", {"model": "whisper-1"}, openai.NotFoundError, "model", "model_not_found"),
            ("empty", {"text": ""}, openai.BadRequestError, "input", "invalid_value"),
            ("nothing to say", {"text": "…"}, openai.BadRequestError, "input", "invalid_value"),
            ("too long", {"text": "a" * 4097}, openai.BadRequestError, "input", "string_above_max_length"),
            ("speed", {"speed": 4.5}, openai.BadRequestError, "speed", "invalid_value"),
            ("format", {"response_format": "ogg"}, openai.BadRequestError, "response_format", "invalid_value"),
            ("stream format", {"stream_format": "xml"}, openai.BadRequestError, "stream_format", "invalid_value"),
            ("type", {"extra_body": {"seed": "seven"}}, openai.BadRequestError, "seed", "invalid_type"),
        ):
            with self.subTest(name):
                with self.assertRaises(error) as caught:
                    self.speak(**fields)
                e = caught.exception
                self.assertEqual((e.param, e.code, e.type), (param, code, "invalid_request_error"))
                self.assertTrue(e.request_id)
                with self.assertRaises(error), self.stream(**fields):
                    pass

    def test_unknown_path(self):
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.chat.completions.create(model="tts-1", messages=[{"role": "user", "content": "Hi"}])
        self.assertEqual(caught.exception.code, "unknown_path")

    def test_models(self):
        models = {m.id: m for m in self.client.models.list()}
        self.assertLessEqual({"tts-1", "tts-1-hd", "gpt-4o-mini-tts"}, set(models))
        self.assertEqual(models["tts-1"].owned_by, "mynah")
        self.assertEqual(self.client.models.retrieve("tts-1").id, "tts-1")
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("gpt-5")

    def test_batch(self):
        body = {"voice": "alloy", "response_format": "pcm", "items": [{"input": HELLO, "seed": 5}, {"input": "…"}, {"input": HELLO, "seed": 6}]}
        answer = self.client.post("/audio/speech/batch", cast_to=object, body=body)
        self.assertEqual([r["status"] for r in answer["results"]], ["success", "error", "success"])
        self.assertEqual(base64.b64decode(answer["results"][0]["audio_data"]), self.speak(response_format="pcm").content)

    def test_parallel_calls(self):
        alone = {seed: self.speak(seed=seed, response_format="pcm").content for seed in range(4)}

        async def all_at_once():
            async with AsyncOpenAI(base_url=URL + "/v1", api_key="none", timeout=60) as c:
                async def one(n):
                    made = await c.audio.speech.create(
                        model="tts-1", voice="alloy", input=HELLO, response_format="pcm", extra_body={"seed": n % 4})
                    return n % 4, made.content
                return await asyncio.gather(*(one(n) for n in range(24)))

        for seed, data in asyncio.run(all_at_once()):
            self.assertEqual(data, alone[seed], f"seed {seed}")

    def test_cancelled_calls(self):
        async def cancelled():
            async with AsyncOpenAI(base_url=URL + "/v1", api_key="none", timeout=60) as c:
                calls = [asyncio.create_task(c.audio.speech.create(model="tts-1", voice="alloy", input=LONG)) for _ in range(12)]
                await asyncio.sleep(0.3)
                for call in calls:
                    call.cancel()
                return await asyncio.gather(*calls, return_exceptions=True)

        for result in asyncio.run(cancelled()):
            self.assertIsInstance(result, asyncio.CancelledError)
        quiet()

    def test_threads(self):
        want = self.speak(response_format="pcm").content
        got = []
        threads = [threading.Thread(target=lambda: got.append(self.speak(response_format="pcm").content)) for _ in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(got, [want] * 6)


class Narrow(unittest.TestCase):
    """A server with keys that speaks to one at a time."""

    def setUp(self):
        self.addCleanup(quiet, NARROW_URL)

    def test_keys(self):
        for key in ("sk-wrong", "none", "sk-tes"):
            with client(NARROW_URL, key) as c, self.assertRaises(openai.AuthenticationError) as caught:
                c.audio.speech.create(model="tts-1", voice="lark", input=HELLO)
            self.assertEqual(caught.exception.code, "invalid_api_key")
            self.assertNotIn(key, str(caught.exception))
        for key in (KEY, "sk-other"):
            with client(NARROW_URL, key) as c:
                self.assertGreater(len(c.audio.speech.create(model="tts-1", voice="lark", input=HELLO).content), 1000)

    def test_openai_voice_without_a_map(self):
        with client(NARROW_URL, KEY) as c, self.assertRaises(openai.BadRequestError) as caught:
            c.audio.speech.create(model="tts-1", voice="alloy", input=HELLO)
        self.assertEqual(caught.exception.code, "voice_not_found")
        self.assertIn("lark", str(caught.exception))

    def test_queue_full(self):
        with client(NARROW_URL, KEY, max_retries=0) as c:
            with c.audio.speech.with_streaming_response.create(model="tts-1", voice="lark", input=LONG) as held:
                chunks = held.iter_bytes()  # which closes the answer when it is forgotten
                next(chunks)
                with self.assertRaises(openai.RateLimitError) as caught:
                    c.audio.speech.create(model="tts-1", voice="lark", input=HELLO)
                self.assertEqual(caught.exception.code, "queue_full")
                self.assertGreater(int(caught.exception.response.headers["retry-after"]), 0)

    def test_the_client_tries_again(self):
        """It waits for as long as Retry-After says, and is served then."""
        with client(NARROW_URL, KEY, max_retries=5) as c:
            with c.audio.speech.with_streaming_response.create(model="tts-1", voice="lark", input=LONG) as held:
                chunks = held.iter_bytes()  # which closes the answer when it is forgotten
                next(chunks)
                letting_go = threading.Timer(1, held.close)
                letting_go.start()
                made = c.audio.speech.create(model="tts-1", voice="lark", input=HELLO, response_format="pcm")
                letting_go.join()
            self.assertGreater(len(made.content), 5 * FRAME)


if __name__ == "__main__":
    unittest.main()
