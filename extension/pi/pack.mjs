// Makes the packages to publish: one with the binary for each platform, and
// the extension with these as optional dependencies, as npm then installs only
// the one that fits. Nothing is published here.
//
//   node pack.mjs OUT [PLATFORM…]     PLATFORM as in linux-x64

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

const here = import.meta.dirname;
const root = path.resolve(here, "../..");
const manifest = JSON.parse(readFileSync(path.join(here, "package.json"), "utf8"));
const scope = manifest.name.split("/")[0];

// Node's names of a platform, and Go's.
const platforms = {
  "linux-x64": ["linux", "amd64"],
  "linux-arm64": ["linux", "arm64"],
  "darwin-x64": ["darwin", "amd64"],
  "darwin-arm64": ["darwin", "arm64"],
  "win32-x64": ["windows", "amd64"],
  "win32-arm64": ["windows", "arm64"],
};

const [out, ...chosen] = process.argv.slice(2);
if (!out || chosen.some((p) => !platforms[p])) {
  console.error(`node pack.mjs OUT [${Object.keys(platforms).join(" ")}]`);
  process.exit(2);
}
mkdirSync(out, { recursive: true });
const names = chosen.length > 0 ? chosen : Object.keys(platforms);
for (const name of names) packBinary(name);
packExtension();

function packBinary(name) {
  const [goos, goarch] = platforms[name];
  const [os, cpu] = name.split("-");
  const dir = fresh(name);
  const binary = path.join(dir, "bin", os === "win32" ? "rewind.exe" : "rewind");
  const env = { ...process.env, CGO_ENABLED: "0", GOOS: goos, GOARCH: goarch };
  execFileSync("go", ["build", "-trimpath", "-ldflags=-s -w", `-overlay=${stamp()}`, "-o", binary, "./cmd/rewind"], { cwd: root, stdio: "inherit", env });
  const { version, license, repository, publishConfig } = manifest;
  cpSync(path.join(root, "LICENSE"), path.join(dir, "LICENSE"));
  writeFileSync(path.join(dir, "THIRD-PARTY-NOTICES.txt"), notices(env));
  write(dir, { name: `${scope}/rewind-${name}`, version, description: `The rewind program for ${name}`, license, repository, publishConfig, os: [os], cpu: [cpu], files: ["bin", "THIRD-PARTY-NOTICES.txt"] });
  pack(dir);
}

function packExtension() {
  const dir = fresh("extension");
  for (const file of manifest.files) cpSync(path.join(here, file), path.join(dir, file), { recursive: true });
  chmodSync(path.join(dir, manifest.bin.rewind), 0o755);
  writeFileSync(
    path.join(dir, "THIRD-PARTY-NOTICES.txt"),
    "This package contains no code of others. The rewind program comes in a package of its own for each platform, with the notices of what it contains.\n",
  );
  const { devDependencies, scripts, files, ...published } = manifest;
  const optionalDependencies = Object.fromEntries(Object.keys(platforms).map((name) => [`${scope}/rewind-${name}`, manifest.version]));
  write(dir, { ...published, files: [...files, "THIRD-PARTY-NOTICES.txt"], optionalDependencies });
  pack(dir);
}

/** An overlay for the build, by which the program says the version of the package. */
function stamp() {
  const build = path.resolve(out, "build");
  const file = path.join(build, "version.go");
  const overlay = path.join(build, "overlay.json");
  mkdirSync(build, { recursive: true });
  writeFileSync(file, `// Package cli is that of the program.\npackage cli\n\n// Version is that of the package.\nfunc Version() string { return ${JSON.stringify(manifest.version)} }\n`);
  writeFileSync(overlay, JSON.stringify({ Replace: { [path.join(root, "cmd/internal/cli/version.go")]: file } }));
  return overlay;
}

/** The licences of everything that is linked into the program: Go itself, and each module. */
function notices(env) {
  const go = (...args) => execFileSync("go", args, { cwd: root, encoding: "utf8", env });
  const goroot = go("env", "GOROOT").trim();
  const parts = [part(`Go ${go("env", "GOVERSION").trim()}`, [goroot])];
  const modules = new Map(); // name and version: the folders whose licences hold
  for (const line of go("list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", "./cmd/rewind").split("\n")) {
    const [name, top, used] = line.split("\t");
    if (!used) continue;
    const dirs = modules.get(name) ?? new Set();
    for (let dir = used; dir !== top; dir = path.dirname(dir)) dirs.add(dir);
    modules.set(name, dirs.add(top));
  }
  for (const name of [...modules.keys()].sort()) parts.push(part(name, [...modules.get(name)].sort()));
  return `The rewind program contains the following works of others.\n\n${parts.join("\n")}`;
}

/** The licences in the folders of one work; a work without any is not to be published. */
function part(name, dirs) {
  const legal = (dir) => (existsSync(dir) ? readdirSync(dir).filter((f) => /^(licen[cs]e|copying|notice|patents)/i.test(f)).sort() : []);
  const texts = dirs.flatMap((dir) => legal(dir).map((file) => readFileSync(path.join(dir, file), "utf8").trim()));
  if (texts.length === 0) throw new Error(`${name} has no licence`);
  return `${"=".repeat(72)}\n${name}\n${"=".repeat(72)}\n\n${texts.join("\n\n")}\n`;
}

function fresh(name) {
  const dir = path.join(out, "build", name);
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  return dir;
}

function write(dir, value) {
  writeFileSync(path.join(dir, "package.json"), `${JSON.stringify(value, null, 2)}\n`);
}

function pack(dir) {
  const name = execFileSync("npm", ["pack", "--silent", "--pack-destination", path.resolve(out)], { cwd: dir, encoding: "utf8", shell: process.platform === "win32" });
  console.log(name.trim());
}
