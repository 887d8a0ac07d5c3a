// What a user installs: its files, and that the editor takes it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { EXTENSION } from "./editor.mjs";
import { flow, shop, stage } from "./kit.mjs";

const FILES = ["[Content_Types].xml", "extension.vsixmanifest", "extension/LICENSE.txt", "extension/changelog.md", "extension/dist/extension.cjs", "extension/package.json", "extension/readme.md", "extension/resources/icon.png"];
const MOST_BYTES = 64 << 10;

let vsix;
const on = stage({
  prepare: (world) => {
    vsix = world.dir("rewind.vsix");
    execFileSync("npm", ["run", "--silent", "package", "--", "--out", vsix], { cwd: EXTENSION, stdio: ["ignore", "pipe", "inherit"] });
    return { vsix };
  },
});

flow(on, "the package has the extension alone, no program, and the editor installs and runs it", async () => {
  const inside = (...args) => execFileSync("python3", ["-c", "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); sys.stdout.buffer.write(z.read(sys.argv[2]) if len(sys.argv) > 2 else '\\n'.join(sorted(z.namelist())).encode())", vsix, ...args]);
  assert.deepEqual(inside().toString().split("\n"), FILES.toSorted());
  assert.ok(statSync(vsix).size < MOST_BYTES, `${statSync(vsix).size} bytes`);
  const icon = inside("extension/resources/icon.png");
  assert.deepEqual([icon.subarray(1, 4).toString(), icon.readUInt32BE(16), icon.readUInt32BE(20)], ["PNG", 256, 256]);

  const manifest = JSON.parse(readFileSync(path.join(EXTENSION, "package.json"), "utf8"));
  const [folder] = readdirSync(path.join(on.editor.home, "extensions")).filter((f) => f.startsWith(`${manifest.publisher}.`));
  assert.ok(lstatSync(path.join(on.editor.home, "extensions", folder)).isDirectory());
  const win = await on.editor.open(shop(on.world, "packed"));
  await win.showTimeline();
  await win.row("Remove the old module").waitFor();
});
