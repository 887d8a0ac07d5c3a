// A program that is missing, or too old, and how one goes on from there.

import { chmodSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after } from "node:test";
import { flow, picture, stage, until } from "./kit.mjs";

const program = path.join(tmpdir(), `rewind-of-the-setting-${process.pid}`);
const on = stage({ machine: { "rewind.path": program } });
after(() => rmSync(program, { force: true }));

/** A program that knows no method but the first. */
const OLD = `#!/bin/sh
while read -r line; do
  case $line in
  *initialize*) echo '{"jsonrpc":"2.0","id":1,"result":{"protocol":1,"version":"v0.0.9","root":"/","git":false,"store":"/none","warnings":[]}}' ;;
  *) echo '{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}' ;;
  esac
done
`;

flow(on, "a program that is missing or too old is said, and tried again when it is there", async () => {
  const dir = on.world.project("program", { "a.txt": "a\n" });
  const win = await on.editor.open(dir);
  const says = (words) => {
    const shown = win.page.locator(".welcome-view-content", { hasText: words });
    return until(async () => {
      if (await shown.isVisible()) return true;
      await win.page.locator(".welcome-view-content").locator("text=Try Again").click({ timeout: 1_000 }).catch(() => {});
      return false;
    }, 30_000);
  };
  await win.showTimeline();
  await says("The program rewind was not found");
  await picture(win, "missing");
  writeFileSync(program, OLD);
  chmodSync(program, 0o755);
  await says("too old for this extension");
  rmSync(program);
  symlinkSync(path.join(on.world.bin, "rewind"), program);
  await says("Nothing of this folder is recorded yet");
});
