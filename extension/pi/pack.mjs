// Makes the packages to publish: one with the binary for each platform, and
// the extension with these as optional dependencies, as npm then installs only
// the one that fits. Nothing is published here.
//
//   node pack.mjs OUT [PLATFORM…]     PLATFORM as in linux-x64

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
  execFileSync("go", ["build", "-trimpath", "-ldflags=-s -w", "-o", binary, "./cmd/rewind"], {
    cwd: root, stdio: "inherit", env: { ...process.env, CGO_ENABLED: "0", GOOS: goos, GOARCH: goarch },
  });
  const { version, license, repository } = manifest;
  write(dir, { name: `${scope}/rewind-${name}`, version, description: `The rewind program for ${name}`, license, repository, os: [os], cpu: [cpu], files: ["bin"] });
  pack(dir);
}

function packExtension() {
  const dir = fresh("extension");
  for (const file of manifest.files) cpSync(path.join(here, file), path.join(dir, file), { recursive: true });
  const { devDependencies, scripts, ...published } = manifest;
  const optionalDependencies = Object.fromEntries(Object.keys(platforms).map((name) => [`${scope}/rewind-${name}`, manifest.version]));
  write(dir, { ...published, optionalDependencies });
  pack(dir);
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
