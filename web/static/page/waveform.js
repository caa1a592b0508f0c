// The waveform of a take, with what was heard, what is ahead, and what is still expected.

import { colour, fit } from "./dom.js";
import { PEAK_SECONDS } from "./take.js";

const BAR = 3; // CSS pixels
const SPACE = 2;
const SHOWN = 0.9; // power by which sizes are drawn: quiet speech stays visible

/** drawWave draws. total is the length that the whole width stands for, position what was heard, in seconds. */
export function drawWave(canvas, take, position, total) {
  const { g, width, height } = fit(canvas);
  const middle = height / 2;
  const heard = colour("heard");
  const ahead = colour("ahead");
  const bars = Math.max(1, Math.floor((width - 16) / (BAR + SPACE)));
  const { peaks, seconds } = take.pcm;
  const each = total / bars; // seconds
  for (let i = 0; i < bars; i++) {
    const x = 8 + i * (BAR + SPACE);
    const from = i * each;
    if (from >= seconds) {
      g.fillStyle = ahead;
      g.globalAlpha = 0.5;
      g.fillRect(x, middle - 1, BAR, 2);
      continue;
    }
    const size = loudest(peaks, from, Math.min(from + each, seconds));
    const h = Math.max(2, size ** SHOWN * (height - 16));
    g.globalAlpha = 1;
    g.fillStyle = from + each / 2 <= position ? heard : ahead;
    g.beginPath();
    g.roundRect(x, middle - h / 2, BAR, h, BAR / 2);
    g.fill();
  }
  g.globalAlpha = 1;
  if (total > 0 && seconds > 0) {
    g.fillStyle = colour("ink");
    g.fillRect(Math.min(width - 2, 8 + (position / total) * (bars * (BAR + SPACE) - SPACE)), 6, 1.5, height - 12);
  }
}

function loudest(peaks, from, to) {
  let most = 0;
  const end = Math.min(peaks.length, Math.max(Math.floor(from / PEAK_SECONDS) + 1, Math.ceil(to / PEAK_SECONDS)));
  for (let i = Math.floor(from / PEAK_SECONDS); i < end; i++) most = Math.max(most, peaks[i]);
  return most;
}

const COLUMN = 4;
const REAL_TIME = 0.08; // s: a frame of speech
const TOP = 2.5 * REAL_TIME;

/** drawStrip draws the time before each of the last frames, and the line above which it is slower than speech. */
export function drawStrip(canvas, frames) {
  const { g, width, height } = fit(canvas);
  const line = height - (REAL_TIME / TOP) * height;
  const shown = frames.slice(Math.max(1, frames.length - Math.floor(width / COLUMN)));
  for (let i = 0; i < shown.length; i++) {
    const h = Math.max(1.5, (Math.min(shown[i], TOP) / TOP) * height);
    g.fillStyle = colour(shown[i] > REAL_TIME ? "warn" : "ahead");
    g.fillRect(i * COLUMN, height - h, COLUMN - 1, h);
  }
  const label = "80 ms";
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  const room = width - g.measureText(label).width - 6;
  g.fillStyle = colour("soft");
  g.fillText(label, room + 6, line);
  for (let x = 0; x < room; x += 8) g.fillRect(x, line, 4, 1);
}
