// Settings under `rewind` in Pi's settings.json. Bad values are named once and
// the default stands in for them.

import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

export interface Retention {
  maxSnapshots?: number;
  maxAgeDays?: number;
  pinLabeledEntries: boolean;
  scanMode: "ancestor-only" | "repo-sessions";
  startupBudgetMs?: number;
}

export interface Settings {
  silentCheckpoints: boolean;
  retention?: Retention;
  binary?: string;
  escEsc: boolean;
  toolPoints: string[];
  smartFilter: boolean;
  snapshotTimeoutMs: number;
  browserPoints: number;
}

export const TOOL_POINTS = ["write", "edit", "bash"];

type Values = Record<string, unknown>;
type Complain = (problem: string) => void;

/** Reads the user's settings and, if the project is trusted, the project's over them. */
export function loadSettings(cwd: string, trusted: boolean, complain: Complain): Settings {
  const user = section(path.join(agentDir(), "settings.json"), complain);
  const project = trusted ? section(path.join(cwd, ".pi", "settings.json"), complain) : {};
  if ("binary" in project) {
    delete project["binary"]; // a cloned repository must not choose what is run
    complain("rewind.binary is ignored in a project's settings");
  }
  return parseSettings({ ...user, ...project }, complain);
}

export function agentDir(env: NodeJS.ProcessEnv = process.env): string {
  const dir = env["PI_CODING_AGENT_DIR"];
  if (!dir) return path.join(os.homedir(), ".pi", "agent");
  return dir === "~" || dir.startsWith("~/") ? path.join(os.homedir(), dir.slice(1)) : dir;
}

/** Turns the values found under `rewind` into settings. */
export function parseSettings(values: Values, complain: Complain): Settings {
  const read = new Reader(values, "rewind", complain);
  const settings: Settings = {
    silentCheckpoints: read.boolean("silentCheckpoints", false),
    escEsc: read.boolean("escEsc", false),
    smartFilter: read.boolean("smartFilter", false),
    toolPoints: toolPoints(read),
    snapshotTimeoutMs: read.count("snapshotTimeoutMs") ?? 60_000,
    browserPoints: read.count("browserPoints") ?? 500,
  };
  const binary = read.text("binary");
  if (binary !== undefined) settings.binary = binary;
  const retention = read.object("retention");
  if (retention) settings.retention = parseRetention(new Reader(retention, "rewind.retention", complain));
  read.finish(["retention"]);
  return settings;
}

function parseRetention(read: Reader): Retention {
  const retention: Retention = {
    pinLabeledEntries: read.boolean("pinLabeledEntries", false),
    scanMode: read.choice("scanMode", ["ancestor-only", "repo-sessions"]),
  };
  for (const key of ["maxSnapshots", "maxAgeDays", "startupBudgetMs"] as const) {
    const value = read.count(key);
    if (value !== undefined) retention[key] = value;
  }
  read.finish([]);
  return retention;
}

function toolPoints(read: Reader): string[] {
  const value = read.raw("toolPoints");
  if (value === undefined || value === false) return [];
  if (value === true) return TOOL_POINTS;
  if (Array.isArray(value) && value.every((tool) => typeof tool === "string")) return value;
  read.complain("toolPoints", "true, false or a list of tool names");
  return [];
}

/** Reads one object of settings and complains of each value that it cannot use. */
class Reader {
  private readonly seen = new Set<string>();
  private readonly values: Values;
  private readonly name: string;
  private readonly report: Complain;

  constructor(values: Values, name: string, report: Complain) {
    this.values = values;
    this.name = name;
    this.report = report;
  }

  raw(key: string): unknown {
    this.seen.add(key);
    const value = this.values[key];
    return value === null ? undefined : value;
  }

  boolean(key: string, otherwise: boolean): boolean {
    return this.typed(key, "true or false", (v): v is boolean => typeof v === "boolean") ?? otherwise;
  }

  text(key: string): string | undefined {
    return this.typed(key, "a text", (v): v is string => typeof v === "string" && v !== "");
  }

  count(key: string): number | undefined {
    return this.typed(key, "a number above 0", (v): v is number => typeof v === "number" && v > 0 && Number.isFinite(v));
  }

  object(key: string): Values | undefined {
    return this.typed(key, "an object", (v): v is Values => typeof v === "object" && v !== null && !Array.isArray(v));
  }

  choice<T extends string>(key: string, choices: [T, ...T[]]): T {
    const isOne = (v: unknown): v is T => choices.some((choice) => choice === v);
    return this.typed(key, choices.map((c) => `"${c}"`).join(" or "), isOne) ?? choices[0];
  }

  complain(key: string, wanted: string): void {
    this.report(`${this.name}.${key} must be ${wanted}; the default is used`);
  }

  finish(more: string[]): void {
    for (const key of Object.keys(this.values)) {
      if (!this.seen.has(key) && !more.includes(key)) this.report(`${this.name}.${key} is not a setting`);
    }
  }

  private typed<T>(key: string, wanted: string, is: (value: unknown) => value is T): T | undefined {
    const value = this.raw(key);
    if (value === undefined || is(value)) return value;
    this.complain(key, wanted);
    return undefined;
  }
}

/** Returns what stands under `rewind` in a settings file; a file that is not there says nothing. */
function section(file: string, complain: Complain): Values {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return {};
  }
  try {
    const value: unknown = (JSON.parse(text) as Values | null)?.["rewind"];
    if (value === undefined) return {};
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
    complain(`rewind in ${file} must be an object; the defaults are used`);
  } catch {
    complain(`${file} is not JSON; the defaults are used`);
  }
  return {};
}
