// The audio thread's end of the player.

import { SoundEngine } from "./engine.js";

class MynahProcessor extends AudioWorkletProcessor {
  constructor() {
    super();
    this.engine = new SoundEngine(sampleRate, (m) => this.port.postMessage(m));
    this.port.onmessage = ({ data }) => this.engine.receive(data);
  }

  process(_inputs, [channels]) {
    this.engine.pull(channels[0]);
    for (let i = 1; i < channels.length; i++) channels[i].set(channels[0]);
    return true;
  }
}

registerProcessor("mynah", MynahProcessor);
