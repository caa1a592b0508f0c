// Speaks the WebSocket protocol of docs/websocket.md: one connection, one utterance at a time.

/** What a connection says when it ends, in words for people. */
const ENDINGS = {
  session_closed: "The connection was closed.",
  idle_timeout: "The connection was idle for too long and was closed.",
  ping_timeout: "The server heard nothing from this page for too long.",
  too_many_errors: "The server refused too many messages and closed the connection.",
  shutting_down: "The server is shutting down.",
  message_too_large: "The message was larger than the server takes.",
  internal_error: "The server failed. Its log tells more.",
};

/** ended puts the end of a connection into words. */
export function ended(code, reason) {
  if (ENDINGS[reason]) return ENDINGS[reason];
  if (reason?.startsWith("slow_client")) return "This page took audio more slowly than it was spoken, and the server gave up.";
  return "The connection to the server was lost.";
}

/** Trouble is an error of the server or of the connection. Its code is one of the API's, or "lost". */
export class Trouble extends Error {
  constructor(code, message, { param = null, retryAfter = 0 } = {}) {
    super(message);
    this.name = "Trouble";
    this.code = code;
    this.param = param;
    this.retryAfter = retryAfter; // seconds; 0 if trying again may not help
  }
}

/** A configuration with a field that no other has: the next utterance gets a connection of its own. */
const STALE = { stale: true };

const CONNECT_TIMEOUT = 10_000; // ms

