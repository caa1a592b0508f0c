// Plays speech of a Mynah server in any page, as it is produced. docs/page.md describes it.
//
//   import { Speaker } from "http://localhost:8080/client.js";
//   const speaker = new Speaker();
//   button.onclick = () => speaker.speak("Hello there.", { voice: "ryan" });

import { Output } from "./page/output.js";
import { Player } from "./page/player.js";
import { StartPolicy, estimate } from "./page/policy.js";
import { Connection, Trouble } from "./page/socket.js";
import { Take, wav } from "./page/take.js";

export { Trouble };

/** Speaker is a connection to a server and a way to the loudspeaker. A page needs one. */
export class Speaker {
  /**
   * @param {string|URL} url of the server; that of this file if left out
   * @param {{key?: string}} options
   */
  constructor(url = new URL(".", import.meta.url), { key = "" } = {}) {
    this.connection = new Connection(url.toString().replace(/\/*$/, "/"), { key });
    this.output = new Output();
    this.player = new Player(this.output);
    this.pace = 1; // length of audio over its estimate, as it turned out
    this.rate = 0; // seconds of audio that arrived in a second, last time
    this.takes = 0;
    this.current = null; // the Speech that was begun last
  }

  /** speak speaks a text. Call it within a click or key press, or browsers stay silent. */
  speak(text, settings = {}) {
    const speech = this.live(settings);
    speech.take.live = false;
    speech.write(text);
    speech.end();
    return speech;
  }

  /** live speaks text as it is written: write, flush, end. */
  live(settings = {}) {
    this.output.wake(24000);
    this.current?.stop();
    const take = new Take({ id: ++this.takes, text: "", settings, live: true });
    this.current = new Speech(this, take);
    return this.current;
  }

  /** close ends the connection and what is being spoken. */
  close() {
    this.current?.stop();
    this.connection.close();
    this.player.leave();
    this.output.rest();
  }
}

/** Stands among text that is held for a flush between its pieces. */
const FLUSH = Symbol("flush");

/** What a take becomes when its utterance has ended. */
const ENDS = { stop: "done", length: "cut", cancelled: "stopped" };

/**
 * Speech is one text that is spoken. Its promises: started (the first sample is audible), complete (all
 * audio has arrived) and ended (all was heard, it was stopped, or another took its place at the
 * loudspeaker). The latter two fail with a Trouble.
 */
export class Speech {
  constructor(speaker, take) {
    this.speaker = speaker;
    this.take = take;
    this.onaudio = () => {}; // called with each piece of audio, signed 16-bit samples
    this.closed = false; // no more text comes
    this.resting = false; // the utterance was ended; text that comes begins another
    this.held = []; // for that one: pieces of text, and FLUSH
    this.listening = new AbortController();
    take.policy = new StartPolicy(speaker.rate, true);
    this.started = new Promise((resolve) => { this.on("first", resolve); });
    this.complete = new Promise((resolve, reject) => { this.settle = { resolve, reject }; });
    this.ended = this.complete.then(() => this.heard()).finally(() => this.listening.abort());
    this.complete.catch(() => {});
    this.ended.catch(() => {});
    this.begin();
    speaker.player.play(take);
  }

  begin() {
    this.resting = false;
    this.utterance = this.speaker.connection.begin(this.take.settings, {
      start: (e) => this.begins(e),
      audio: (samples) => this.arrives(samples),
      segment: (e) => this.segment(e),
      end: (reason, trouble) => this.finish(reason, trouble),
    });
  }

  on(name, listener) {
    const { player } = this.speaker;
    player.addEventListener(name, () => player.take === this.take && listener(), { signal: this.listening.signal });
  }

  heard() {
    const { player } = this.speaker;
    if (player.take !== this.take || player.state === "over" || this.take.state === "stopped" || this.take.pcm.length === 0) return undefined;
    return new Promise((resolve) => {
      this.on("over", resolve);
      player.addEventListener("left", resolve, { signal: this.listening.signal });
      this.release = resolve;
    });
  }

  /** write adds text; pieces are joined as they are. */
  write(text) {
    if (this.closed || this.take.over) return;
    this.take.text += text;
    if (this.resting && !this.utterance.over) {
      if (text !== "") this.held.push(text);
      return;
    }
    if (this.resting) this.begin();
    this.utterance.write(text);
  }

  /** flush has what is there spoken as if a sentence ended. */
  flush() {
    if (!this.resting) this.utterance.flush();
    else if (this.held.length > 0) this.held.push(FLUSH);
  }

  /** rest ends the utterance but not the speech: the server waits for no text while nobody types. */
  rest() {
    if (this.resting) return;
    this.resting = true;
    this.utterance.end();
  }

  /** end completes the text. */
  end() {
    if (this.closed) return;
    this.closed = true;
    if (this.take.over) return; // it failed or was cut before, which stays so
    const { policy, settings, text } = this.take;
    policy.live = false;
    policy.expected = estimate(text, settings.speed) * this.speaker.pace;
    if (this.resting && this.utterance.over) this.finish("stop", null);
    else if (this.held.length === 0) this.utterance.end();
  }

  begins(e) {
    const { take } = this;
    if (take.pcm.length === 0 && e.sample_rate !== take.pcm.rate) {
      take.pcm = new take.pcm.constructor(e.sample_rate);
      this.speaker.player.play(take);
    }
    take.seed ??= e.seed;
    take.voice = e.voice || take.voice;
    if (e.warnings) take.warnings = e.warnings;
    take.state = "speaking";
  }

  arrives(samples) {
    const { take, speaker } = this;
    const now = speaker.player.clock();
    take.pcm.append(samples);
    take.frames.push(take.frames.length === 0 ? 0 : now - take.policy.last);
    take.policy.arrived(samples.length / take.pcm.rate, now);
    if (speaker.player.take === take) speaker.player.advance();
    this.onaudio(samples);
  }

  segment(e) {
    const { take } = this;
    take.serverFirst ??= e.ttfa_ms / 1000;
    const seconds = e.frames * 0.08;
    take.computed += e.rtf * seconds;
    take.spoken += seconds;
  }

  finish(reason, trouble) {
    const { take, speaker } = this;
    if (reason === "stop" && (!this.closed || this.held.length > 0)) {
      this.resting = true;
      return this.goOn();
    }
    this.held = []; // what failed, or was cut, does not go on: it would look complete at its end
    take.policy.complete = true;
    take.state = ENDS[reason] ?? "failed";
    take.error = trouble;
    this.learn();
    if (speaker.player.take === take) speaker.player.advance();
    if (take.state === "failed") this.settle.reject(trouble);
    else this.settle.resolve(this);
    return undefined;
  }

  /** goOn begins another utterance with the text that came while the last was still spoken. */
  goOn() {
    const { held } = this;
    if (held.length === 0) return;
    this.held = [];
    this.begin();
    for (const piece of held) {
      if (piece === FLUSH) this.utterance.flush();
      else this.utterance.write(piece);
    }
    if (this.closed) this.utterance.end();
  }

  /** learn keeps what the next speech can begin with. */
  learn() {
    const { take, speaker } = this;
    if (take.live || take.state !== "done") return;
    const rate = take.policy.rate();
    if (rate > 0) speaker.rate = rate;
    if (take.text.length >= 20) speaker.pace = (speaker.pace + take.pcm.seconds / estimate(take.text, take.settings.speed)) / 2;
  }

  /** stop falls silent at once and takes back what was not spoken. */
  stop() {
    this.closed = true;
    this.held = [];
    if (!this.take.over) {
      if (this.utterance.over) this.finish("cancelled", null);
      else this.utterance.cancel();
    }
    if (this.speaker.player.take === this.take) this.speaker.player.stop();
    this.release?.();
  }

  pause() {
    this.speaker.player.pause();
  }

  resume() {
    this.speaker.output.wake(this.take.pcm.rate);
    this.speaker.player.resume();
  }

  /** replay plays it again, from so many seconds on. */
  replay(seconds = 0) {
    this.speaker.output.wake(this.take.pcm.rate);
    this.speaker.player.play(this.take, seconds * this.take.pcm.rate);
  }

  /** wav is what was spoken so far as a file. */
  wav() {
    return new Blob([wav(this.take.pcm)], { type: "audio/wav" });
  }
}
