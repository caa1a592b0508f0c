// Typing that is spoken as it comes: which part of a text is settled enough to be sent.

/** Seconds without a key after which the word under way counts as complete, ... */
export const WORD_PAUSE = 0.9;
/** ... what is there is spoken as if a sentence ended, ... */
export const SENTENCE_PAUSE = 2;
/** ... and the utterance ends. (The server would end it after 30 s.) What is typed later begins a new one. */
export const UTTERANCE_PAUSE = 15;

const settledEnd = /^[\s\S]*[\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}。！？；，、]/u;

/** settle splits a text into what can be sent, up to the last word that is complete, and what is still being typed. */
export function settle(text) {
  const found = settledEnd.exec(text);
  const n = found ? found[0].length : 0;
  return [text.slice(0, n), text.slice(n)];
}

/** speakable tells whether there is anything to say: a letter or a number. */
export function speakable(text) {
  return /[\p{L}\p{N}]/u.test(text);
}
