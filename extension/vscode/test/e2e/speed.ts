// How long the timeline takes to open: node speed.ts PROGRAM DIR, in a directory with a history.
// A new process of the program, the newest page and its arrangement, eleven times; then all of the history.

import { History } from "../../src/history.ts";
import { Server } from "../../src/server.ts";

const [program = "rewind", dir = "."] = process.argv.slice(2);
const median = (list: number[]) => list.sort((a, b) => a - b)[list.length >> 1]?.toFixed(0);
const opened: number[] = [], again: number[] = [], blamed: number[] = [];
let all = 0, count = 0;
for (let i = 0; i < 11; i++) {
  const begin = performance.now();
  const server = new Server({ program: () => program, dir, client: "speed", tell: console.error, changed: () => {} });
  const history = new History((method, params) => server.request(method, params), () => undefined);
  await server.request("status");
  await history.load();
  opened.push(performance.now() - begin);
  const then = performance.now();
  history.outdated();
  await history.load();
  again.push(performance.now() - then);
  const file = process.argv[4];
  if (file) {
    await server.request("blame", { path: file });
    const asked = performance.now();
    await server.request("blame", { path: file });
    blamed.push(performance.now() - asked);
  }
  if (i === 0) {
    const from = performance.now();
    await history.matching({ words: ["nothing has these words"], title: "" });
    all = performance.now() - from;
    count = history.records.length;
  }
  await server.close();
}
console.log(`${count} snapshots: opened in ${median(opened)} ms, again ${median(again)} ms, all of them for a filter ${all.toFixed(0)} ms${blamed.length > 0 ? `, lines of a file again ${median(blamed)} ms` : ""}`);
