// A real VS Code (code-server) in a real browser, in a home of its own. It listens on
// loopback only, and ends with this process.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

const here = import.meta.dirname;
export const EXTENSION = path.resolve(here, "../..");
export const INSTALLED = process.env.REWIND_EDITOR ?? path.join(here, "installed");
export const NODE = "node_modules/node/bin/node";

/** The browser: the one that CHROMIUM names, or the first that the path has. */
export function browser() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const dirs = (process.env.PATH ?? "").split(path.delimiter);
  for (const name of ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]) {
    const found = dirs.map((dir) => path.join(dir, name)).find((file) => existsSync(file));
    if (found) return found;
  }
  return undefined;
}

const freePort = () => new Promise((done) => {
  const s = createServer().listen(0, "127.0.0.1", () => {
    const { port } = s.address();
    s.close(() => done(port));
  });
});

const SETTINGS = {
  "security.workspace.trust.enabled": false, "workbench.startupEditor": "none", "telemetry.telemetryLevel": "off",
  "chat.disableAIFeatures": true, "workbench.tips.enabled": false, "git.openRepositoryInParentFolders": "never",
  "workbench.secondarySideBar.defaultVisibility": "hidden", "files.autoSave": "off", "window.commandCenter": false,
  "workbench.reduceMotion": "on", "editor.cursorBlinking": "solid", "editor.minimap.enabled": false, "window.restoreWindows": "none",
};

/** A home in which several windows can be opened, one after the other or beside each other. */
export class Editor {
  static async start({ settings = {}, machine = {}, env = {}, vsix } = {}) {
    const editor = new Editor();
    editor.home = mkdtempSync(path.join(tmpdir(), "vscode-"));
    editor.data = path.join(editor.home, "data");
    const extensions = path.join(editor.home, "extensions");
    mkdirSync(path.join(editor.data, "User"), { recursive: true });
    mkdirSync(path.join(editor.data, "Machine"));
    writeFileSync(path.join(editor.data, "Machine/settings.json"), JSON.stringify(machine));
    mkdirSync(extensions);
    editor.settings = { ...SETTINGS, ...settings };
    editor.configure({});
    const node = path.join(INSTALLED, NODE);
    const base = [path.join(INSTALLED, "node_modules/code-server/out/node/entry.js"), "--user-data-dir", editor.data, "--extensions-dir", extensions, "--disable-telemetry", "--disable-update-check"];
    const clean = { LANG: "C.UTF-8", HOME: editor.home, TMPDIR: tmpdir(), PATH: process.env.PATH, ...env };
    if (vsix) execFileSync(node, [...base, "--install-extension", vsix], { env: clean, stdio: "pipe" });
    else {
      const m = JSON.parse(readFileSync(path.join(EXTENSION, "package.json"), "utf8"));
      symlinkSync(EXTENSION, path.join(extensions, `${m.publisher}.${m.name}-${m.version}`));
    }
    editor.port = await freePort();
    const log = openSync(path.join(editor.home, "server.log"), "w");
    editor.serve = () => {
      editor.server = spawn(node, [...base, "--auth", "none", "--bind-addr", `127.0.0.1:${editor.port}`], { env: clean, stdio: ["ignore", log, log] });
    };
    editor.serve();
    const { chromium } = createRequire(path.join(INSTALLED, "package.json"))("playwright-core");
    editor.browser = await chromium.launch({ executablePath: browser(), args: ["--no-sandbox", "--disable-gpu"] });
    editor.context = await editor.browser.newContext(); // one for all windows, so that what the editor consists of is compiled once
    return editor;
  }

  /** Makes settings of the user, which open windows follow. */
  configure(settings) {
    Object.assign(this.settings, settings);
    writeFileSync(path.join(this.data, "User/settings.json"), JSON.stringify(this.settings));
  }

  /** Opens a folder, or a workspace file, in a window. */
  async open(folder, { width = 1280, height = 800 } = {}) {
    const page = await this.context.newPage();
    await page.setViewportSize({ width, height });
    const what = folder.endsWith(".code-workspace") ? "workspace" : "folder";
    const url = `http://127.0.0.1:${this.port}/?${what}=${encodeURIComponent(folder)}`;
    for (let i = 0; ; i++) {
      try {
        await page.goto(url);
        break;
      } catch (error) {
        if (i === 480) throw error;
        if (this.server.exitCode !== null) this.serve(); // on a busy machine its own parts lose patience with each other
        await new Promise((r) => setTimeout(r, 250));
      }
    }
    await page.waitForSelector(".monaco-workbench .activitybar .action-label", { timeout: 240_000 });
    this.window = new Window(page);
    return this.window;
  }

  /** What the extension has logged. */
  logs() {
    return readdirSync(this.data, { recursive: true }).filter((f) => f.endsWith("Rewind.log")).map((f) => readFileSync(path.join(this.data, f), "utf8")).join("");
  }

  async close() {
    await this.browser?.close();
    if (this.server && this.server.exitCode === null) {
      const gone = new Promise((r) => this.server.on("exit", r));
      this.server.kill();
      const timer = setTimeout(() => this.server.kill("SIGKILL"), 5_000);
      await gone;
      clearTimeout(timer);
    }
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** How long something may take on a busy machine; what is there is not waited for. */
export const TIMEOUT = 120_000;

/** What tests do in a window, as a person does it: by what is to be read on the screen. */
export class Window {
  constructor(page) {
    this.page = page;
    page.setDefaultTimeout(TIMEOUT);
  }

  async command(title) {
    await this.typeInto("F1", `>${title}`);
    await this.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: title.replace(/^.*?: /, "") }).first().waitFor();
    await this.page.keyboard.press("Enter");
  }

