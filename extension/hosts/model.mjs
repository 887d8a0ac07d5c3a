/**
 * One scripted model on loopback that speaks four wire formats, chosen by request path:
 *   POST .../chat/completions            OpenAI chat completions (SSE or plain)
 *   POST .../responses                   OpenAI responses (SSE)
 *   POST .../messages                    Anthropic messages (SSE or plain); .../count_tokens too
 *   POST .../models/M:streamGenerateContent | :generateContent | :countTokens    Gemini
 *   GET anything                         a model list
 *
 *   import { startFakeModel } from "./model.mjs";
 *   const m = await startFakeModel({ script, tools, log: "requests.jsonl" });
 *   m.origin -> "http://127.0.0.1:PORT"; m.requests -> what was asked; m.misses -> requests no key matched; await m.close()
 *
 * script  { "<prompt text>": [turn, turn, ...], ... }    turn = { text?, tools?: [{ name, args }], delayMs?, usage?, fail?: {status,times} }
 * tools   optional map from the portable names used in scripts to the agent's own: { write: (args) => ({ name, args }) }
 *
 * Choice of the reply (stateless): the newest user message that contains a script key decides; step = number of model
 * messages after it. Agents add reminders to prompts, so a key matches as a substring; longest key first.
 */
import http from "node:http";
import { appendFileSync } from "node:fs";

const flat = (c) => {
  if (c == null) return "";
  if (typeof c === "string") return c;
  if (Array.isArray(c)) return c.map(flat).filter(Boolean).join("\n");
  if (typeof c.text === "string") return c.text;
  return "";
};

/** Every dialect is reduced to [{ who: "user"|"model"|"tool", text }] before the script is looked up. */
const readers = {
  chat: (b) => (b.messages ?? []).map((m) => ({ who: m.role === "assistant" ? "model" : m.role === "tool" ? "tool" : m.role === "user" ? "user" : "system", text: flat(m.content) })),
  anthropic: (b) => (b.messages ?? []).flatMap((m) => {
    if (m.role === "assistant") return [{ who: "model", text: flat(m.content) }];
    if (typeof m.content === "string") return [{ who: m.role, text: m.content }];
    const results = m.content.filter((x) => x.type === "tool_result");
    const texts = m.content.filter((x) => x.type === "text");
    return [...(results.length ? [{ who: "tool", text: flat(results.map((x) => x.content)) }] : []), ...(texts.length ? [{ who: m.role, text: flat(texts) }] : [])];
  }),
  gemini: (b) => (b.contents ?? []).map((c) => {
    const parts = c.parts ?? [];
    if (c.role === "model") return { who: "model", text: flat(parts) };
    if (parts.some((p) => p.functionResponse) && !parts.some((p) => p.text)) return { who: "tool", text: "" };
    return { who: "user", text: flat(parts) };
  }),
  responses: (b) => {
    if (typeof b.input === "string") return [{ who: "user", text: b.input }];
    const out = [];
    for (const it of b.input ?? []) {
      const type = it.type ?? "message";
      if (type === "message" && it.role !== "assistant") out.push({ who: it.role === "user" ? "user" : "system", text: flat(it.content) });
      else if (/_output$/.test(type)) out.push({ who: "tool", text: flat(it.output) });
      else if (out.at(-1)?.who === "model") out.at(-1).text += flat(it.content); // one reply = one run of model items
      else out.push({ who: "model", text: flat(it.content) });
    }
    return out;
  },
};

