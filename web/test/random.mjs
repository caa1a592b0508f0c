// Numbers that are the same in every run.

/** random makes a generator of numbers from 0 to 1 (mulberry32). */
export function random(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** noise is n 16-bit samples, none of them zero. */
export function noise(n, next) {
  return Int16Array.from({ length: n }, () => (next() < 0.5 ? -1 : 1) * (1 + Math.floor(next() * 32767)));
}

/** cut cuts an array into pieces of random lengths of up to most. */
export function* cut(array, most, next) {
  for (let at = 0; at < array.length; ) {
    const n = 1 + Math.floor(next() * most);
    yield array.slice(at, at + n);
    at += n;
  }
}
