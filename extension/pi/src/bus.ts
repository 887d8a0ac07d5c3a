// What other extensions tell this one.

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const FORK_SOURCES = new Set(["fork-from-first"]);
const CHECKPOINT_SOURCES = new Set(["pi-custom-compaction"]);

export interface Told {
  /** The next fork keeps the files, without a dialog. */
  keepFilesAtNextFork(source: string): void;
  /** The entry gets the present state as its point. */
  bindEntry(entry: string): void;
}

/** Listens to the bus; messages of unknown form or sender are ignored. */
export function listen(pi: ExtensionAPI, told: Told): void {
  pi.events.on("rewind:fork-preference", (data) => {
    const { mode, source } = fields(data);
    if (mode === "conversation-only" && typeof source === "string" && FORK_SOURCES.has(source)) told.keepFilesAtNextFork(source);
  });
  pi.events.on("rewind:checkpoint-entry", (data) => {
    const { source, entryId } = fields(data);
    if (typeof source !== "string" || !CHECKPOINT_SOURCES.has(source)) return;
    if (typeof entryId === "string" && entryId !== "") told.bindEntry(entryId);
  });
}

function fields(data: unknown): Record<string, unknown> {
  return typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {};
}