  async showTimeline() {
    const pane = this.page.locator(".activitybar .action-label[aria-label^='Rewind']");
    await pane.waitFor();
    const heading = this.page.locator(".sidebar h2", { hasText: "Rewind: Timeline" });
    if (!(await heading.isVisible())) await pane.click();
    await heading.waitFor();
  }

  /** The row of the timeline with a text. */
  row(text) {
    return this.page.locator(".tree-explorer-viewlet-tree-view .monaco-list-row").filter({ hasText: text }).first();
  }

  rows() {
    return this.page.locator(".tree-explorer-viewlet-tree-view .monaco-list-row").allInnerTexts();
  }

  /** Opens a row. It is looked up each time, since rows take the places of others when the view changes. */
  async expand(text) {
    await this.row(text).waitFor();
    for (const end = Date.now() + TIMEOUT; ; ) {
      const open = await this.row(text).getAttribute("aria-expanded");
      if (open === "true") return;
      if (Date.now() > end) throw new Error(`the row ${text} does not open`);
      if (open === "false") await this.row(text).locator(".monaco-tl-twistie").click();
      await this.page.waitForTimeout(500);
    }
  }

  /** Chooses from the context menu of a row. */
  async menu(text, entry) {
    const item = this.page.locator(".monaco-menu .action-label", { hasText: entry }).first();
    // A menu takes no click in its first moments, and closes by itself where another part takes the focus, as a picture
    // does when it is loaded.
    let clicked = false;
    for (let opened = 0; !clicked && opened < 5; opened++) {
      await this.row(text).click({ button: "right" });
      if (!(await item.waitFor({ timeout: TIMEOUT / 5 }).then(() => true, () => false))) continue;
      for (let tries = 0; tries < 20 && (await item.isVisible()); tries++) {
        clicked = await item.click({ timeout: 2_000 }).then(() => true, () => clicked);
        await this.page.waitForTimeout(200);
      }
    }
    if (!clicked) throw new Error(`the menu of ${text} has no entry ${entry} to click`);
  }

  /** The open list of choices: its title, its placeholder and its rows. */
  async list(title) {
    await this.page.locator(".quick-input-widget .quick-input-title", { hasText: title }).waitFor();
    await this.page.locator(".quick-input-list .monaco-list-row").first().waitFor();
    return {
      title: await this.page.locator(".quick-input-title").innerText(),
      placeholder: await this.page.locator(".quick-input-widget input.input").getAttribute("placeholder"),
      rows: (await this.page.locator(".quick-input-list .monaco-list-row").allInnerTexts()).map((t) => t.replace(/\s+/g, " ").trim()),
    };
  }

  /** Types into the box that has a title. */
  async answer(title, text) {
    await this.page.locator(".quick-input-widget .quick-input-title", { hasText: title }).waitFor();
    await this.page.locator(".quick-input-widget input.input").fill(text);
    await this.page.keyboard.press("Enter");
  }

  /** Types at the beginning of the active editor. */
  async type(text) {
    await this.page.keyboard.press("Control+1");
    await this.page.locator(".editor-group-container.active .monaco-editor.focused").first().waitFor();
    await this.page.keyboard.press("Control+Home");
    await this.page.keyboard.type(text);
  }

  /** Puts the cursor on a line of the active editor. */
  async goTo(line) {
    const there = this.page.locator(".statusbar-item", { hasText: `Ln ${line},` });
    for (let tries = 0; ; tries++) {
      await this.page.keyboard.press("Control+1"); // into the editor, which takes no key before it is ready
      await this.page.keyboard.press("Control+Home");
      for (let i = 1; i < line; i++) await this.page.keyboard.press("ArrowDown");
      try {
        return await there.waitFor({ timeout: 3_000 });
      } catch (error) {
        if (tries === 5) throw error;
      }
    }
  }

  /** What an extension has written behind a line. */
  async behind(line) {
    return this.page.evaluate((n) => {
      const lines = [...document.querySelectorAll(".editor-group-container.active .view-line")].sort((a, b) => parseInt(a.style.top) - parseInt(b.style.top));
      const marks = [...(lines[n - 1]?.querySelectorAll("span") ?? [])].map((s) => getComputedStyle(s, "::after").content).filter((c) => c !== "none" && c !== "normal");
      return marks.map((c) => c.replace(/^"|"$/g, "").replace(/\u00a0/g, " ")).join("");
    }, line);
  }

  async pick(text) {
    await this.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: text }).first().click();
  }

  async message(text) {
    const toast = this.page.locator(".notification-toast").filter({ hasText: text }).first();
    await toast.waitFor();
    return toast;
  }

  async dismiss() {
    await this.command("Notifications: Clear All Notifications");
    await this.page.locator(".notification-toast").first().waitFor({ state: "hidden" }).catch(() => {});
  }

  status() {
    return this.page.locator(".statusbar-item[id$='rewind']").first();
  }

  async openFile(name) {
    await this.typeInto("Control+P", name);
    await this.page.locator(".quick-input-list .monaco-list-row").filter({ hasText: path.basename(name) }).first().click();
    await this.page.locator(".tab.active", { hasText: path.basename(name) }).waitFor();
  }

  /** Opens a box by a key and fills it; once more if something took the focus away. */
  async typeInto(key, text) {
    const input = this.page.locator(".quick-input-widget input.input");
    for (let tries = 0; ; tries++) {
      await this.page.keyboard.press(key);
      try {
        await input.waitFor({ timeout: 3_000 });
        await input.fill(text, { timeout: 3_000 });
        return;
      } catch (error) {
        if (tries === 3) throw error;
        await this.page.keyboard.press("Escape");
      }
    }
  }

  async picture(file) {
    await this.page.screenshot({ path: file });
  }

  async close() {
    await this.page.close();
  }
}
