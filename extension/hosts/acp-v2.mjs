// An agent of version 2 of the Agent Client Protocol, a draft, by the protocol's own SDK:
// it answers a prompt at once, writes a file a little later, and then says that it is idle.
// usage: node acp-v2.mjs
import { writeFileSync } from "node:fs";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { sdk } from "./acp.mjs";

const { agent, methods, ndJsonStream } = await sdk("@agentclientprotocol/sdk/experimental/v2");
let cwd;
agent({ name: "v2" })
  .onRequest(methods.agent.initialize, () => ({ protocolVersion: 2, info: { name: "v2-agent", version: "1" }, capabilities: {} }))
  .onRequest(methods.agent.session.new, ({ params }) => { cwd = params.cwd; return { sessionId: "S2" }; })
  .onRequest(methods.agent.session.prompt, ({ params, client }) => {
    const tell = (update) => client.notify(methods.client.session.update, { sessionId: params.sessionId, update });
    setTimeout(async () => {
      await tell({ sessionUpdate: "state_update", state: "running" });
      writeFileSync(path.join(cwd, "v2.txt"), "made\n");
      await tell({ sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" });
    }, 200);
    return { messageId: "m1" };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
