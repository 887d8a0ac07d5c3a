// A client of the Agent Client Protocol, by the protocol's own SDK: starts an agent, makes
// a session, sends prompts one after the other, and allows all that the agent asks for.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { installed, patience } from "./host.mjs";

export const sdk = (entry = "@agentclientprotocol/sdk") => import(pathToFileURL(createRequire(path.join(installed, "acp/x.js")).resolve(entry)));

/** Runs argv as an agent. Returns its session, what each prompt ended with, and what it wrote. */
export async function converse(argv, { cwd, env, prompts, seconds = patience }) {
  const { client, methods, ndJsonStream } = await sdk();
  const child = spawn(argv[0], argv.slice(1), { cwd, env, stdio: ["pipe", "pipe", "pipe"], detached: true });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (d) => (stderr += d));
  const ended = new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal })));
  const timer = setTimeout(() => { try { process.kill(-child.pid, "SIGKILL"); } catch { /* it has ended */ } }, seconds * 1000);
  let text = "";
  const app = client({ name: "rewind-test" })
    .onRequest(methods.client.session.requestPermission, ({ params }) => ({ outcome: { outcome: "selected", optionId: (params.options.find((o) => o.kind.startsWith("allow")) ?? params.options[0]).optionId } }))
    .onNotification(methods.client.session.update, ({ params }) => { text += params.update.content?.text ?? ""; });
  try {
    const result = await app.connectWith(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (agent) => {
      const hello = await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {}, clientInfo: { name: "rewind-test", version: "1" } });
      const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
      const stops = [];
      for (const words of prompts) {
        stops.push((await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: words }] })).stopReason);
      }
      return { name: hello.agentInfo?.name, sessionId, stops };
    });
    child.stdin.end();
    return { ...result, text, stderr, ...(await ended) };
  } catch (e) {
    throw new Error(`${argv.join(" ")}: ${e.message ?? JSON.stringify(e)}\n${stderr}`);
  } finally {
    clearTimeout(timer);
    try { process.kill(-child.pid, "SIGKILL"); } catch { /* it has ended */ }
  }
}