/** Keys that can stand in a subprotocol. Those in base64 cannot: they have "=" and "/". */
const TOKEN = /^[\w!#$%&'*+.^|~-]+$/;

/** Connection is a WebSocket that is opened when it is needed, and again after it was lost. */
export class Connection {
  /**
   * @param {string|URL} url of the server, http: or https:
   * @param {{key?: string, WebSocket?: typeof WebSocket}} options
   */
  constructor(url, { key = "", WebSocket = globalThis.WebSocket } = {}) {
    this.url = new URL("v1/audio/speech/stream", url);
    this.url.protocol = this.url.protocol === "https:" ? "wss:" : "ws:";
    this.key = key;
    this.WebSocket = WebSocket;
    this.onlost = () => {};
    this.forget();
  }

  forget() {
    this.socket = null;
    this.opening = null;
    this.next = 0; // index of the next utterance
    this.sent = null; // the configuration that the server has
    this.configuring = false;
    this.current = null; // the utterance that is being spoken
    this.sounding = -1; // index of that to which audio belongs
  }

  get open() {
    return this.socket !== null && this.opening === null;
  }

  /** address is what to open, and the subprotocols. Pages cannot set headers there: one of the two carries the key. */
  address() {
    const { key, url } = this;
    if (!key) return [url.href, ["mynah"]];
    if (TOKEN.test(key)) return [url.href, ["mynah", `openai-insecure-api-key.${key}`]];
    const keyed = new URL(url);
    keyed.searchParams.set("api_key", key);
    return [keyed.href, ["mynah"]];
  }

  /** connect opens the connection if it is not. */
  connect() {
    if (this.opening) return this.opening;
    if (this.socket) return Promise.resolve();
    const socket = new this.WebSocket(...this.address());
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.opening = new Promise((resolve, reject) => {
      const timer = setTimeout(() => socket.close(), CONNECT_TIMEOUT);
      this.created = () => {
        clearTimeout(timer);
        this.opening = null;
        resolve();
      };
      socket.onclose = ({ code, reason }) => {
        clearTimeout(timer);
        if (this.socket === socket) this.lose(new Trouble("lost", ended(code, reason)), reason);
        reject(new Trouble("lost", ended(code, reason)));
      };
    });
    this.opening.catch(() => {}); // whoever waits is told
    socket.onmessage = ({ data }) => {
      if (this.socket !== socket) return;
      if (typeof data === "string") this.event(JSON.parse(data));
      else this.audio(data);
    };
    return this.opening;
  }

  lose(trouble, reason) {
    const { current } = this;
    this.forget();
    if (current) current.finish("error", current.trouble ?? trouble);
    this.onlost(trouble, reason);
  }

  /** close ends the connection. */
  close() {
    const { socket, current } = this;
    this.forget();
    if (socket) socket.close(1000);
    if (current) current.finish("cancelled");
  }

  /**
   * begin starts an utterance. Only one is spoken at a time: one under way is cancelled.
   * @param {object} settings fields of POST /v1/audio/speech but input and those of FORM
   * @param {{start?, audio?, segment?, end?}} handlers
   */
  begin(settings, handlers) {
    if (this.current) this.current.cancel();
    const config = configuration(settings);
    if (this.sent && Object.keys(this.sent).some((name) => !(name in config))) this.close(); // a field cannot be unset
    const utterance = new Utterance(this, config, handlers);
    this.current = utterance;
    this.connect().then(() => utterance.start(), (trouble) => utterance.finish("error", trouble));
    return utterance;
  }

  send(message) {
    if (this.open && this.socket.readyState === 1) this.socket.send(JSON.stringify(message));
  }

  /** configure tells the server how the next utterance is to be, if it does not know. */
  configure(config) {
    const text = JSON.stringify(config);
    if (this.sent && JSON.stringify(this.sent) === text) return;
    this.sent = config;
    this.configuring = true;
    this.send({ type: "session.config", ...config });
  }

  event(e) {
    if (e.type === "session.created") {
      this.next = e.utterance_index ?? 0;
      this.created();
      return;
    }
    if (e.type === "session.updated") {
      this.configuring = false;
      return;
    }
    if (e.type === "audio.start") this.sounding = e.utterance_index;
    const { current } = this;
    if (e.type === "error") this.problem(e, current);
    if (!current || current.index < 0 || e.utterance_index !== current.index) return;
    if (e.type === "audio.start") current.handlers.start?.(e);
    else if (e.type === "audio.done" && e.sentence_index !== null) current.handlers.segment?.(e);
    else if (e.type === "session.done") current.finish(e.finish_reason);
  }

  problem(e, current) {
    const trouble = new Trouble(e.code, e.message, { param: e.param, retryAfter: (e.retry_after_ms ?? 0) / 1000 });
    if (this.configuring && !e.fatal) { // the old configuration stands: what was sent after it must not be spoken
      this.configuring = false;
      this.sent = STALE;
      current?.fail(trouble);
      return;
    }
    if (e.code === "text_timeout") { // an utterance that was not counted here may have begun: connect anew before the next
      this.sent = STALE;
      return;
    }
    if (e.code === "shutting_down" && !e.fatal && e.utterance_index === null) return; // the one being spoken is finished
    if (!current || (e.utterance_index !== null && e.utterance_index !== current.index)) return;
    current.trouble = trouble;
    if (!e.fatal && !current.done) current.fail(trouble); // else session.done or the end of the connection follows
  }

  audio(data) {
    const { current } = this;
    if (current && this.sounding === current.index) current.handlers.audio?.(new Int16Array(data));
  }
}

/** FORM are the fields of how audio comes: it is heard here, and comes as bare samples. */
const FORM = ["response_format", "stream_format"];

/**
 * configuration is settings without what is empty; those that can be unset have the value that does so. Of
 * languages that is none, not "Auto", which would take its own from a voice that is kept.
 */
export function configuration(settings) {
  const config = { voice: "default", language: "", seed: -1, speed: 1 };
  for (const [name, value] of Object.entries(settings)) {
    if (value !== "" && value !== null && value !== undefined && !FORM.includes(name)) config[name] = value;
  }
  return config;
}

/** Utterance is a text that is spoken, whole or as it comes. */
export class Utterance {
  constructor(connection, config, handlers) {
    this.connection = connection;
    this.config = config;
    this.handlers = handlers;
    this.index = -1; // until something of it was sent
    this.waiting = []; // messages before the connection was open
    this.started = false;
    this.over = false;
    this.done = false; // the text is complete
    this.trouble = null;
  }

  start() {
    if (this.over) return;
    this.started = true;
    this.connection.configure(this.config);
    const { waiting } = this;
    this.waiting = [];
    for (const m of waiting) this.send(m);
  }

  send(message) {
    if (this.over) return;
    if (!this.started) {
      this.waiting.push(message);
      return;
    }
    if (this.index < 0) this.index = this.connection.next++;
    this.connection.send(message);
  }

  /** write adds text. Pieces are joined as they are. */
  write(text) {
    if (text !== "") this.send({ type: "input.text", text });
  }

  /** flush has what is there spoken as if a sentence ended. Before any text it does nothing, and after its end. */
  flush() {
    if (!this.done && (this.index >= 0 || this.waiting.length > 0)) this.send({ type: "input.flush" });
  }

  /** end completes the text. */
  end() {
    if (this.done) return;
    this.done = true;
    this.send({ type: "input.done" });
  }

  /** cancel takes the utterance back. Nothing of it is heard of any more. */
  cancel() {
    if (this.over) return;
    if (this.index >= 0) this.connection.send({ type: "input.cancel" });
    this.finish("cancelled");
  }

  fail(trouble) {
    if (this.over) return;
    if (this.index >= 0) this.connection.send({ type: "input.cancel" });
    this.finish("error", trouble);
  }

  finish(reason, trouble = this.trouble) {
    if (this.over) return;
    if (reason === "stop" && trouble) reason = "error"; // a piece of the text was refused
    this.over = true;
    if (this.connection.current === this) this.connection.current = null;
    this.handlers.end?.(reason, reason === "error" ? (trouble ?? new Trouble("internal_error", "The server failed. Its log tells more.")) : null);
  }
}

/** backoff is how many seconds to wait before trying for the nth time, with jitter. */
export function backoff(attempt, random = Math.random) {
  return Math.min(30, 0.5 * 2 ** attempt) * (0.5 + random() / 2);
}
