// Server keeps one `rewind serve` process for a Pi session: started with the
// first request, started again if it died, off for good if it cannot work here.

import path from "node:path";
import { findBinary, NoBinary } from "./binary.ts";
import { Client, PROTOCOL, type RequestOptions, RewindError } from "./client.ts";
import type { Initialized } from "./protocol.ts";
import { retentionEnvironment } from "./retention.ts";
import { agentDir, type Settings } from "./settings.ts";

/** The code of the error that every request gets after the server was switched off. */
export const OFF = -1;

const STARTS_MAX = 5;

/** Directories that smart filtering leaves out where git does not track them. */
export const FILTERED = [
  "node_modules/", ".venv/", "venv/", "env/", ".env/", "dist/", "build/",
  ".pytest_cache/", ".mypy_cache/", ".cache/", ".tox/", "__pycache__/",
];

export interface ServerOptions {
  settings: Settings;
  dir: string;
  /** Where Pi keeps the session, which may be a place of the user's choice. */
  sessionDir: string;
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
  info: Initialized | undefined;

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
      client = new Client({ binary: findBinary(this.options.settings.binary), env: this.environment(), onWarning: this.options.warn });
    } catch (error) {
      if (error instanceof NoBinary) throw this.switchOff(error.message);
      throw error;
    }
    try {
      const params = { protocol: PROTOCOL, dir: this.options.dir, client: "pi-rewind" };
      this.info = await client.request<Initialized>("initialize", params, { timeoutMs: 30_000 });
    } catch (error) {
      await client.close(200);
      throw this.switchOff(`Rewind is off here: ${(error as Error).message}`);
    }
    for (const warning of this.info.warnings) this.options.warn(warning);
    this.client = client;
    return client;
  }

  private switchOff(why: string): RewindError {
    if (this.why === undefined) this.options.warn(why);
    this.why = why;
    return new RewindError(why, OFF);
  }

  /** The settings as the engine's own variables, which win where they are set. */
  private environment(): Record<string, string> {
    const { settings, sessionDir } = this.options;
    const env = retentionEnvironment(settings.retention);
    if (settings.smartFilter) {
      env["REWIND_EXCLUDE"] = FILTERED.join(path.delimiter);
      env["REWIND_MAX_FILE_SIZE"] = "10m";
      env["REWIND_LARGE_DIR"] = "200";
    }
    const usual = path.resolve(agentDir()) + path.sep;
    if (path.isAbsolute(sessionDir) && !path.resolve(sessionDir).startsWith(usual)) env["PI_CODING_AGENT_SESSION_DIR"] = sessionDir;
    env["PI_CODING_AGENT_DIR"] = agentDir();
    return { ...env, ...set(Object.keys(env)) };
  }
}

/** Those of the variables that are set in the environment of Pi. */
function set(names: string[]): Record<string, string> {
  const entries = names.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(entries.filter((entry): entry is readonly [string, string] => entry[0].startsWith("REWIND_") && !!entry[1]));
}
