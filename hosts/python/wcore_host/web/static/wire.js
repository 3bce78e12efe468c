// The way to the server: what is posted, and the stream of events. The token goes with everything,
// as a header; no cookie is involved, and no other page can have it.

/** @typedef {import("./types.js").AnyEvent} AnyEvent */
/** @typedef {import("./types.js").Command} Command */
/** @typedef {{[name: string]: any}} Json */

const TOKEN = "wcore-token";
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 5_000;

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
      sessionStorage.setItem(TOKEN, (await post("/api/enter", { code })).token);
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
 * Listen for ever. A stream that ends is opened again; it then tells everything from the start.
 * @param {(events: AnyEvent[]) => void} take
 * @param {(problem: string) => void} tell called with "" when the stream is open
 */
export async function listen(take, tell) {
  let wait = RETRY_MS_MIN;
  for (;;) {
    try {
      const response = await fetch("/api/events", { headers: headers(), cache: "no-store" });
      if (response.status === 401) {
        sessionStorage.removeItem(TOKEN);
        tell("The server was started anew. Open the link that it printed.");
        return;
      }
      if (!response.ok || response.body === null) throw new Error(String(response.status));
      tell("");
      wait = RETRY_MS_MIN;
      await read(response.body, take);
    } catch {
      // told below: a stream that breaks and one that ends are the same to a person
    }
    tell("No connection to the server; trying again.");
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(wait * 2, RETRY_MS_MAX);
  }
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @param {(events: AnyEvent[]) => void} take
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
    take(frames.filter((text) => text.startsWith("data: ")).map((text) => JSON.parse(text.slice(6))));
  }
}

/** @returns {Record<string, string>} */
function headers() {
  const token = sessionStorage.getItem(TOKEN);
  return token === null ? {} : { "X-Wcore-Token": token };
}
