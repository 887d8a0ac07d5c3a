// A small stand-in for Pi: a session in memory, events, dialogs with scripted
// answers. It keeps the orders that matter: a message's entry is there only
// after its events.

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import rewind from "../src/index.ts";

type Handler = (event: any, ctx: any) => unknown;

export interface FakeEntry {
  id: string;
  parentId: string | null;
  type: string;
  timestamp: string;
  message?: any;
  customType?: string;
  data?: any;
  summary?: string;
}

export class FakePi {
  readonly entries: FakeEntry[] = [];
  readonly notes: string[] = [];
  readonly dialogs: string[][] = [];
  readonly commands = new Map<string, { handler: (args: string, ctx: any) => Promise<void> }>();
  readonly bus = new Map<string, (data: unknown) => void>();
  readonly labels: [string, string | undefined][] = [];
  readonly navigated: [string, unknown][] = [];
  answers: (string | boolean | undefined)[] = [];
  status: string | undefined;
  idle = true;
  aborted = 0;
  leaf: string | null = null;
  header: { parentSession?: string } = {};
  hasUI = true;
  sessionId = "S";
  mode = "rpc";
  /** The panel that is open, with how it ended. */
  panel: { handleInput(data: string): void; render(width: number): string[] } | undefined;
  private readonly handlers = new Map<string, Handler[]>();
  private last = 0;

  readonly ctx = {
    fake: this,
    cwd: process.cwd(),
    get hasUI(): boolean {
      return this.fake.hasUI;
    },
    get mode(): string {
      return this.fake.mode;
    },
    isIdle: () => this.idle,
    abort: () => {
      this.aborted++;
      this.idle = true;
    },
    isProjectTrusted: () => false,
    waitForIdle: async () => {},
    navigateTree: async (id: string, options: unknown) => {
      this.navigated.push([id, options]);
      const [answer] = await this.emit("session_before_tree", { preparation: { targetId: id } });
      if ((answer as { cancel?: boolean } | undefined)?.cancel) return { cancelled: true };
      this.leaf = id;
      await this.emit("session_tree", {});
      return { cancelled: false };
    },
    sessionManager: {
      getSessionId: () => this.sessionId,
      getSessionDir: () => "/sessions",
      getEntries: () => [...this.entries],
      getBranch: () => this.branch(),
      getHeader: () => this.header,
      getLeafId: () => this.leaf,
    },
    ui: {
      theme: { fg: (_c: string, text: string) => text, bold: (text: string) => text },
      notify: (message: string) => this.notes.push(message),
      setStatus: (_key: string, text: string | undefined) => {
        this.status = text;
      },
      select: async (title: string, options: string[]) => this.ask([title, ...options]),
      custom: (factory: any) =>
        new Promise((resolve) => {
          const done = (outcome: unknown) => {
            this.panel = undefined;
            resolve(outcome);
          };
          this.panel = factory({ terminal: { rows: 40 }, requestRender: () => {} }, this.ctx.ui.theme, {}, done);
        }),
      confirm: async (title: string, message: string) => (await this.ask([title, message])) === true,
    },
  };

  constructor() {
    rewind({
      on: (name: string, handler: Handler) => this.handlers.set(name, [...(this.handlers.get(name) ?? []), handler]),
      registerCommand: (name: string, command: any) => this.commands.set(name, command),
      appendEntry: (customType: string, data: unknown) => this.append({ type: "custom", customType, data }),
      setLabel: (id: string, label: string | undefined) => this.labels.push([id, label]),
      events: { on: (name: string, handler: (data: unknown) => void) => this.bus.set(name, handler) },
    } as unknown as ExtensionAPI);
  }

  async emit(name: string, event: object = {}): Promise<unknown[]> {
    const results: unknown[] = [];
    for (const handler of this.handlers.get(name) ?? []) results.push(await handler({ type: name, ...event }, this.ctx));
    return results;
  }

  append(entry: Partial<FakeEntry> & { type: string }): FakeEntry {
    const full: FakeEntry = { id: `e${++this.last}`, parentId: this.leaf, timestamp: new Date().toISOString(), ...entry };
    this.entries.push(full);
    this.leaf = full.id;
    return full;
  }

  /** A message goes through its events, then becomes an entry. */
  async message(message: any, entryMessage = message): Promise<FakeEntry> {
    await this.emit("message_start", { message });
    await this.emit("message_end", { message });
    return this.append({ type: "message", message: entryMessage });
  }

  /** One prompt with one turn that calls a tool. */
  async prompt(text: string): Promise<{ user: FakeEntry; assistant: FakeEntry }> {
    await this.emit("agent_start");
    const user = await this.message({ role: "user", content: text });
    const reply = { role: "assistant", content: [{ type: "toolCall", name: "write", arguments: { path: "a" } }] };
    const assistant = await this.message(reply);
    await this.emit("tool_call", { toolName: "write" });
    await this.emit("turn_end", { message: reply, messageEntryId: assistant.id });
    await this.emit("agent_end", { messages: [] });
    return { user, assistant };
  }

  records(kind: string): any[] {
    return this.entries.filter((e) => e.customType === kind).map((e) => e.data);
  }

  branch(): FakeEntry[] {
    const path: FakeEntry[] = [];
    for (let at = this.leaf; at !== null; ) {
      const entry = this.entries.find((e) => e.id === at);
      if (!entry) break;
      path.unshift(entry);
      at = entry.parentId;
    }
    return path;
  }

  private async ask(dialog: string[]): Promise<any> {
    this.dialogs.push(dialog);
    if (this.answers.length === 0) throw new Error(`unexpected dialog ${JSON.stringify(dialog)}`);
    return this.answers.shift();
  }
}
