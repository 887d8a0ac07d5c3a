// Client runs `rewind serve --stdio` and speaks its protocol: one JSON message
// a line. It knows nothing of Pi.

import { type ChildProcess, spawn } from "node:child_process";

export const PROTOCOL = 1;
export const CANCELLED = -32097;

/** An answer of the server that says no, or the end of the server. */
export class RewindError extends Error {
  override name = "RewindError";
  readonly code: number;

  constructor(message: string, code: number) {
    super(message);
    this.code = code;
  }
}

export interface ClientOptions {
  binary: string;
  args?: string[];
  env?: Record<string, string>;
  onWarning?: (message: string) => void;
}

export interface RequestOptions {
  /** Give up after so many milliseconds; what runs is then cancelled. */
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

interface Waiting {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

export class Client {
  private readonly child: ChildProcess;
  private readonly waiting = new Map<number, Waiting>();
  private readonly ended: Promise<void>;
  private readonly options: ClientOptions;
  private rest: string[] = [];
  private errors = "";
  private last = 0;
  private dead: RewindError | undefined;

  constructor(options: ClientOptions) {
    this.options = options;
    this.child = spawn(options.binary, [...(options.args ?? []), "serve", "--stdio"], {
      env: { ...process.env, ...options.env },
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
    });
    // First of all: an error that nobody hears ends Pi. Where no more files may be open there is nothing but that error, no pipes.
    this.ended = new Promise((resolve) => {
      this.child.on("error", (error) => this.end(error.message, resolve));
      this.child.on("close", (code, signal) => this.end(this.errors.trim() || `rewind ended (${signal ?? code})`, resolve));
    });
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => this.read(text));
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.errors = (this.errors + text).slice(-2000);
    });
    this.child.stdin?.on("error", () => {}); // the exit says it
  }

  get alive(): boolean {
    return this.dead === undefined;
  }

  /** Sends a request. Rejects with a RewindError if the answer is an error or never comes. */
  request<T>(method: string, params: object = {}, options: RequestOptions = {}): Promise<T> {
    if (this.dead) return Promise.reject(this.dead);
    const id = ++this.last;
    const answer = new Promise<unknown>((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    this.send({ jsonrpc: "2.0", id, method, params });
    return this.limited(id, method, answer, options) as Promise<T>;
  }

  /** Ends the server: it finishes what it does, and is killed if that takes too long. */
  async close(graceMs = 3000): Promise<void> {
    this.child.stdin?.end();
    const timer = setTimeout(() => this.child.kill("SIGKILL"), graceMs);
    await this.ended;
    clearTimeout(timer);
  }

  private async limited(id: number, method: string, answer: Promise<unknown>, options: RequestOptions): Promise<unknown> {
    const cancel = (why: string) => {
      const waiting = this.waiting.get(id);
      if (!waiting) return;
      this.waiting.delete(id);
      this.send({ jsonrpc: "2.0", method: "cancel", params: { id } });
      waiting.reject(new RewindError(`${method}: ${why}`, CANCELLED));
    };
    const onAbort = () => cancel("cancelled");
    const timer = options.timeoutMs ? setTimeout(() => cancel(`no answer within ${options.timeoutMs} ms`), options.timeoutMs) : undefined;
    if (options.signal?.aborted) onAbort();
    options.signal?.addEventListener("abort", onAbort, { once: true });
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", onAbort);
    }
  }

  private send(message: object): void {
    if (!this.dead) this.child.stdin?.write(JSON.stringify(message) + "\n");
  }

  private read(text: string): void {
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      this.rest.push(text.slice(from, end));
      this.take(this.rest.join(""));
      this.rest = [];
      from = end + 1;
    }
    if (from < text.length) this.rest.push(text.slice(from));
  }

  private take(line: string): void {
    let message: { id?: unknown; method?: unknown; params?: { message?: unknown }; result?: unknown; error?: { code?: unknown; message?: unknown } } | null;
    try {
      message = JSON.parse(line);
    } catch {
      return; // not ours: something printed to standard output
    }
    if (message === null) return;
    if (message.method === "warning") this.options.onWarning?.(String(message.params?.message));
    if (typeof message.id !== "number" || message.method !== undefined) return;
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.error) waiting?.reject(new RewindError(String(message.error.message), Number(message.error.code)));
    else waiting?.resolve(message.result);
  }

  private end(why: string, resolve: () => void): void {
    this.dead ??= new RewindError(why, 1);
    for (const waiting of this.waiting.values()) waiting.reject(this.dead);
    this.waiting.clear();
    resolve();
  }
}
