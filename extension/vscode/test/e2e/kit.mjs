// What the tests in the editor share: one editor for a file of tests, a shop on which
// an agent has worked, and pictures.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { Editor, TIMEOUT } from "./editor.mjs";
import { World } from "./world.mjs";

export const CART = "export function total(prices: number[]): number {\n  return prices.reduce((sum, price) => sum + price, 0);\n}\n";
const RED = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAGUlEQVR4nGP4z8BAEmIgTfmohlENQ0oDAJiPAQ/CiVYpAAAAAElFTkSuQmCC";
const BLUE = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAGUlEQVR4nGNg+M9AGiJR+aiGUQ1DSgMAmJABDxHZgYkAAAAASUVORK5CYII=";

/** An editor and a world for the tests of a file. */
export function stage(options = {}) {
  const on = {};
  before(async () => {
    on.world = new World();
    if (options.prepare) Object.assign(options, options.prepare(on.world));
    on.editor = await Editor.start({ env: on.world.env, ...options, settings: { "workbench.colorTheme": "Light Modern", ...options.settings } });
  });
  after(async () => {
    await on.editor?.close();
    on.world?.remove();
  });
  return on;
}

/** A test, of which the last picture is kept if it fails. */
export function flow(on, name, run) {
  test(name, async (t) => {
    try {
      await run(t);
    } catch (error) {
      console.log(on.editor.logs());
      await on.editor.window?.picture(path.join(tmpdir(), `failed-${name.replace(/\W+/g, "-").slice(0, 40)}.png`));
      throw error;
    } finally {
      await on.editor.window?.close();
    }
  });
}

/** A real project with a shop in it, of which an agent has changed something in two turns. */
export function shop(world, name) {
  const dir = world.project(name, { "src/cart.ts": CART, "src/old.ts": "export {};\n", "README.md": "# Shop\n", "logo.png": Buffer.from(RED, "base64") }, true);
  world.turn(dir, `${name}-1`, "Add a discount to the cart", { "src/discount.ts": "export const discount = 0.1;\n" }, { "src/cart.ts": CART.replace("0);", "0) * 0.9;") });
  world.turn(dir, `${name}-1`, "Remove the old module and say so in the readme", { "src/old.ts": null, "README.md": "# Shop\n\nThe old module is gone.\n", "logo.png": Buffer.from(BLUE, "base64") });
  return dir;
}

export const text = (dir, name) => readFileSync(path.join(dir, name), "utf8");

/** Waits until something is so. */
export async function until(what, ms = TIMEOUT) {
  for (const end = Date.now() + ms; ; ) {
    if (await what()) return;
    if (Date.now() > end) assert.fail(`not within ${ms} ms: ${what}`);
    await new Promise((r) => setTimeout(r, 50));
  }
}

/** Keeps a picture for the docs. */
export async function picture(win, name) {
  if (process.env.PICTURES) await win.picture(path.join(process.env.PICTURES, `${name}.png`));
}
