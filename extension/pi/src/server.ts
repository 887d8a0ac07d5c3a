// Server keeps one `rewind serve` process for a Pi session: started with the
// first request, and again if it ended. What keeps failing is tried less and
// less often, and never given up.

import { findBinary, NoBinary } from "./binary.ts";
import { CANCELLED, Client, PROTOCOL, type RequestOptions, RewindError } from "./client.ts";
import type { InitializeResult as Initialized } from "./protocol.ts";

/** The code of the error that every request gets while the server does not work. */
export const OFF = -1;

const RETRY_MS = 1_000;
const RETRY_MAX_MS = 300_000;

export interface ServerOptions {
  /** The program that the settings name, if they do. */
  binary: string | undefined;
  env: Record<string, string>;
  dir: string;
  /** Told once why rewind is off, and of every warning of the process. */
  warn: (message: string) => void;
  now?: () => number;
}

function unstarted(error: unknown): string {
  return `Rewind is off here: ${(error as Error).message}. Your messages are not recorded; later ones try again`;
}

export class Server {
  private readonly options: ServerOptions;
  private readonly told = new Set<string>();
  private client: Client | undefined;
  private starting: Promise<Client> | undefined;
  private failures = 0;
  private retryAt = 0;
  private reason: string | undefined;
  private closed = false;

  constructor(options: ServerOptions) {
    this.options = options;
  }

  /** Whether requests are pointless for now: the user has been told why. */
  get off(): boolean {
    return this.reason !== undefined && this.now() < this.retryAt;
  }

  /** Why it does not work; undefined if it does. */
  get why(): string | undefined {
    return this.reason;
  }

  /** Whether requests can be made; tries to start the process if it is time to. */
  async ready(): Promise<boolean> {
    return this.connect().then(() => true, () => false);
  }

  async request<T>(method: string, params: object = {}, options: RequestOptions = {}): Promise<T> {
    const client = await this.connect();
    try {
      const result = await client.request<T>(method, params, options);
      this.works();
      return result;
    } catch (error) {
      if (client.alive && (error as RewindError).code !== CANCELLED) this.works();
      throw client.alive ? error : this.ended(client, error as RewindError);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.starting?.catch(() => {});
    await this.client?.close();
  }

  private async connect(): Promise<Client> {
    if (this.closed) throw new RewindError("rewind is closed", OFF);
    if (this.client?.alive) return this.client;
    if (this.off) throw new RewindError(this.reason as string, OFF);
    this.starting ??= this.start().finally(() => {
      this.starting = undefined;
    });
    return this.starting;
  }

  private async start(): Promise<Client> {
    let client: Client;
    try {
      client = new Client({ binary: findBinary(this.options.binary), env: this.options.env, onWarning: (message) => this.tell(message) });
    } catch (error) {
      throw this.failed(error instanceof NoBinary ? error.message : unstarted(error));
    }
    let info: Initialized;
    try {
      const params = { protocol: PROTOCOL, dir: this.options.dir, client: "pi-rewind" };
      info = await client.request<Initialized>("initialize", params, { timeoutMs: 30_000 });
    } catch (error) {
      await client.close(200);
      throw this.failed(unstarted(error));
    }
    for (const warning of info.warnings) this.tell(warning);
    this.client = client;
    return client;
  }

  /** Takes note that the process has ended; returns what a request says that it took down. */
  private ended(client: Client, error: RewindError): RewindError {
    if (this.closed) return error;
    if (this.client === client) {
      this.client = undefined;
      // Once is an accident: the next request starts it again at once.
      if (this.failures === 0) this.failures = 1;
      else this.failed(`Rewind is off for now: its program keeps ending (${error.message}). Later messages try again; \`rewind status\` in a shell may say what is wrong`);
    }
    return new RewindError(`${error.message}; the program is started again`, error.code);
  }

  private failed(why: string): RewindError {
    this.retryAt = this.now() + Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** Math.min(this.failures++, 20));
    this.reason = why;
    this.tell(why);
    return new RewindError(why, OFF);
  }

  private works(): void {
    this.failures = 0;
    if (this.reason !== undefined) this.told.delete(this.reason);
    this.reason = undefined;
  }

  private tell(message: string): void {
    if (this.told.has(message)) return;
    this.told.add(message);
    this.options.warn(message);
  }

  private now(): number {
    return this.options.now?.() ?? Date.now();
  }
}
