// Makes the packages for npm of what goreleaser has built, in DIST/npm: one with the
// program for each platform; @seed-82afce7a/rewind, which has these as optional
// dependencies, so that npm installs the one that fits; and the Pi extension on top.
// All have the version of the release. Nothing is published here.
//
//   node pack.mjs DIST

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

const here = import.meta.dirname;
const root = path.resolve(here, "../..");
const extension = path.join(root, "extension/pi");
const json = (file) => JSON.parse(readFileSync(file, "utf8"));

const dist = process.argv[2];
if (!dist) {
  console.error("node pack.mjs DIST");
  process.exit(2);
}
const { version } = json(path.join(dist, "metadata.json"));
const manifest = json(path.join(here, "rewind/package.json"));
const notices = execFileSync("go", ["run", "-C", path.join(root, "tools"), "./notices"], { encoding: "utf8" });
const out = path.resolve(dist, "npm");
rmSync(out, { recursive: true, force: true });

// Go's names, and node's.
const platforms = json(path.join(dist, "artifacts.json"))
  .filter((artifact) => artifact.type === "Binary")
  .map(({ goos, goarch, path: file }) => ({ os: goos === "windows" ? "win32" : goos, cpu: goarch === "amd64" ? "x64" : goarch, file: path.resolve(dist, "..", file) }));

const optionalDependencies = {};
for (const { os, cpu, file } of platforms) {
  const { license, repository, publishConfig } = manifest;
  const name = `${manifest.name}-${os}-${cpu}`;
  const dir = begin(name, { name, version, description: `The rewind program for ${os}-${cpu}`, license, repository, publishConfig, os: [os], cpu: [cpu], files: ["bin", "THIRD-PARTY-NOTICES.txt"] });
  mkdirSync(path.join(dir, "bin"));
  const program = path.join(dir, "bin", os === "win32" ? "rewind.exe" : "rewind");
  cpSync(file, program);
  chmodSync(program, 0o755);
  writeFileSync(path.join(dir, "THIRD-PARTY-NOTICES.txt"), notices);
  pack(dir);
  optionalDependencies[name] = version;
}

const launcher = begin(manifest.name, { ...manifest, version, optionalDependencies });
for (const file of ["bin", "README.md"]) cpSync(path.join(here, "rewind", file), path.join(launcher, file), { recursive: true });
chmodSync(path.join(launcher, manifest.bin.rewind), 0o755);
pack(launcher);

const { devDependencies, scripts, ...published } = json(path.join(extension, "package.json"));
const pi = begin(published.name, { ...published, version, dependencies: { [manifest.name]: version } });
for (const file of published.files) cpSync(path.join(extension, file), path.join(pi, file), { recursive: true });
pack(pi);

function begin(name, content) {
  const dir = path.join(out, "build", name);
  mkdirSync(dir, { recursive: true });
  cpSync(path.join(root, "LICENSE"), path.join(dir, "LICENSE"));
  writeFileSync(path.join(dir, "package.json"), `${JSON.stringify(content, null, 2)}\n`);
  return dir;
}

function pack(dir) {
  const name = execFileSync("npm", ["pack", "--silent", "--pack-destination", out], { cwd: dir, encoding: "utf8", shell: process.platform === "win32" });
  console.log(name.trim());
}
