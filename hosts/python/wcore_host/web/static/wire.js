// The way to the server: what is posted, and the stream of events. The token goes with everything,
// as a header; no cookie is involved, and no other page can have it.

/** @typedef {import("./types.js").AnyEvent} AnyEvent */
/** @typedef {import("./types.js").Command} Command */
/** @typedef {{[name: string]: any}} Json */
/** What happens has a number; what is told of the past has none. @typedef {{id: number | null, event: AnyEvent}} Frame */

const TOKEN = "wcore-token";
const CHANNEL = "wcore-channel"; // its name is a secret of the pages that have come in
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 5_000;
const LOST = "No connection to the server; trying again.";

export class RefusedError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Come in: with the code of the link, else with the token that a reload has kept. */
export async function enter() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code !== null) {
    history.replaceState(null, "", location.pathname);
    try {
      const { token, channel } = await post("/api/enter", { code });
      sessionStorage.setItem(TOKEN, token);
      sessionStorage.setItem(CHANNEL, channel);
    } catch (error) {
      if (!(error instanceof RefusedError) || sessionStorage.getItem(TOKEN) === null) throw error;
    }
  }
  if (sessionStorage.getItem(TOKEN) === null) {
    throw new RefusedError(401, "This page opens with the link that wcore-web prints. Press Enter in its terminal for another one.");
  }
}

/**
 * Send something and return what is answered.
 * @param {string} path
 * @param {Json} body
 * @returns {Promise<Json>}
 */
export async function post(path, body) {
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, { method: "POST", headers: headers(), body: JSON.stringify(body) });
  } catch {
    throw new RefusedError(0, "The server does not answer. Is wcore-web still running?");
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new RefusedError(response.status, answer.error ?? `the server says ${response.status}`);
  return answer;
}

/** Send a command of the protocol. @param {Command} command */
export const say = (command) => post("/api/say", command);

/**
 * Send an introspection command; return what it found.
 * @param {Command} command
 */
export async function ask(command) {
  const result = await post("/api/ask", command);
  if (!result.ok) throw new RefusedError(409, result.error?.message ?? "the engine refused");
  return result;
}

/** Ask the records. @param {string} kind @param {Json} [asked] */
export const records = (kind, asked = {}) => post(`/api/records/${kind}`, asked);

/**
 * Listen for ever. A browser opens six connections to a server, and an answer must never wait behind
 * a stream: one page has the stream and tells the others, until it is closed.
 * @param {(events: AnyEvent[]) => void} take
 * @param {(problem: string) => void} tell called with "" when there is a connection
 */
export async function listen(take, tell) {
  const name = sessionStorage.getItem(CHANNEL);
  if (name === null || !("locks" in navigator)) return await stream((frames) => take(events(frames)), tell);
  const others = new BroadcastChannel(name);
  const page = new Follower(take);
  const joining = new AbortController();
  others.onmessage = ({ data }) => ("told" in data ? tell(data.told) : page.hear(data.frames));
  let isOver = false;
  const lead = async () => {
    joining.abort(); // whoever had the stream is gone
    others.onmessage = null;
    await stream(
      (frames) => {
        others.postMessage({ frames });
        take(events(frames));
      },
      (told) => {
        others.postMessage({ told });
        tell(told);
      },
    );
    isOver = true;
  };
  await navigator.locks.request(name, { ifAvailable: true }, (lock) => (lock ? lead() : undefined));
  if (!isOver) {
    void join(page, tell, joining.signal);
    await navigator.locks.request(name, lead);
  }
  others.close();
}

/**
 * Be told what has happened; from then on another page tells what happens.
 * @param {Follower} page
 * @param {(problem: string) => void} tell
 * @param {AbortSignal} stop
 */
async function join(page, tell, stop) {
  for (let wait = RETRY_MS_MIN; !stop.aborted; wait = Math.min(wait * 2, RETRY_MS_MAX)) {
    const done = new AbortController();
    stop.addEventListener("abort", () => done.abort(), { once: true });
    page.forget();
    try {
      await read(await open(done.signal), (frames) => {
        if (!stop.aborted && page.begin(frames)) done.abort();
      });
    } catch (error) {
      if (stop.aborted) return;
      if (done.signal.aborted) return tell("");
      tell(problem(error));
      if (isForgotten(error)) return;
    }
    await new Promise((again) => setTimeout(again, wait));
  }
}

