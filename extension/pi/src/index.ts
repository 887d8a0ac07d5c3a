// Rewind for Pi: every message and every turn is a point; any point can be put
// back, files and conversation. This file wires Pi's events to the parts.

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { browse } from "./browser.ts";
import { listen } from "./bus.ts";
import { checkpoint } from "./checkpoint.ts";
import { onEscEsc } from "./escape.ts";
import { afterTree, beforeFork, beforeTree } from "./leave.ts";
import type { PointsResult } from "./protocol.ts";
import { Session } from "./session.ts";
import { loadSettings } from "./settings.ts";

const BEHIND_WAIT_MS = 3_000;

export default function rewind(pi: ExtensionAPI): void {
  const extension = new Extension(pi);
  extension.listenToSession();
  extension.listenToAgent();
  extension.addCommands();
}

class Extension {
  private readonly pi: ExtensionAPI;
  private session: Session | undefined;
  private preference: string | undefined;
  private stopEscEsc: (() => void) | undefined;

  constructor(pi: ExtensionAPI) {
    this.pi = pi;
  }

  listenToSession(): void {
    const { pi } = this;
    pi.on("session_start", (event, ctx) => this.start(event, ctx));
    pi.on("session_shutdown", (event, ctx) => this.shutdown(event, ctx));
    pi.on("session_before_fork", (event, ctx) => {
      const preference = this.preference;
      this.preference = undefined;
      return this.session && beforeFork(this.session.use(ctx), event, ctx, preference);
    });
    pi.on("session_before_tree", (event, ctx) => this.session && beforeTree(this.session.use(ctx), event, ctx));
    pi.on("session_tree", (event, ctx) => this.session && afterTree(this.session.use(ctx), event));
    pi.on("session_compact", async (event, ctx) => {
      const session = this.session?.use(ctx);
      const id = await session?.snapshot("compaction");
      if (id) session?.points.bind(event.compactionEntry.id, id);
    });
    listen(pi, {
      keepFilesAtNextFork: (source) => {
        this.preference = source;
      },
      bindEntry: (entry) => void this.bindEntry(entry),
    });
  }

  listenToAgent(): void {
    const { pi } = this;
    pi.on("agent_start", (_event, ctx) => {
      this.session?.use(ctx).activity.runBegins();
    });
    pi.on("message_start", (event, ctx) => {
      const session = this.session?.use(ctx);
      if (!session) return;
      const { message } = event;
      if (message.role === "user") {
        session.activity.settle();
        void session.points.expect(message, session.snapshot("prompt"));
      } else session.points.flush();
    });
    pi.on("message_end", (event, ctx) => {
      const session = this.session?.use(ctx);
      const { message } = event;
      if (message.role !== "toolResult" || !session?.settings.toolPoints.includes(message.toolName)) return;
      return session.points.expect(message, session.snapshot("tool"));
    });
    // The files are as the user left them until the first tool runs: here the
    // points of his messages must stand. Pi before 0.75.4 waits for handlers
    // only where there is one for tool_call.
    pi.on("tool_call", (_event, ctx) => this.session?.use(ctx).points.settle(ctx.signal));
    pi.on("turn_end", (event, ctx) => {
      const session = this.session?.use(ctx);
      if (!session || event.message.role !== "assistant") return;
      return session.points.expect(event.message, session.snapshot("turn"), (event as { messageEntryId?: string }).messageEntryId);
    });
    pi.on("agent_end", async (_event, ctx) => {
      const session = this.session?.use(ctx);
      if (!session) return;
      await session.points.settle();
      session.points.forget();
      session.activity.runEnds();
      void session.retention.afterRun();
    });
  }

  addCommands(): void {
    if (typeof this.pi.registerCommand !== "function") return; // a host derived from Pi
    this.pi.registerCommand("rewind", {
      description: "Browse the points of this session; restore files, conversation or both",
      handler: async (_args, ctx) => this.session && browse(this.session.use(ctx), ctx),
    });
    this.pi.registerCommand("checkpoint", {
      description: "Take a named point that is kept: /checkpoint NAME",
      handler: async (args, ctx) => this.session && checkpoint(this.session.use(ctx), ctx, args),
    });
  }

  /** Begins with a session. Pi may tell of the same one twice. */
  private async start(event: { reason: string; previousSessionFile?: string }, ctx: ExtensionContext): Promise<void> {
    const id = ctx.sessionManager.getSessionId();
    if (this.session?.id === id) {
      this.session.use(ctx).show();
      return;
    }
    await this.session?.close();
    const problems: string[] = [];
    const trusted = typeof ctx.isProjectTrusted === "function" ? ctx.isProjectTrusted() : true;
    const session = new Session(this.pi, ctx, loadSettings(ctx.cwd, trusted, (p) => problems.push(p)));
    this.session = session;
    for (const problem of problems) session.warn(`Rewind: setting ${problem}`);
    session.points.reload();
    if (event.reason === "fork" && event.previousSessionFile) await this.takeOver(session, event.previousSessionFile);
    if (session.settings.escEsc && ctx.hasUI) this.stopEscEsc = onEscEsc(this.pi, ctx);
    void this.begin(session);
  }

  /** The start of a session in the background: nobody waits for it. */
  private async begin(session: Session): Promise<void> {
    await session.snapshot("resume");
    session.show();
    await session.retention.atStart();
  }

  /** Takes over what the parent of a fork left, so that undo crosses into the child. */
  private async takeOver(session: Session, parent: string): Promise<void> {
    try {
      const { pending } = await session.server.request<PointsResult>("points", { file: parent, entries: [] });
      if (pending?.current && (await session.exists(pending.current))) session.record({ current: pending.current, undo: pending.undo });
    } catch (error) {
      session.failed("the parent session cannot be read", error);
    }
  }

  private async bindEntry(entry: string): Promise<void> {
    const session = this.session;
    if (!session?.has(entry)) return;
    const id = await session.snapshot("checkpoint-entry");
    if (id) session.points.bind(entry, id);
  }

  private async shutdown(event: { reason?: string }, ctx: ExtensionContext): Promise<void> {
    const session = this.session?.use(ctx);
    this.stopEscEsc?.();
    if (!session) return;
    // Pi before 0.75.4 ends without waiting for the handlers of earlier events:
    // they still come through while this one is waited for.
    const old = (ctx.mode as string | undefined) === undefined; // came with 0.78.1
    for (const end = Date.now() + BEHIND_WAIT_MS; old && (session.activity.running || session.points.behind) && Date.now() < end; ) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    this.session = undefined;
    await session.points.settle();
    session.activity.settle();
    if (event.reason !== "reload") await session.retention.atEnd();
    await session.close();
  }
}
