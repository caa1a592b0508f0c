// A voice to imitate: recorded from the microphone, or a file that was chosen or dropped. It is only loaded
// where the server says that it can imitate voices.

import { element, write } from "./dom.js";
import { HEAD, Pcm, wav } from "./take.js";
import { clock } from "./words.js";

const RATE = 24000;
const SHORTEST = 1; // seconds, the server's bound
/** Seconds that a message to the server holds: 3.8 of its 4 MiB are the samples in base64. */
const LONGEST = 60;
/** Seconds after which the microphone is off: what is longer, the server warns of. */
const RECORDED = 30;

/** Power of the average, beside that of the loudest channel, below which channels cancel each other: -40 dB, as the server has it. */
const CANCELLED = 1e-4;

function power(samples) {
  let sum = 0;
  for (const x of samples) sum += x * x;
  return sum;
}

/** mono is the channels of a sound as one, in 16-bit samples: their average, or the loudest of them where they cancel each other. */
function mono(audio) {
  const channels = Array.from({ length: audio.numberOfChannels }, (_, c) => audio.getChannelData(c));
  let mixed = new Float32Array(audio.length);
  for (const channel of channels) {
    for (let i = 0; i < mixed.length; i++) mixed[i] += channel[i] / channels.length;
  }
  const loudest = channels.reduce((a, b) => (power(b) > power(a) ? b : a));
  if (power(mixed) < CANCELLED * power(loudest)) mixed = loudest;
  const out = new Int16Array(mixed.length);
  for (let i = 0; i < out.length; i++) out[i] = Math.round(Math.max(-1, Math.min(1, mixed[i])) * 32767);
  const pcm = new Pcm(RATE);
  pcm.append(out);
  return pcm;
}

/** recording is what dataURL was made of, of a WAV file of ours. */
function recording(url) {
  const bytes = Uint8Array.from(atob(url.slice(url.indexOf(",") + 1)), (c) => c.charCodeAt(0));
  const pcm = new Pcm(RATE);
  pcm.append(new Int16Array(bytes.buffer, HEAD));
  return pcm;
}

/** dataURL is bytes in base64, as the API takes them. */
function dataURL(bytes) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(new Blob([bytes], { type: "audio/wav" }));
  });
}

/** read makes a voice of a recording or a file, with a note of what it is. It is never cut: its text would not be. */
async function read(blob) {
  const audio = await new OfflineAudioContext(1, 1, RATE).decodeAudioData(await blob.arrayBuffer());
  const seconds = audio.length / RATE;
  if (seconds < SHORTEST) return { note: "That is too short to tell a voice by." };
  if (seconds > LONGEST) return { note: `That is ${clock(seconds)} long, and at most ${LONGEST} seconds can be sent.` };
  const pcm = mono(audio);
  return { pcm, sound: await dataURL(wav(pcm)), note: clock(pcm.seconds) };
}

/** mute lets the microphone go. */
function mute(stream) {
  for (const track of stream.getTracks()) track.stop();
}

/** Clone is the part of the form that takes a voice. */
export class Clone {
  /** @param {{set: (fields: object) => void, listen: (pcm: Pcm) => void}} form what is told of the voice */
  constructor(box, { set, listen }) {
    this.set = set;
    this.recorder = null;
    this.asking = false; // the browser asks for the microphone
    this.turn = 0; // of what was done last: a recording, a file, or forgetting
    this.sound = "";
    this.pcm = null;
    this.recorded = false; // it was, here
    const button = (text, act) => element("button", { type: "button", className: "plain", onclick: act }, text);
    this.record = button("Record", () => this.toggle());
    this.record.hidden = !navigator.mediaDevices?.getUserMedia || !window.MediaRecorder;
    this.file = element("input", { type: "file", accept: "audio/*", className: "unseen", id: "voice-file", tabIndex: -1 });
    this.file.addEventListener("change", () => this.file.files[0] && this.take(this.file.files[0]));
    const choose = button("Choose a file", () => this.file.click());
    this.hear = button("Listen", () => listen(this.pcm));
    this.forget = button("Forget", () => this.clear());
    this.note = element("span", { className: "quiet", role: "status" });
    this.words = element("input", { id: "ref-text", autocomplete: "off", placeholder: "Optional, makes the likeness better" });
    this.words.addEventListener("input", () => this.tell());
    box.classList.add("clone");
    box.append(
      element("p", { className: "quiet" }, "Voice to imitate: five to fifteen seconds of one person, without music. You need that person’s consent."),
      element("div", { className: "row" }, this.record, choose, this.file, this.hear, this.forget, this.note),
      element("label", { className: "field" }, element("span", {}, "What is said in it"), this.words),
    );
    this.droppable(box);
    this.clear();
    box.hidden = false;
  }

