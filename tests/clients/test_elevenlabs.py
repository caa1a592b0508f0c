"""ElevenLabs' client for Python against `mynah serve`, and their protocol of several
contexts, for which that client has types and no calls."""

import asyncio
import base64
import json
import unittest
import urllib.request
import warnings

from elevenlabs.client import AsyncElevenLabs, ElevenLabs
from elevenlabs.core.api_error import ApiError
from elevenlabs.types import VoiceSettings
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from shared import FRAME, HELLO, KEY, LONG, NARROW_URL, TLS_URL, URL, decode, eventually, metric, quiet

VOICE = "lark"
MULTI = "ws" + URL.removeprefix("http") + f"/v1/text-to-speech/{VOICE}/multi-stream-input?output_format=pcm_24000&seed=5"


def client(url=URL, key="none", **options):
    return ElevenLabs(base_url=url, api_key=key, timeout=60, **options)


def over_http(text, **fields) -> bytes:
    """The same text by OpenAI's API, in the layout of text in pieces."""
    body = json.dumps({"input": text, "voice": VOICE, "seed": 5, "response_format": "pcm", "non_streaming_mode": False, **fields}).encode()
    request = urllib.request.Request(URL + "/v1/audio/speech", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def words(text=HELLO):
    """A text as language models give it: words with the space before them."""
    for at, word in enumerate(text.split(" ")):
        yield word if at == 0 else " " + word


class Convert(unittest.TestCase):
    def setUp(self):
        self.addCleanup(quiet)
        self.client = client()

    def convert(self, text=HELLO, **fields):
        fields = {"output_format": "pcm_24000", "seed": 5, "model_id": "eleven_multilingual_v2", **fields}
        return b"".join(self.client.text_to_speech.convert(VOICE, text=text, **fields))

    def test_formats(self):
        pcm = self.convert()
        self.assertEqual(pcm, over_http(HELLO, non_streaming_mode=True))
        for name, bytes_per_second in (("pcm_8000", 16000), ("pcm_16000", 32000), ("pcm_22050", 44100), ("pcm_44100", 88200), ("pcm_48000", 96000), ("ulaw_8000", 8000), ("alaw_8000", 8000)):
            with self.subTest(name):
                data = self.convert(output_format=name)
                self.assertAlmostEqual(len(data) / bytes_per_second, len(pcm) / 48000, delta=0.01)
        for name in ("mp3_22050_32", "mp3_44100_64", "mp3_44100_128", "mp3_44100_192", "opus_48000_64", "wav_16000"):
            with self.subTest(name):
                data = self.convert(output_format=name)
                self.assertAlmostEqual(len(decode(data)), len(pcm), delta=2 * 24000 // 5)

    def test_default_is_mp3(self):
        data = b"".join(self.client.text_to_speech.convert(VOICE, text=HELLO, seed=5))
        self.assertEqual(data[0], 0xFF)
        self.assertGreater(len(decode(data)), 5 * FRAME)

    def test_stream(self):
        chunks = self.client.text_to_speech.stream(VOICE, text=LONG, output_format="pcm_24000", voice_settings=VoiceSettings(stability=0.4, similarity_boost=0.9))
        self.assertGreater(len(next(chunks)), 0)
        self.assertEqual(metric("mynah_live_requests"), 1)
        chunks.close()

    def test_speed(self):
        plain = self.convert()
        slow = self.convert(voice_settings=VoiceSettings(speed=0.7))
        self.assertAlmostEqual(len(slow) / len(plain), 1 / 0.7, delta=0.15)

    def test_errors(self):
        for fields, status, code in (
            ({"output_format": "pcm_11025"}, 400, "invalid_value"),
            ({"model_id": "gpt-5"}, 404, "model_not_found"),
            ({"language_code": "xx"}, 400, "invalid_value"),
            ({"text": ""}, 400, "invalid_value"),
        ):
            with self.subTest(fields), self.assertRaises(ApiError) as caught:
                self.convert(**fields)
            self.assertEqual((caught.exception.status_code, caught.exception.body["detail"]["status"]), (status, code))
        with self.assertRaises(ApiError) as caught:
            b"".join(client(NARROW_URL, "sk-bad").text_to_speech.convert(VOICE, text=HELLO))
        self.assertEqual((caught.exception.status_code, caught.exception.body["detail"]["status"]), (401, "invalid_api_key"))

    def test_key(self):
        self.assertGreater(len(b"".join(client(NARROW_URL, KEY).text_to_speech.convert(VOICE, text=HELLO, seed=5))), 100)

    def test_voices(self):
        names = [v.voice_id for v in self.client.voices.get_all().voices]
        self.assertEqual((names[0], "alloy" in names), (VOICE, True))
        self.assertEqual([v.voice_id for v in self.client.voices.search(search="lar").voices], [VOICE])
        self.assertEqual(self.client.voices.get(VOICE).name, VOICE)

    def test_async(self):
        async def convert():
            c = AsyncElevenLabs(base_url=URL, api_key="none", timeout=60)
            return b"".join([chunk async for chunk in c.text_to_speech.convert(VOICE, text=HELLO, output_format="pcm_24000", seed=5)])

        self.assertEqual(asyncio.run(convert()), self.convert())


class Realtime(unittest.TestCase):
    """convert_realtime: stream-input."""

    def setUp(self):
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore", DeprecationWarning)  # the client's own
        self.addCleanup(quiet, TLS_URL)
        self.client = client(TLS_URL)

    def test_pcm(self):
        # The client cuts at spaces, and puts one behind each piece.
        audio = b"".join(self.client.text_to_speech.convert_realtime(VOICE, text=words(), output_format="pcm_24000", model_id="eleven_flash_v2_5"))
        self.assertEqual(len(audio) % FRAME, 0)
        self.assertGreater(len(audio), 5 * FRAME)

    def test_mp3(self):
        settings = VoiceSettings(stability=0.5, speed=1.1)
        audio = b"".join(self.client.text_to_speech.convert_realtime(VOICE, text=words(), voice_settings=settings))
        self.assertGreater(len(decode(audio)), 5 * FRAME)

    def test_ulaw(self):
        audio = b"".join(self.client.text_to_speech.convert_realtime(VOICE, text=words(), output_format="ulaw_8000"))
        self.assertGreater(len(audio), 5 * 640)

    def test_errors(self):
        for voice, options, code in (("nobody", {}, "voice_not_found"), (VOICE, {"output_format": "mp3_1_2"}, "invalid_value"), (VOICE, {"model_id": "gpt-5"}, "model_not_found")):
            with self.subTest(code), self.assertRaises(ApiError) as caught:
                for _ in self.client.text_to_speech.convert_realtime(voice, text=words(), **options):
                    pass
            self.assertEqual(caught.exception.status_code, 1008)
            self.assertIn(code, str(caught.exception.body))

    def test_leaving(self):
        chunks = self.client.text_to_speech.convert_realtime(VOICE, text=words(LONG[:4000]), output_format="pcm_24000")
        next(chunks)
        chunks.close()
        eventually("the sockets are gone", lambda: metric("mynah_websockets", TLS_URL) == 0)


class Contexts(unittest.TestCase):
    """multi-stream-input, as ElevenLabs documents it."""

    def setUp(self):
        self.addCleanup(quiet)
        self.ws = self.enterContext(connect(MULTI))

    def say(self, **fields):
        self.ws.send(json.dumps(fields))

    def hear(self, ends=1):
        """Reads until so many contexts are over: audio, and those that ended well."""
        audio, finals, errors = {}, [], []
        while len(finals) + len(errors) < ends:
            m = json.loads(self.ws.recv(timeout=30))
            if m.get("audio"):
                audio[m["contextId"]] = audio.get(m["contextId"], b"") + base64.b64decode(m["audio"])
            elif m.get("isFinal"):
                finals.append(m["contextId"])
            else:
                errors.append((m["contextId"], m["error"]))
        return audio, finals, errors

    def test_contexts(self):
        texts = {"a": HELLO, "b": "How are you?", "c": "It is late."}
        for name in texts:
            self.say(context_id=name, text=" ", voice_settings={"stability": 0.5})
        for name, text in texts.items():
            for word in text.split(" "):
                self.say(context_id=name, text=word + " ")
            self.say(context_id=name, flush=True)
        self.say(close_socket=True)
        audio, finals, errors = self.hear(3)
        self.assertEqual((sorted(finals), errors), (sorted(texts), []))
        for name, text in texts.items():
            self.assertEqual(audio[name], over_http(text))
        with self.assertRaises(ConnectionClosed) as caught:
            self.ws.recv(timeout=30)
        self.assertEqual(caught.exception.rcvd.code, 1000)

    def test_barge_in(self):
        self.say(context_id="old", text=LONG[:4000] + " ")
        while not json.loads(self.ws.recv(timeout=30)).get("audio"):
            pass
        self.say(context_id="old", close_context=True)
        self.say(context_id="new", text=HELLO + " ", flush=True)
        self.say(context_id="new", close_context=True)
        audio, finals, errors = self.hear(2)
        self.assertEqual((finals, errors), (["new"], [("old", "context_closed")]))
        self.assertEqual(audio["new"], over_http(HELLO))

    def test_too_many(self):
        for i in range(6):
            self.say(context_id=str(i), text=" ")
        with self.assertRaises(ConnectionClosed) as caught:
            while True:
                m = json.loads(self.ws.recv(timeout=30))
                self.assertEqual(m["error"], "max_active_conversations")
        self.assertEqual(caught.exception.rcvd.code, 1008)


if __name__ == "__main__":
    unittest.main()
