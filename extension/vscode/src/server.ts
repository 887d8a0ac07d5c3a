// Server keeps one `rewind serve` process for a folder: started with the first
// request, and again if it ended. It knows nothing of the editor.

import { CANCELLED, Client, PROTOCOL, RewindError } from "../../pi/src/client.ts";
import { NoProgram } from "./program.ts";
import type { Initialized } from "./records.ts";

export { CANCELLED, RewindError };

/** The plan is not any more what was shown. */
export const OTHER_PLAN = 11;

const NO_METHOD = -32601;
const RETRY_MS = 1_000;
const RETRY_MAX_MS = 60_000;

/** Methods after which nothing is different, so that they can be sent once more. */
const LOOKS = /^(plan|list|log|show|diff|cat|blame|exists|pins|status|preview)/;

/** Why nothing can be asked. */
export interface Trouble {
  kind: "missing" | "old" | "refused";
  message: string;
}

export interface ServerOptions {
  /** Where the program is; throws NoProgram. */
  program: () => string;
  dir: string;
  client: string;
  /** Told of warnings, and that the process was started again. */
  tell: (message: string) => void;
  /** Told when what `trouble` says may have changed. */
  changed: () => void;
  env?: Record<string, string>;
  now?: () => number;
}

export class Server {
  trouble: Trouble | undefined;
  info: Initialized | undefined;
  private readonly options: ServerOptions;
  private client: Client | undefined;
  private starting: Promise<Client> | undefined;
  private failures = 0;
  private retryAt = 0;
  private closed = false;

  constructor(options: ServerOptions) {
    this.options = options;
  }

  /** Sends a request. What only looks is sent again if the process ended under it. */
  async request<T>(method: string, params: object = {}, signal?: AbortSignal): Promise<T> {
    const client = await this.connect();
    try {
      return await client.request<T>(method, params, { signal });
    } catch (error) {
      if (client.alive) throw error;
      if (this.closed || !LOOKS.test(method)) throw new RewindError(`${(error as Error).message}: ${method} may be done in part; what was begun is finished with the next restore or snapshot`, 1);
      return (await this.connect()).request<T>(method, params, { signal });
    }
  }

  /** Tries again at once, for the user has done something about it. */
  retry(): void {
    this.retryAt = 0;
    this.failures = 0;
    this.trouble = undefined;
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.starting?.catch(() => {});
    await this.client?.close();
  }

  private async connect(): Promise<Client> {
    if (this.closed) throw new RewindError("rewind is closed", 1);
    if (this.client?.alive) return this.client;
    if (this.trouble && this.now() < this.retryAt) throw new RewindError(this.trouble.message, 1);
    this.starting ??= this.start().finally(() => {
      this.starting = undefined;
    });
    return this.starting;
  }

  private async start(): Promise<Client> {
    const before = this.client ? this.info : undefined;
    let client: Client | undefined;
    try {
      client = new Client({ binary: this.options.program(), onWarning: this.options.tell, ...(this.options.env ? { env: this.options.env } : {}) });
      const params = { protocol: PROTOCOL, dir: this.options.dir, client: this.options.client };
      const info = await client.request<Initialized>("initialize", params, { timeoutMs: 30_000 });
      if (typeof info?.root !== "string") throw new TooOld("The program rewind answers what this extension does not know: bring both to the same version");
      await this.isNew(client, info);
      this.accept(client, info);
    } catch (error) {
      await client?.close(200);
      throw this.failed(error as Error);
    }
    if (before) this.options.tell(`The program rewind had ended, and was started again${before.version === this.info?.version ? "" : `: it is version ${this.info?.version} now`}.`);
    return client;
  }

  private accept(client: Client, info: Initialized): void {
    for (const warning of info.warnings ?? []) this.options.tell(warning);
    this.client = client;
    this.info = info;
    this.failures = 0;
    const was = this.trouble;
    this.trouble = undefined;
    if (was) this.options.changed();
  }

  /** Throws if the program lacks what the views need: it answers then that there is no such method. */
  private async isNew(client: Client, info: Initialized): Promise<void> {
    const no = await client.request("cat", {}).then(() => undefined, (error: RewindError) => error);
    if (no?.code === NO_METHOD) throw new TooOld(`The program rewind is too old for this extension: it is version ${info.version}`);
  }

  private failed(error: Error): RewindError {
    this.retryAt = this.now() + Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** Math.min(this.failures++, 20));
    const kind = error instanceof NoProgram || /^spawn .* ENOENT/.test(error.message) ? "missing" : error instanceof TooOld || (error as RewindError).code === 10 ? "old" : "refused";
    this.trouble = { kind, message: error.message };
    this.options.changed();
    return new RewindError(error.message, 1);
  }

  private now(): number {
    return this.options.now?.() ?? Date.now();
  }
}

class TooOld extends Error {}