  droppable(box) {
    for (const name of ["dragenter", "dragover"]) {
      box.addEventListener(name, (e) => {
        e.preventDefault();
        box.toggleAttribute("data-over", true);
      });
    }
    box.addEventListener("dragleave", () => box.toggleAttribute("data-over", false));
    box.addEventListener("drop", (e) => {
      e.preventDefault();
      box.toggleAttribute("data-over", false);
      if (e.dataTransfer.files[0]) this.take(e.dataTransfer.files[0]);
    });
  }

  async toggle() {
    if (this.asking) return; // a second microphone would stay on
    if (this.recorder) {
      this.recorder.stop();
      return;
    }
    this.asking = true;
    let stream = null;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
      this.begin(stream);
    } catch {
      if (stream) mute(stream);
      write(this.note, "The browser gives no access to a microphone.");
    } finally {
      this.asking = false;
    }
  }

  /** begin records until it is stopped, or long enough. Who records once more mostly says the same again. */
  begin(stream) {
    const pieces = [];
    const recorder = new MediaRecorder(stream);
    recorder.ondataavailable = ({ data }) => pieces.push(data);
    recorder.start();
    this.leave({ words: this.recorded });
    this.recorder = recorder;
    let note = "";
    write(this.record, "Stop recording");
    const began = performance.now();
    const timer = setInterval(() => {
      const seconds = (performance.now() - began) / 1000;
      write(this.note, `Recording ${clock(seconds)}`);
      if (seconds < RECORDED || recorder.state !== "recording") return;
      note = `: recordings end at ${RECORDED} s`;
      recorder.stop();
    }, 100);
    recorder.onstop = () => {
      clearInterval(timer);
      mute(stream);
      this.recorder = null;
      write(this.record, "Record");
      this.take(new Blob(pieces, { type: recorder.mimeType }), { recorded: true, note });
    };
  }

  /** take takes a voice in place of any other, unless something else is done while it is read. */
  async take(blob, { recorded = false, note = "" } = {}) {
    this.leave();
    const { turn } = this;
    let voice;
    try {
      voice = await read(blob);
    } catch {
      voice = { note: "That is no audio this browser can read." };
    }
    if (turn !== this.turn) return;
    write(this.note, voice.pcm ? voice.note + note : voice.note);
    if (!voice.pcm) return;
    this.pcm = voice.pcm;
    this.sound = voice.sound;
    this.recorded = recorded;
    this.tell();
  }

  /** leave lets the voice go. What is said in it is said in no other, unless its words are to stay. */
  leave({ words = false } = {}) {
    this.turn++;
    if (this.sound !== "" && !words) this.words.value = "";
    this.sound = "";
    this.pcm = null;
    write(this.note, "");
    this.tell();
  }

  clear() {
    this.leave();
    this.file.value = "";
  }

  /** recall brings back the voice that spoke with settings, or none if there was none. */
  recall({ ref_audio: sound = "", ref_text: words = "" }) {
    this.clear();
    if (sound === "") return;
    this.pcm = recording(sound);
    this.sound = sound;
    this.recorded = false;
    this.words.value = words;
    write(this.note, clock(this.pcm.seconds));
    this.tell();
  }

  tell() {
    this.hear.hidden = this.sound === "";
    this.forget.hidden = this.sound === "";
    const words = this.words.value.trim();
    if (this.sound === "") this.set({});
    else if (words === "") this.set({ ref_audio: this.sound, x_vector_only_mode: true });
    else this.set({ ref_audio: this.sound, ref_text: words });
  }
}
