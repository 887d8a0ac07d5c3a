// A scripted model on loopback that speaks OpenAI's streaming chat completions.
//
// What it answers depends on the request alone: the text of the last user
// message chooses the script, the number of assistant messages after it the
// step. So forks, jumps and resumed sessions need no state here.

import http from "node:http";
import type { AddressInfo } from "node:net";

export interface Step {
  text?: string;
  tools?: { name: string; args: object }[];
  /** Answer with this HTTP status the first so many times. */
  fail?: { status: number; times: number };
  delayMs?: number;
}

export interface Llm {
  url: string;
  requests: string[];
  close(): Promise<void>;
}

interface Message {
  role: string;
  content: unknown;
}

export const write = (path: string, content: string): Step => ({ tools: [{ name: "write", args: { path, content } }] });
export const bash = (command: string): Step => ({ tools: [{ name: "bash", args: { command } }] });
export const say = (text: string): Step => ({ text });

export async function startLlm(script: Record<string, Step[]>): Promise<Llm> {
  const requests: string[] = [];
  const failures = new Map<string, number>();
  const server = http.createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (part: string) => (body += part));
    request.on("end", () => {
      const { messages = [], tools = [] } = body ? (JSON.parse(body) as { messages?: Message[]; tools?: unknown[] }) : {};
      const { key, step, turn } = choose(script, messages, tools.length > 0);
      requests.push(key);
      const failed = failures.get(`${key}#${step}`) ?? 0;
      if (turn.fail && failed < turn.fail.times) {
        failures.set(`${key}#${step}`, failed + 1);
        response.writeHead(turn.fail.status, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: { message: "overloaded", type: "overloaded_error" } }));
        return;
      }
      setTimeout(() => stream(response, turn, requests.length), turn.delayMs ?? 0);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function choose(script: Record<string, Step[]>, messages: Message[], hasTools: boolean): { key: string; step: number; turn: Step } {
  const last = messages.findLastIndex((m) => m.role === "user");
  const text = textOf(messages[last]?.content);
  const key = Object.keys(script).find((k) => text === k) ?? Object.keys(script).find((k) => text.includes(k));
  if (!hasTools || key === undefined) return { key: key ?? "", step: 0, turn: { text: hasTools ? "no script" : "## Goal\na summary" } };
  const step = messages.slice(last + 1).filter((m) => m.role === "assistant").length;
  return { key, step, turn: script[key]?.[step] ?? { text: "done" } };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((b: { text?: string }) => b.text ?? "").join("\n") : "";
}

function stream(response: http.ServerResponse, turn: Step, seq: number): void {
  const base = { id: `c${seq}`, object: "chat.completion.chunk", created: 1, model: "fake-1" };
  const chunk = (delta: object, reason: string | null = null) =>
    response.write(`data: ${JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  chunk({ role: "assistant", content: turn.text ?? "" });
  turn.tools?.forEach((tool, index) =>
    chunk({ tool_calls: [{ index, id: `call_${seq}_${index}`, type: "function", function: { name: tool.name, arguments: JSON.stringify(tool.args) } }] }),
  );
  chunk({}, turn.tools ? "tool_calls" : "stop");
  response.write(`data: ${JSON.stringify({ ...base, choices: [], usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 } })}\n\n`);
  response.end("data: [DONE]\n\n");
}
