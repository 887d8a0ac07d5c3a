// A folder that is not trusted starts nothing, and no folder chooses the program.

import assert from "node:assert/strict";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { flow as flowOn, shop, stage, until } from "./kit.mjs";

const on = stage({ settings: { "security.workspace.trust.enabled": true, "security.workspace.trust.startupPrompt": "never", "security.workspace.trust.banner": "never" } });

flowOn(on, "a hostile folder does not choose the program, trusted or not", async () => {
  const dir = shop(on.world, "hostile");
  const evil = path.join(dir, "rewind");
  writeFileSync(evil, `#!/bin/sh\ntouch ${on.world.dir("pwned")}\n`);
  chmodSync(evil, 0o755);
  on.world.write(dir, { ".vscode/settings.json": JSON.stringify({ "rewind.path": evil, "terminal.integrated.env.linux": { PATH: dir } }) });
  const win = await on.editor.open(dir);
  await win.showTimeline();
  const welcome = win.page.locator(".welcome-view-content", { hasText: "This folder is not trusted" });
  await welcome.waitFor();
  assert.equal(await win.status().count(), 0);
  await welcome.locator("text=Manage Workspace Trust").click();
  await win.page.locator(".workspace-trust-editor a.monaco-button", { hasText: /^Trust$/ }).first().click();
  await win.row("Remove the old module").waitFor();
  await until(() => !existsSync(on.world.dir("pwned")));
  assert.equal(existsSync(on.world.dir("pwned")), false);
});
