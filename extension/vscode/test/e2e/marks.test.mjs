// Who wrote a line, and what the newest turn has changed: beside the text itself.

import assert from "node:assert/strict";
import { CART, flow as flowOn, picture, shop, stage, text, until } from "./kit.mjs";

const on = stage({ settings: { "rewind.blame.enabled": true, "git.enabled": false, "editor.hover.delay": 100 } });
const flow = (name, run) => flowOn(on, name, run);

flow("the end of the current line says which prompt brought it, and the pointer tells more", async () => {
  const dir = shop(on.world, "blame");
  const win = await on.editor.open(dir);
  await win.openFile("src/cart.ts");
  await win.goTo(2);
  const after = () => win.behind(2);
  await until(async () => /Add a discount to the cart · generic · \d\d:\d\d/.test(await after()));
  await win.goTo(1);
  await until(async () => /Before “Add a discount/.test(await win.behind(1)) && (await after()) === "");
  await win.goTo(2);
  await win.page.locator(".view-line", { hasText: "return prices" }).hover();
  const hover = win.page.locator(".monaco-hover", { hasText: "What it changed" });
  await hover.waitFor();
  await picture(win, "blame");
  await hover.locator("a", { hasText: "What it changed" }).click();
  await win.page.locator(".tab.active", { hasText: "“Add a discount to the cart” (2 files)" }).waitFor();

  // What is typed is nobody's yet, and of what is not saved nothing is said.
  await win.page.locator(".tab", { hasText: "cart.ts" }).click();
  await win.type("// mine\n");
  await until(async () => (await win.behind(1)) === "" && (await win.behind(2)) === "");
  await win.page.keyboard.press("Control+S");
  await win.goTo(1);
  await until(async () => (await win.behind(1)) === "not recorded yet");
  assert.match(text(dir, "src/cart.ts"), /^\/\/ mine\n/);
});

flow("the gutter shows what the newest turn has done, and follows the next one", async () => {
  const dir = shop(on.world, "gutter");
  const win = await on.editor.open(dir);
  await win.openFile("README.md");
  await win.page.locator(".dirty-diff-added").first().waitFor();
  await picture(win, "gutter");
  on.world.turn(dir, "gutter-1", "A title", { "src/cart.ts": CART });
  await win.page.locator(".dirty-diff-added").first().waitFor({ state: "detached" });
});
