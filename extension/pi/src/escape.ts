// Esc Esc opens the browser, where the user wants it and Pi allows it.

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { keyName } from "./keys.ts";

const WITHIN_MS = 500;

/** Listens for Esc Esc on an empty, idle editor; returns how to stop. */
export function onEscEsc(pi: ExtensionAPI, ctx: ExtensionContext): () => void {
  // Pi before 0.84.2 would send the command to the model; it has no settings for extensions either.
  if (ctx.mode !== "tui" || typeof pi.getSettings !== "function") return () => {};
  let first = 0;
  return ctx.ui.onTerminalInput((data) => {
    if (keyName(data) !== "escape" || !ctx.isIdle() || ctx.ui.getEditorText() !== "") {
      first = 0;
      return undefined;
    }
    const now = Date.now();
    if (now - first > WITHIN_MS) {
      first = now;
      return undefined;
    }
    first = 0;
    pi.sendUserMessage("/rewind", { expandPromptTemplates: true });
    return { consume: true };
  });
}
