// Server keeps one `rewind serve` process for a Pi session: started with the
// first request, started again if it died, off for good if it cannot work here.

import { findBinary, NoBinary } from "./binary.ts";
import { Client, PROTOCOL, type RequestOptions, RewindError } from "./client.ts";
import type { Initialized } from "./protocol.ts";

/** The code of the error that every request gets after the server was switched off. */
export const OFF = -1;

const STARTS_MAX = 5;

export interface ServerOptions {
  /** The program that the settings name, if they do. */
  binary: string | undefined;
  env: Record<string, string>;
  dir: string;
  /** Told once why rewind is off, and of every warning of the process. */
  warn: (message: string) => void;
}

export class Server {
  private readonly options: ServerOptions;
  private client: Client | undefined;
  private starting: Promise<Client> | undefined;
  private starts = 0;
  private why: string | undefined;
  private closed = false;

  constructor(options: ServerOptions) {
    this.options = options;
  }

  /** Whether requests are pointless: the user has been told why. */
  get off(): boolean {
    return this.why !== undefined;
  }

  async request<T>(method: string, params: object = {}, options: RequestOptions = {}): Promise<T> {
    const client = await this.connect();
    return client.request<T>(method, params, options);
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.starting?.catch(() => {});
    await this.client?.close();
  }

  private async connect(): Promise<Client> {
    if (this.why !== undefined || this.closed) throw new RewindError(this.why ?? "rewind is closed", OFF);
    if (this.client?.alive) return this.client;
    this.starting ??= this.start().finally(() => {
      this.starting = undefined;
    });
    return this.starting;
  }

  private async start(): Promise<Client> {
    if (++this.starts > STARTS_MAX) throw this.switchOff(`Rewind is off: its process ended ${STARTS_MAX} times`);
    let client: Client;
    try {
      client = new Client({ binary: findBinary(this.options.binary), env: this.options.env, onWarning: this.options.warn });
    } catch (error) {
      if (error instanceof NoBinary) throw this.switchOff(error.message);
      throw error;
    }
    let info: Initialized;
    try {
      const params = { protocol: PROTOCOL, dir: this.options.dir, client: "pi-rewind" };
      info = await client.request<Initialized>("initialize", params, { timeoutMs: 30_000 });
    } catch (error) {
      await client.close(200);
      throw this.switchOff(`Rewind is off here: ${(error as Error).message}`);
    }
    for (const warning of info.warnings) this.options.warn(warning);
    this.client = client;
    return client;
  }

  private switchOff(why: string): RewindError {
    if (this.why === undefined) this.options.warn(why);
    this.why = why;
    return new RewindError(why, OFF);
  }
}