export async function startFakeModel({ script = {}, tools = {}, log, modelId = "fake-1", summary = "fake summary", fallback, full } = {}) {
  const requests = [], misses = [], failures = new Map(), sockets = new Set();
  let n = 0;

  function choose(turns, body) {
    const keys = Object.keys(script).sort((a, b) => b.length - a.length);
    for (let i = turns.length - 1; i >= 0; i--) {
      if (turns[i].who !== "user") continue;
      // several keys in one message (history folded into it): the one that appears last wins
      let key, at = -1;
      for (const k of keys) { const p = turns[i].text.lastIndexOf(k); if (p > at) { at = p; key = k; } }
      if (key === undefined) continue;
      const step = turns.slice(i + 1).filter((t) => t.who === "model").length;
      return { key, step, turn: script[key][step] ?? { text: "(script exhausted)" } };
    }
    return { key: undefined, step: 0, turn: fallback?.(turns, body) ?? { text: summary } };
  }

  const toCalls = (turn, id, body) => (turn.tools ?? []).map((t, i) => {
    const own = typeof tools[t.name] === "function" ? tools[t.name](t.args ?? {}) : { name: tools[t.name] ?? t.name, args: t.args ?? {} };
    if (typeof own.args === "function") own.args = own.args(body); // arguments that depend on what was answered so far
    return { id: `call_${id}_${i}`, ...own };
  });

  const server = http.createServer((req, res) => {
    let raw = "";
    req.setEncoding("utf8");
    req.on("data", (d) => (raw += d));
    req.on("end", () => handle(req, res, raw).catch((e) => { try { res.writeHead(500).end(String(e?.stack)); } catch {} }));
  });

  async function handle(req, res, raw) {
    const json = (o, status = 200) => { res.writeHead(status, { "content-type": "application/json" }); res.end(JSON.stringify(o)); };
    const url = req.url.split("?")[0];
    let body = {};
    try { body = raw ? JSON.parse(raw) : {}; } catch { body = { raw: raw.slice(0, 400) }; }
    const note = (o) => { const rec = { at: Date.now(), method: req.method, url: req.url, ...o }; requests.push(rec); if (log) appendFileSync(log, JSON.stringify(rec) + "\n"); return rec; };

    if (req.method !== "POST") { note({}); return json({ object: "list", data: [{ id: modelId, object: "model", created: 0, owned_by: "fake" }], models: [{ name: `models/${modelId}`, id: modelId }] }); }
    if (/count_tokens$/.test(url)) { note({}); return json({ input_tokens: 100 }); }
    if (/:countTokens$/.test(url)) { note({}); return json({ totalTokens: 100 }); }

    const dialect = /\/chat\/completions$/.test(url) ? "chat" : /\/responses(\/compact)?$/.test(url) ? "responses" : /\/messages$/.test(url) ? "anthropic" : /enerateContent$/.test(url) ? "gemini" : undefined;
    if (!dialect) { note({ unknown: true, raw: raw.slice(0, 300) }); return json({}); }

    const turns = readers[dialect](body);
    const { key, step, turn } = choose(turns, body);
    const names = (body.tools ?? []).flatMap((t) => t.functionDeclarations?.map((f) => f.name) ?? [t.name ?? t.function?.name ?? t.type]);
    const rec = note({ dialect, key, step, model: body.model, tools: names, turns: turns.map((t) => `${t.who}: ${t.text.slice(0, 160)}`), ...(full ? { body } : {}) });
    if (key === undefined) misses.push(rec);

    if (turn.fail) {
      const id = `${key}#${step}`, c = failures.get(id) ?? 0;
      if (c < (turn.fail.times ?? 1)) { failures.set(id, c + 1); return json({ error: { type: "overloaded_error", message: "fake failure" } }, turn.fail.status ?? 529); }
    }
    if (turn.delayMs) await new Promise((r) => setTimeout(r, turn.delayMs));
    const id = `${++n}`, calls = toCalls(turn, id, body), text = turn.text ?? (calls.length ? "" : "ok");
    const use = { in: 100, out: 10, ...turn.usage };
    const sse = () => res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    const put = (o, event) => res.write(`${event ? `event: ${event}\n` : ""}data: ${JSON.stringify(o)}\n\n`);

    if (dialect === "chat") {
      const base = { id: `chatcmpl-${id}`, created: Math.floor(Date.now() / 1000), model: body.model ?? modelId };
      const usage = { prompt_tokens: use.in, completion_tokens: use.out, total_tokens: use.in + use.out };
      const fns = calls.map((c, index) => ({ index, id: c.id, type: "function", function: { name: c.name, arguments: JSON.stringify(c.args) } }));
      const finish_reason = calls.length ? "tool_calls" : "stop";
      if (!body.stream) return json({ ...base, object: "chat.completion", choices: [{ index: 0, finish_reason, message: { role: "assistant", content: text || null, ...(fns.length ? { tool_calls: fns } : {}) } }], usage });
      sse();
      const chunk = (delta, fin = null) => put({ ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: fin }] });
      chunk({ role: "assistant", content: "" });
      if (text) chunk({ content: text });
      for (const f of fns) chunk({ tool_calls: [f] });
      chunk({}, finish_reason);
      put({ ...base, object: "chat.completion.chunk", choices: [], usage });
      return res.end("data: [DONE]\n\n");
    }

    if (dialect === "anthropic") {
      const content = [...(text ? [{ type: "text", text }] : []), ...calls.map((c) => ({ type: "tool_use", id: `toolu_${c.id}`, name: c.name, input: c.args }))];
      const stop_reason = calls.length ? "tool_use" : "end_turn";
      const msg = { id: `msg_${id}`, type: "message", role: "assistant", model: body.model ?? modelId, stop_sequence: null };
      const usage = { input_tokens: use.in, output_tokens: use.out, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
      if (!body.stream) return json({ ...msg, content, stop_reason, usage });
      sse();
      put({ type: "message_start", message: { ...msg, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } } }, "message_start");
      content.forEach((b, index) => {
        const isText = b.type === "text";
        put({ type: "content_block_start", index, content_block: isText ? { type: "text", text: "" } : { ...b, input: {} } }, "content_block_start");
        put({ type: "content_block_delta", index, delta: isText ? { type: "text_delta", text: b.text } : { type: "input_json_delta", partial_json: JSON.stringify(b.input) } }, "content_block_delta");
        put({ type: "content_block_stop", index }, "content_block_stop");
      });
      put({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: use.out } }, "message_delta");
      put({ type: "message_stop" }, "message_stop");
      return res.end();
    }

    if (dialect === "gemini") {
      const parts = [...(text ? [{ text }] : []), ...calls.map((c) => ({ functionCall: { id: c.id, name: c.name, args: c.args } }))];
      const out = { candidates: [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }], modelVersion: modelId, responseId: `resp-${id}`,
        usageMetadata: { promptTokenCount: use.in, candidatesTokenCount: use.out, totalTokenCount: use.in + use.out } };
      if (!/:stream/.test(url)) return json(out);
      sse(); put(out); return res.end();
    }

    // responses
    const rid = `resp_${id}`;
    const items = [...(text ? [{ type: "message", id: `msg_${id}`, role: "assistant", status: "completed", content: [{ type: "output_text", text, annotations: [] }] }] : []),
      ...calls.map((c, i) => c.custom !== undefined
        ? { type: "custom_tool_call", id: `ctc_${id}_${i}`, call_id: c.id, name: c.name, input: c.custom, status: "completed" }
        : { type: "function_call", id: `fc_${id}_${i}`, call_id: c.id, name: c.name, ...(c.namespace ? { namespace: c.namespace } : {}), arguments: JSON.stringify(c.args), status: "completed" })];
    const usage = { input_tokens: use.in, input_tokens_details: { cached_tokens: 0 }, output_tokens: use.out, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: use.in + use.out };
    const resp = { id: rid, object: "response", created_at: Math.floor(Date.now() / 1000), model: body.model ?? modelId, status: "in_progress", output: [], parallel_tool_calls: true, tools: [] };
    if (body.stream === false || /compact$/.test(url)) return json({ ...resp, status: "completed", output: items, usage });
    sse();
    let sequence_number = 0;
    const ev = (type, o) => put({ type, sequence_number: sequence_number++, ...o }, type);
    ev("response.created", { response: resp });
    items.forEach((item, output_index) => {
      ev("response.output_item.added", { output_index, item: { ...item, status: "in_progress", ...(item.content ? { content: [] } : {}), ...(item.arguments ? { arguments: "" } : {}) } });
      if (item.type === "message") {
        ev("response.content_part.added", { item_id: item.id, output_index, content_index: 0, part: { type: "output_text", text: "", annotations: [] } });
        ev("response.output_text.delta", { item_id: item.id, output_index, content_index: 0, delta: text });
        ev("response.output_text.done", { item_id: item.id, output_index, content_index: 0, text });
        ev("response.content_part.done", { item_id: item.id, output_index, content_index: 0, part: item.content[0] });
      } else if (item.type === "function_call") {
        ev("response.function_call_arguments.delta", { item_id: item.id, output_index, delta: item.arguments });
        ev("response.function_call_arguments.done", { item_id: item.id, output_index, arguments: item.arguments });
      }
      ev("response.output_item.done", { output_index, item });
    });
    ev("response.completed", { response: { ...resp, status: "completed", output: items, usage } });
    res.end();
  }

  server.on("connection", (s) => { sockets.add(s); s.on("close", () => sockets.delete(s)); });
  await new Promise((r) => server.listen(0, "127.0.0.1", r));
  const { port } = server.address();
  return { port, origin: `http://127.0.0.1:${port}`, requests, misses, modelId, script,
    close: () => new Promise((r) => { for (const s of sockets) s.destroy(); server.close(() => r()); }) };
}
