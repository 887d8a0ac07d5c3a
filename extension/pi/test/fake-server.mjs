#!/usr/bin/env node
// A server of the protocol that answers by a script: FAKE_RULES is a JSON
// object from methods to what happens. "$die" ends the process, "$hang" never
// answers, "$long" answers with two megabytes, {"$error": [code, message]} fails, {"$noise": text} prints that before an empty
// result, anything else is the result.

import { appendFileSync } from "node:fs";
import readline from "node:readline";

const rules = JSON.parse(process.env.FAKE_RULES ?? "{}");
const log = (line) => process.env.FAKE_LOG && appendFileSync(process.env.FAKE_LOG, `${line}\n`);
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const initialized = { protocol: 1, version: "fake", root: "/", git: true, warnings: [] };

log("start");
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  log(`${method} ${JSON.stringify(params)}`);
  if (id === undefined) continue;
  const rule = rules[method] ?? (method === "initialize" ? initialized : {});
  if (rule === "$die") process.exit(3);
  if (rule === "$hang") continue;
  if (rule === "$long") {
    send({ id, result: { text: "ä\u2028".repeat(500_000) } });
    continue;
  }
  if (rule.$noise) process.stdout.write(rule.$noise);
  if (rule.$warning) send({ method: "warning", params: { message: rule.$warning } });
  if (rule.$error) send({ id, error: { code: rule.$error[0], message: rule.$error[1] } });
  else send({ id, result: rule.$noise ? {} : rule });
}
log("end");
