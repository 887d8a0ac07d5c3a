// A registry for npm on this machine, of the packed packages in a directory and no
// others, for tests: what npm then installs is what it would install once they are
// published. Prints where it listens, and ends with its standard input.
//
//   node registry.mjs DIR

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";

const dir = process.argv[2];
const packages = new Map();
for (const file of readdirSync(dir).filter((name) => name.endsWith(".tgz"))) {
  const bytes = readFileSync(path.join(dir, file));
  const manifest = JSON.parse(execFileSync("tar", ["-xOzf", path.join(dir, file), "package/package.json"], { encoding: "utf8" }));
  packages.set(manifest.name, { file, bytes, manifest, integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}` });
}

const server = createServer((request, response) => {
  const name = decodeURIComponent(new URL(request.url, "http://x").pathname.slice(1));
  const found = packages.get(name);
  const packed = [...packages.values()].find(({ file }) => name === `packed/${file}`);
  if (found) {
    const { file, integrity, manifest } = found;
    const dist = { integrity, tarball: `http://${request.headers.host}/packed/${file}` };
    response.end(JSON.stringify({ name, "dist-tags": { latest: manifest.version }, versions: { [manifest.version]: { ...manifest, dist } } }));
  } else if (packed) {
    response.end(packed.bytes);
  } else {
    response.writeHead(404).end("{}");
  }
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
process.stdin.resume().on("end", () => process.exit(0));
