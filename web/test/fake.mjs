/** Fake is a WebSocket whose server is the test. */
export class Fake {
  static all = [];

  constructor(url, protocols) {
    Object.assign(this, { url, protocols, readyState: 1, sent: [] });
    Fake.all.push(this);
  }

  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close() {
    this.readyState = 3;
    this.closed = true;
  }

  say(event) {
    this.onmessage({ data: JSON.stringify(event) });
  }

  sound(n, value = 1) {
    this.onmessage({ data: new Int16Array(n).fill(value).buffer });
  }

  types() {
    return this.sent.map((m) => m.type);
  }
}

/** settled is when all promises that can go on have done so. */
export const settled = () => new Promise((r) => setTimeout(r, 0));