/** A page that is told by another one: takes every frame once, in order. */
class Follower {
  /** @type {Frame[]} heard before this page knows what has happened */
  #held = [];
  #isKnown = false;
  #last = -1; // the number of the last frame taken
  #skips = false; // what is told of the past, which this page knows
  /** @type {(events: AnyEvent[]) => void} */
  #take;

  /** @param {(events: AnyEvent[]) => void} take */
  constructor(take) {
    this.#take = take;
  }

  /** What was heard so far is told again. */
  forget() {
    this.#held = [];
  }

  /** Take what the server tells a page that comes; true when that is all. @param {Frame[]} frames */
  begin(frames) {
    this.#show(frames);
    this.#isKnown = frames.some(({ event }) => event.type === "host_pending");
    if (this.#isKnown) this.hear(this.#held.splice(0));
    return this.#isKnown;
  }

  /** Take what the page with the stream tells. @param {Frame[]} frames */
  hear(frames) {
    if (this.#isKnown) this.#show(frames.filter((frame) => this.#isNews(frame)));
    else this.#held.push(...frames);
  }

  /** @param {Frame} frame */
  #isNews({ id, event }) {
    if (event.type === "host_hello") this.#skips = id === this.#last; // a stream was opened anew
    const isNews = id === null || event.type === "host_hello" ? !this.#skips : id > this.#last;
    if (event.type === "host_pending") this.#skips = false;
    if (isNews) this.#last = id ?? this.#last;
    return isNews;
  }

  /** @param {Frame[]} frames */
  #show(frames) {
    for (const { id } of frames) this.#last = id ?? this.#last;
    if (frames.length > 0) this.#take(events(frames));
  }
}

/**
 * Have the stream, for ever. One that ends is opened again; it then tells everything from the start.
 * @param {(frames: Frame[]) => void} take
 * @param {(problem: string) => void} tell called with "" when the stream is open
 */
async function stream(take, tell) {
  let wait = RETRY_MS_MIN;
  for (;;) {
    let told = LOST; // a stream that breaks and one that ends are the same to a person
    try {
      const body = await open();
      tell("");
      wait = RETRY_MS_MIN;
      await read(body, take);
    } catch (error) {
      told = problem(error);
      if (isForgotten(error)) return tell(told);
    }
    tell(told);
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(wait * 2, RETRY_MS_MAX);
  }
}

/** Open the stream of events. @param {AbortSignal} [signal] */
async function open(signal) {
  const response = await fetch("/api/events", { headers: headers(), cache: "no-store", signal });
  if (response.status === 401) {
    sessionStorage.removeItem(TOKEN);
    throw new RefusedError(401, "The server was started anew. Open the link that it printed.");
  }
  if (!response.ok || response.body === null) throw new RefusedError(response.status, LOST);
  return response.body;
}

/** @param {unknown} error */
const problem = (error) => (error instanceof RefusedError ? error.message : LOST);

/** @param {unknown} error */
const isForgotten = (error) => error instanceof RefusedError && error.status === 401;

/** @param {Frame[]} frames */
const events = (frames) => frames.map(({ event }) => event);

/**
 * @param {ReadableStream<Uint8Array>} body
 * @param {(frames: Frame[]) => void} take
 */
async function read(body, take) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const frames = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = frames.pop() ?? "";
    take(frames.flatMap(frame));
  }
}

/** @param {string} text @returns {Frame[]} */
function frame(text) {
  const found = /^(?:id: (\d+)\n)?data: (.*)$/.exec(text);
  return found ? [{ id: found[1] === undefined ? null : Number(found[1]), event: JSON.parse(found[2]) }] : [];
}

/** @returns {Record<string, string>} */
function headers() {
  const token = sessionStorage.getItem(TOKEN);
  return token === null ? {} : { "X-Wcore-Token": token };
}
