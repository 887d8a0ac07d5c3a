// Installs agents, each at the version that docs/agents.md names, below this folder
// (ignored by git), and node, which they run under. usage: node setup.mjs [AGENT...]
// Exit 75: npm cannot reach what is to be installed.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { agents, installed, nodeDir, others, speaking } from "./host.mjs";

function put(folder, ...specs) {
  const dir = path.join(installed, folder);
  const stamp = path.join(dir, ".installed");
  const wanted = specs.join(" ");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  mkdirSync(dir, { recursive: true });
  if (!existsSync(path.join(dir, "package.json"))) writeFileSync(path.join(dir, "package.json"), '{"private":true}\n');
  // npm runs under the node that the agents want: a bare npm takes an older release that the system's node will do for
  const env = { ...process.env, PATH: `${nodeDir}:${process.env.PATH}` };
  const r = spawnSync("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", ...specs], { cwd: dir, env, stdio: ["ignore", "ignore", "inherit"] });
  if (r.status !== 0) process.exit(75);
  writeFileSync(stamp, wanted);
}

put("node", "node@22.23.3");
// "acp" is the SDK of the Agent Client Protocol, and the agents that are proved with it.
const groups = { acp: ["acp", ...Object.keys(speaking)], others: ["cline", "continue", "opencode"] };
for (const name of process.argv.slice(2).flatMap((n) => groups[n] ?? [n])) {
  if (name === "acp") { put(name, "@agentclientprotocol/sdk@2.4.0"); continue; }
  const a = agents[name] ?? others[name];
  if (!a) { console.error(`there is no agent ${name} here: ${Object.keys(agents).join(", ")}`); process.exit(2); }
  put(name, `${a.package}@${a.version}`, ...(a.beside ?? []));
  console.log(`${name} ${execFileSync("du", ["-sh", path.join(installed, name)]).toString().split("\t")[0]}`);
}
