// How the views look: in each kind of theme, and in a narrow window.

import assert from "node:assert/strict";
import { flow, picture, shop, stage } from "./kit.mjs";

const on = stage();

/** The contrast of a text with what is behind it, from 1 to 21 (WCAG 2.1, "contrast ratio"). */
const contrast = (locator) => locator.evaluate((element) => {
  const parts = (color) => color.match(/[\d.]+/g).map(Number);
  const light = (color) => {
    const [r, g, b] = parts(color).map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let behind = element;
  while (behind.parentElement && (parts(getComputedStyle(behind).backgroundColor)[3] ?? 1) === 0) behind = behind.parentElement;
  const [a, b] = [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor].map(light);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
});

for (const theme of ["Light Modern", "Dark Modern", "Default High Contrast", "Default High Contrast Light"]) {
  const name = theme.toLowerCase().replaceAll(" ", "-");
  flow(on, `the timeline and the list of a restore can be read in ${theme}`, async () => {
    const dir = shop(on.world, name);
    on.editor.configure({ "workbench.colorTheme": theme });
    const win = await on.editor.open(dir);
    await win.showTimeline();
    await win.expand("Remove the old module");
    await win.row("README.md").waitFor();
    const dark = await win.page.evaluate(() => document.querySelector(".monaco-workbench").className);
    assert.match(dark, /Contrast Light/.test(theme) ? /hc-light/ : /Contrast/.test(theme) ? /hc-black/ : /Dark/.test(theme) ? /vs-dark/ : /\bvs\b/);
    for (const text of ["Add a discount to the cart", "README.md", "logo.png"]) {
      const got = await contrast(win.row(text).locator(".label-name").first());
      assert.ok(got >= 4.5, `${text}: ${got.toFixed(1)}`);
    }
    await win.menu("Remove the old module", "Restore to Before This…");
    await win.list("3 written");
    await picture(win, name);
  });
}

flow(on, "in a narrow window the rows and a difference are there", async () => {
  const dir = shop(on.world, "narrow");
  on.editor.configure({ "workbench.colorTheme": "Light Modern" });
  const win = await on.editor.open(dir, { width: 560, height: 800 });
  await win.showTimeline();
  await win.expand("Remove the old module");
  assert.match(await win.row("Remove the old module").getAttribute("aria-label"), /3 files/);
  await win.row("README.md").click();
  await win.page.locator(".editor.modified .view-line", { hasText: "The old module is gone." }).waitFor();
  await picture(win, "narrow");
});
