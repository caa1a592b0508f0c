// Numbers and states in words for people.

/** clock is minutes, seconds and tenths: 0:04.2. */
export function clock(seconds) {
  const tenths = Math.floor(Math.max(0, seconds) * 10 + 1e-6);
  const minutes = Math.floor(tenths / 600);
  const rest = tenths - minutes * 600;
  return `${minutes}:${String(Math.floor(rest / 10)).padStart(2, "0")}.${rest % 10}`;
}

/** spoken is a time as a screen reader should say it. */
export function spoken(seconds) {
  const s = Math.round(seconds);
  const minutes = Math.floor(s / 60);
  const plural = (n, name) => `${n} ${name}${n === 1 ? "" : "s"}`;
  return minutes > 0 ? `${plural(minutes, "minute")} ${plural(s % 60, "second")}` : plural(s, "second");
}

/** milliseconds is a short time. */
export function milliseconds(seconds) {
  const ms = seconds * 1000;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${seconds.toFixed(2)} s`;
}

/** outcome is what became of a take; empty if nothing is to be said. */
export const OUTCOMES = {
  waiting: "waiting", speaking: "speaking", done: "", cut: "cut off: it did not end in time", stopped: "stopped", failed: "failed",
};

/** trouble puts an error of the API into words, and says whether trying again may help. */
export function trouble(error) {
  switch (error?.code) {
    case "queue_full":
      return { text: "The server is busy: every place is taken. Nothing was spoken.", again: true, busy: true };
    case "too_many_websockets":
      return { text: "The server is busy: it has as many connections as it takes.", again: true, busy: true };
    case "loading":
      return { text: "The model is still being loaded.", again: true, busy: true };
    case "shutting_down":
      return { text: "The server is shutting down and takes no more texts.", again: false, busy: true };
    case "nothing_to_say":
      return { text: "There is nothing to say in this text: it has no letter and no number.", again: false };
    case "lost":
      return { text: error.message, again: true };
    case "internal_error":
      return { text: "The server failed. Its log tells more.", again: true };
    default:
      return { text: error?.message ? sentence(error.message) : "Something went wrong.", again: false };
  }
}

function sentence(message) {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** summary is the middle and the largest of the times between frames. */
export function summary(frames) {
  const gaps = frames.slice(1).sort((a, b) => a - b);
  if (gaps.length === 0) return "";
  const at = (q) => gaps[Math.min(gaps.length - 1, Math.floor(q * gaps.length))];
  return `median ${milliseconds(at(0.5))}, 95% ${milliseconds(at(0.95))}, longest ${milliseconds(gaps[gaps.length - 1])}`;
}

/** fileName is a name for a take's file: the beginning of its text. */
export function fileName(text, id) {
  const words = text.normalize("NFKC").replace(/[^\p{L}\p{M}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
  return `${[...words].slice(0, 40).join("").replace(/-+$/, "") || "speech"}-${id}.wav`;
}
