// A folder of the workspace with its worktree and its server.

import { existsSync, type FSWatcher, realpathSync, watch } from "node:fs";
import path from "node:path";
import * as vscode from "./editor.ts";
import { History } from "./history.ts";
import { partsOf, prefixOf, relativeTo, SCHEME, shownAt, type View } from "./place.ts";
import type { NamedPath, Status } from "./records.ts";
import { Server, type Trouble } from "./server.ts";

/** How long the store has to be quiet before it is looked at. */
const QUIET_MS = 150;

export interface Surroundings {
  program: () => string;
  tell: (message: string) => void;
  version: string;
}

export class Worktree implements vscode.Disposable {
  readonly folder: vscode.WorkspaceFolder;
  readonly server: Server;
  readonly past: History;
  status: Status | undefined;
  private readonly changed = new vscode.EventEmitter<void>();
  /** Something was recorded or restored, by whomever, or the server works again or not any more. */
  readonly onDidChange = this.changed.event;
  private view: View;
  private watcher: FSWatcher | undefined;
  private timer: NodeJS.Timeout | undefined;
  private told = "";

  constructor(folder: vscode.WorkspaceFolder, around: Surroundings) {
    this.folder = folder;
    const at = folder.uri.fsPath;
    this.view = { root: real(at), folder: at, real: real(at) };
    this.server = new Server({
      program: around.program, dir: at, client: `vscode ${around.version}`, tell: around.tell,
      changed: () => this.refresh(),
    });
    this.past = new History((method, params) => this.server.request(method, params), () => this.status?.here);
  }

  get name(): string {
    return this.folder.name;
  }

  /** The root of the worktree, as the server says it. */
  get root(): string {
    return this.view.root;
  }

  /** The path from the root to the folder; "" if it is the root. */
  get prefix(): string {
    return prefixOf(this.view);
  }

  get realFolder(): string {
    return this.view.real;
  }

  get trouble(): Trouble | undefined {
    return this.server.trouble;
  }

  /** Asks what there is, and watches for more. Does not throw: `trouble` says why nothing is known. */
  async look(): Promise<void> {
    try {
      const status = await this.server.request<Status>("status");
      this.view.root = this.server.info?.root ?? this.view.root;
      this.watch();
      this.status = status;
      const now = JSON.stringify([status.last, status.recorded, status.recorded_time, status.here, status.snapshots, status.undo, status.redo]);
      if (now === this.told) return;
      this.told = now;
      this.past.outdated();
      this.changed.fire();
    } catch {
      this.changed.fire();
    }
  }

  /** Takes for granted that everything may be different. */
  refresh(): void {
    this.past.outdated();
    this.told = "";
    this.changed.fire();
  }

  /** The file of a path of the worktree, in the folder where that is possible. */
  fileUri(name: string): vscode.Uri {
    return this.folder.uri.with({ path: vscode.Uri.file(shownAt(this.view, name)).path });
  }

  /** The file of a path as a snapshot has it. */
  snapshotUri(at: NamedPath, id: string, status?: string): vscode.Uri {
    return vscode.Uri.from(partsOf({ root: this.root, id, path: at.path, ...(at.path_b64 ? { path_b64: at.path_b64 } : {}), ...(status ? { status } : {}) }));
  }

  /** The path that a file has below the root; undefined if it is elsewhere, or no file. */
  pathOf(uri: vscode.Uri): string | undefined {
    if (uri.scheme === SCHEME || uri.scheme !== this.folder.uri.scheme) return undefined;
    return relativeTo(this.view, uri.fsPath);
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.watcher?.close();
    this.changed.dispose();
    void this.server.close();
  }

  /** The system tells when the store is written, so that nobody has to ask. Before there is a store, when the directory around it comes. */
  private watch(): void {
    const store = this.server.info?.store;
    if (!store || this.watcher) return;
    let dir = path.dirname(store);
    while (!existsSync(dir) && path.dirname(dir) !== dir) dir = path.dirname(dir);
    const name = dir === path.dirname(store) ? path.basename(store) : undefined;
    try {
      this.watcher = watch(dir, { persistent: false }, (_event, file) => {
        if (name && file !== null && file !== name) return;
        clearTimeout(this.timer);
        this.timer = setTimeout(() => {
          if (!name || !existsSync(store)) this.unwatch(); // another one may come, in another directory
          void this.look();
        }, QUIET_MS);
      });
      this.watcher.on("error", () => this.unwatch());
    } catch {
      this.watcher = undefined; // the views are as they were until they are refreshed
    }
  }

  private unwatch(): void {
    this.watcher?.close();
    this.watcher = undefined;
  }
}

function real(dir: string): string {
  try {
    return realpathSync(dir);
  } catch {
    return dir;
  }
}
