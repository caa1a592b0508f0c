"""The client of the Wyoming protocol, with which Home Assistant speaks, against
`mynah serve --wyoming`."""

import asyncio
import os
import unittest
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of a module that Python drops
    from wyoming.audio import AudioChunk, AudioStart, AudioStop
    from wyoming.client import AsyncTcpClient
    from wyoming.error import Error
    from wyoming.info import Describe, Info
    from wyoming.ping import Ping, Pong
    from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop, SynthesizeStopped, SynthesizeVoice

from shared import FRAME, HELLO, LONG, eventually, metric, quiet

HOST, PORT = os.environ["CLIENTS_WYOMING"].rsplit(":", 1)


def client():
    return AsyncTcpClient(HOST, int(PORT), connect_timeout=10, read_timeout=30)


async def hear(c, last):
    """Reads until an event of a type: the types, and the audio."""
    types, audio = [], b""
    while True:
        event = await c.read_event()
        if event is None:
            return types + [None], audio
        if AudioChunk.is_type(event.type):
            chunk = AudioChunk.from_event(event)
            assert (chunk.rate, chunk.width, chunk.channels) == (24000, 2, 1), chunk
            audio += chunk.audio
            continue
        if AudioStart.is_type(event.type):
            start = AudioStart.from_event(event)
            assert (start.rate, start.width, start.channels) == (24000, 2, 1), start
        types.append(event.type)
        if last.is_type(event.type):
            return types, audio


class Wyoming(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.addCleanup(quiet)

    async def test_describe(self):
        async with client() as c:
            await c.write_event(Describe().event())
            info = Info.from_event(await c.read_event())
            await c.write_event(Ping(text="there?").event())
            self.assertEqual(Pong.from_event(await c.read_event()).text, "there?")
        (program,) = info.tts
        self.assertEqual((program.name, program.installed, program.supports_synthesize_streaming), ("mynah", True, True))
        self.assertEqual((program.voices[0].name, program.voices[0].languages), ("lark", ["en"]))
        self.assertEqual((info.asr, info.wake, info.satellite), ([], [], None))

    async def test_synthesize(self):
        for voice in (None, SynthesizeVoice(name="lark"), SynthesizeVoice(language="en"), SynthesizeVoice(name="Alloy", speaker="x")):
            async with client() as c:
                await c.write_event(Synthesize(text=HELLO, voice=voice).event())
                types, audio = await hear(c, AudioStop)
            self.assertEqual(types, ["audio-start", "audio-stop"])
            self.assertEqual(len(audio) % FRAME, 0)
            self.assertGreater(len(audio), 5 * FRAME)

    async def test_streaming(self):
        async with client() as c:
            await c.write_event(SynthesizeStart(voice=SynthesizeVoice(name="lark")).event())
            first = "Once upon a time there was a bird that "
            await c.write_event(SynthesizeChunk(text=first).event())
            event = await c.read_event()  # before the text has ended
            self.assertEqual(event.type, "audio-start")
            for piece in ("cou", "ld sp", "eak."):
                await c.write_event(SynthesizeChunk(text=piece).event())
            # Home Assistant sends the whole text as well, for servers that take no pieces.
            await c.write_event(Synthesize(text=first + "could speak.").event())
            await c.write_event(SynthesizeStop().event())
            types, audio = await hear(c, SynthesizeStopped)
            self.assertEqual(types, ["audio-stop", "synthesize-stopped"])
            # Once, and not twice: the server bounds the audio by its text.
            await c.write_event(Synthesize(text=first + "could speak.").event())
            _, whole = await hear(c, AudioStop)
        self.assertLess(len(audio), 2 * len(whole))
        self.assertGreater(len(audio), len(whole) // 2)

    async def test_errors(self):
        for event in (Synthesize(text=HELLO, voice=SynthesizeVoice(name="nobody")), Synthesize(text="…"), SynthesizeChunk(text="a")):
            async with client() as c:
                await c.write_event(event.event())
                error = Error.from_event(await c.read_event())
                self.assertTrue(error.text and error.code, error)
                self.assertIsNone(await c.read_event())

    async def test_leaving(self):
        for _ in range(3):
            async with client() as c:
                await c.write_event(Synthesize(text=LONG[:4000]).event())
                await c.read_event()
        await asyncio.to_thread(eventually, "the connections are gone", lambda: metric("mynah_wyoming_connections") == 0)

    async def test_many(self):
        async def one():
            async with client() as c:
                await c.write_event(Synthesize(text=HELLO).event())
                types, audio = await hear(c, AudioStop)
                return types, len(audio) > 5 * FRAME

        self.assertEqual(await asyncio.gather(*(one() for _ in range(8))), [(["audio-start", "audio-stop"], True)] * 8)


if __name__ == "__main__":
    unittest.main()
