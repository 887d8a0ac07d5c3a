// An extension for the tests: gives a client of Pi's RPC mode what that mode
// lacks. Each command takes one JSON argument and answers with a notification
// "driver <nonce> <json>". It must not listen to tool_call: that alone would
// make older Pi wait for other handlers.

/* eslint-disable @typescript-eslint/no-explicit-any */
export default function driver(pi: any): void {
  const command = (name: string, run: (arg: any, ctx: any) => Promise<unknown>) =>
    pi.registerCommand(name, {
      handler: async (args: string, ctx: any) => {
        const arg = JSON.parse(args || "{}");
        let result: unknown;
        try {
          result = await run(arg, ctx);
        } catch (error: any) {
          result = { error: String(error?.message ?? error) };
        }
        ctx.ui.notify(`driver ${arg.nonce} ${JSON.stringify(result ?? {})}`, "info");
      },
    });
  command("d:nav", async ({ id, summarize = false }, ctx) => ctx.navigateTree(id, { summarize }));
  command("d:label", async ({ id, label }) => pi.setLabel(id, label));
  command("d:emit", async ({ event, data }) => pi.events.emit(event, data));
  command("d:global", async ({ name, value }) => {
    (globalThis as any)[name] = value;
  });
  command("d:custom", async ({ text }) => pi.sendMessage({ customType: "note", content: text, display: true }));
  command("d:entries", async (_arg, ctx) => ({
    entries: ctx.sessionManager.getEntries(),
    branch: ctx.sessionManager.getBranch().map((e: any) => e.id),
    leaf: ctx.sessionManager.getLeafId(),
    file: ctx.sessionManager.getSessionFile(),
  }));
  // The context is stale after this one: it answers first.
  pi.registerCommand("d:reload", {
    handler: async (args: string, ctx: any) => {
      ctx.ui.notify(`driver ${JSON.parse(args).nonce} {}`, "info");
      await ctx.reload();
    },
  });
}
