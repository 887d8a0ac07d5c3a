// A real Pi in RPC mode, with scripted answers to the dialogs of extensions.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import path from "node:path";
import { type Entry, EXTENSION, type Sandbox, type Version } from "./sandbox.ts";

const DRIVER = path.join(import.meta.dirname, "driver.ts");
const TIMEOUT_MS = 120_000; // a hang, not a slow machine

export interface Dialog {
  method: string;
  title: string;
  options: string[];
  message?: string;
}

/** An option or its beginning or what it matches, true for a yes, undefined for Esc. */
export type Answer = string | RegExp | boolean | undefined;

type Rec = Record<string, any>;

export interface State {
  entries: Entry[];
  branch: string[];
  leaf: string;
  file: string;
}

export class Pi {
  readonly version: Version;
  readonly dialogs: Dialog[] = [];
  readonly notes: { type: string; message: string }[] = [];
  readonly errors: Rec[] = [];
  status = new Map<string, string | undefined>();
  stderr = "";
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly exited: Promise<void>;
  private answers: Answer[] = [];
  private unexpected: Dialog[] = [];
  private waiters: { is: (r: Rec) => boolean; resolve: (r: Rec) => void; reject: (e: Error) => void }[] = [];

  constructor(version: Version, box: Sandbox, args: string[] = [], extension = EXTENSION) {
    this.version = version;
    this.child = spawn(process.execPath, [box.pi(version), "--mode", "rpc", "--provider", "fake", "--model", "fake-1", "-e", DRIVER, ...(extension ? ["-e", extension] : []), ...args], {
      cwd: box.cwd, env: box.env, stdio: ["pipe", "pipe", "pipe"],
    });
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    let rest = "";
    this.child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line) this.take(JSON.parse(line) as Rec);
    });
    this.exited = new Promise((resolve) => this.child.on("exit", () => resolve()));
    void this.exited.then(() => this.waiters.forEach((w) => w.reject(new Error(`pi ended: ${this.stderr}`))));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Queues the answers of the next dialogs. */
  answer(...answers: Answer[]): void {
    this.answers.push(...answers);
  }

  /** Throws if there was a dialog without an answer, or an answer without a dialog, or an error of an extension. */
  settled(): void {
    if (this.unexpected.length > 0) throw new Error(`unexpected dialog: ${JSON.stringify(this.unexpected)}`);
    if (this.answers.length > 0) throw new Error(`no dialog asked for ${JSON.stringify(this.answers)}`);
    if (this.errors.length > 0) throw new Error(`extension errors: ${JSON.stringify(this.errors)}`);
  }

  async request(command: Rec): Promise<Rec> {
    const id = randomUUID();
    const answer = this.wait((r) => r["type"] === "response" && r["id"] === id, `an answer to ${command["type"]}`);
    this.send({ id, ...command });
    const response = await answer;
    if (!response["success"]) throw new Error(`${command["type"]}: ${response["error"]}`);
    return (response["data"] ?? {}) as Rec;
  }

  wait(is: (r: Rec) => boolean, what: string): Promise<Rec> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no ${what}\n${this.stderr.slice(-1000)}\n${JSON.stringify(this.notes)}`)), TIMEOUT_MS);
      this.waiters.push({ is, resolve: (r) => (clearTimeout(timer), resolve(r)), reject: (e) => (clearTimeout(timer), reject(e)) });
    });
  }

  /** Waits until Pi does no more by itself. */
  idle(): Promise<Rec> {
    return this.wait((r) => (this.version === "0.73.1" ? r["type"] === "agent_end" && r["willRetry"] !== true : r["type"] === "agent_settled"), "end of the run");
  }

  async prompt(message: string): Promise<void> {
    const idle = this.idle();
    await this.request({ type: "prompt", message });
    await idle;
  }

  /** Runs a command of an extension. */
  async command(text: string): Promise<void> {
    await this.request({ type: "prompt", message: text });
  }

  async drive(name: string, arg: object = {}): Promise<Rec> {
    const nonce = randomUUID();
    const prefix = `driver ${nonce} `;
    const done = this.wait((r) => r["method"] === "notify" && String(r["message"]).startsWith(prefix), name);
    await this.request({ type: "prompt", message: `/${name} ${JSON.stringify({ nonce, ...arg })}` });
    const result = JSON.parse(String((await done)["message"]).slice(prefix.length)) as Rec;
    if (result["error"]) throw new Error(`${name}: ${result["error"]}`);
    return result;
  }

  async state(): Promise<State> {
    return (await this.drive("d:entries")) as unknown as State;
  }

  /** The user message with this text, newest first. */
  async user(text: string): Promise<Entry> {
    const { entries } = await this.state();
    const entry = entries.findLast((e) => e.message?.role === "user" && JSON.stringify(e.message.content).includes(text));
    if (!entry) throw new Error(`no user message ${text}`);
    return entry;
  }

  async fork(text: string): Promise<Rec> {
    const result = await this.request({ type: "fork", entryId: (await this.user(text)).id });
    return result;
  }

  noted(text: string): boolean {
    return this.notes.some((n) => n.message.includes(text));
  }

  async stop(): Promise<void> {
    this.child.stdin.end();
    const timer = setTimeout(() => this.child.kill("SIGKILL"), 10_000);
    await this.exited;
    clearTimeout(timer);
  }

  kill(): Promise<void> {
    this.child.kill("SIGKILL");
    return this.exited;
  }

  send(message: Rec): void {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  private take(r: Rec): void {
    if (r["type"] === "extension_error") this.errors.push(r);
    if (r["type"] === "extension_ui_request") this.dialog(r);
    for (const w of this.waiters.filter((w) => w.is(r))) {
      this.waiters.splice(this.waiters.indexOf(w), 1);
      w.resolve(r);
    }
  }

  private dialog(r: Rec): void {
    if (r["method"] === "notify") {
      if (!String(r["message"]).startsWith("driver ")) this.notes.push({ type: r["notifyType"] ?? "info", message: r["message"] });
      return;
    }
    if (r["method"] === "setStatus") {
      this.status.set(r["statusKey"], r["statusText"]);
      return;
    }
    if (!["select", "confirm", "input", "editor"].includes(r["method"])) return;
    const dialog: Dialog = { method: r["method"], title: r["title"], options: r["options"] ?? [], message: r["message"] };
    this.dialogs.push(dialog);
    const none = this.answers.length === 0;
    const want = this.answers.shift();
    const option = pick(dialog.options, want);
    if (none || ((typeof want === "string" || want instanceof RegExp) && option === undefined)) this.unexpected.push(dialog);
    const reply = want === true ? { confirmed: true } : option !== undefined ? { value: option } : { cancelled: true };
    this.send({ type: "extension_ui_response", id: r["id"], ...reply });
  }
}

function pick(options: string[], want: Answer): string | undefined {
  if (want instanceof RegExp) return options.find((o) => want.test(o));
  return typeof want === "string" ? (options.find((o) => o === want) ?? options.find((o) => o.includes(want))) : undefined;
}
