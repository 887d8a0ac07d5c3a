// Files of snapshots as read-only documents: text, images, whatever they are.

import * as vscode from "./editor.ts";
import { say } from "./messages.ts";
import { LAST_TURN, NOTHING, placeOf, type Place, SCHEME } from "./place.ts";
import { RewindError } from "./server.ts";
import type { Worktree } from "./worktree.ts";
import type { Worktrees } from "./worktrees.ts";

/** The editor shows no larger ones either, and all of one is in memory. */
const MOST = 64 << 20;
/** How many bytes are remembered, beside what was read last. */
const KEPT = 64 << 20;

/** An editor asks several times for a file that it cannot have, and says nothing of why itself. */
const ONCE_IN_MS = 5_000;

const NO_SNAPSHOT = 3;

interface Part {
  data: string;
  more?: boolean;
}

export class Documents implements vscode.FileSystemProvider, vscode.FileDecorationProvider {
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;
  private readonly worktrees: Worktrees;
  private readonly kept = new Map<string, Promise<Uint8Array>>();
  private readonly sizes = new Map<string, number>();
  private readonly said = new Map<string, number>();
  private told = 1;
  /** Which snapshot LAST_TURN is in a worktree. */
  lastTurn: (worktree: Worktree) => Promise<string | undefined> = async () => undefined;

  constructor(worktrees: Worktrees) {
    this.worktrees = worktrees;
  }

  static register(worktrees: Worktrees): { documents: Documents; subscription: vscode.Disposable } {
    const documents = new Documents(worktrees);
    const subscription = vscode.Disposable.from(
      vscode.workspace.registerFileSystemProvider(SCHEME, documents, { isReadonly: true, isCaseSensitive: true }),
      vscode.window.registerFileDecorationProvider(documents),
    );
    return { documents, subscription };
  }

  /** Says that documents have other contents now. */
  tell(uris: vscode.Uri[]): void {
    this.told = Date.now();
    if (uris.length > 0) this.changed.fire(uris.map((uri) => ({ type: vscode.FileChangeType.Changed, uri })));
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => {});
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const place = this.place(uri);
    const size = (await this.bytes(place, uri)).length;
    return { type: vscode.FileType.File, ctime: 0, mtime: place.id === LAST_TURN ? this.told : 0, size, permissions: vscode.FilePermission.Readonly };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    return this.bytes(this.place(uri), uri);
  }

  /** Whether a file is there, without reading all of it. */
  async has(worktree: Worktree, id: string, path: string): Promise<boolean> {
    return worktree.server.request("cat", { id, path, maxBytes: 1 }).then(() => true, () => false);
  }

  readDirectory(): never {
    throw vscode.FileSystemError.NoPermissions("a snapshot is shown file by file");
  }

  createDirectory(): never {
    throw readOnly();
  }

  writeFile(): never {
    throw readOnly();
  }

  delete(): never {
    throw readOnly();
  }

  rename(): never {
    throw readOnly();
  }

  /** The letters and colours of changes, as git has them. */
  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const status = uri.scheme === SCHEME ? placeOf(uri)?.status : undefined;
    const [name, colour] = { A: ["Added", "added"], D: ["Deleted", "deleted"], M: ["Modified", "modified"], T: ["Of another kind", "modified"] }[status ?? ""] ?? [];
    return name ? new vscode.FileDecoration(status, name, new vscode.ThemeColor(`gitDecoration.${colour}ResourceForeground`)) : undefined;
  }

  private place(uri: vscode.Uri): Place {
    const place = placeOf(uri);
    if (!place) throw vscode.FileSystemError.FileNotFound(uri);
    return place;
  }

  /** Forgets what was read longest ago, where all of it is too much. */
  private remember(key: string, length: number): void {
    this.sizes.set(key, length);
    let all = [...this.sizes.values()].reduce((sum, n) => sum + n, 0);
    for (const [old, size] of this.sizes) {
      if (all <= KEPT || old === key) return;
      this.sizes.delete(old);
      this.kept.delete(old);
      all -= size;
    }
  }

  private explain(why: string): void {
    const now = Date.now();
    if (now - (this.said.get(why) ?? 0) > ONCE_IN_MS) void say.error(why);
    this.said.set(why, now);
  }

  private async bytes(place: Place, uri: vscode.Uri): Promise<Uint8Array> {
    if (place.id === NOTHING) return new Uint8Array();
    const worktree = this.worktrees.atRoot(place.root);
    if (!worktree) throw vscode.FileSystemError.FileNotFound(`${place.path}: its folder is not open`);
    const id = place.id === LAST_TURN ? await this.lastTurn(worktree) : place.id;
    if (id === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    const key = JSON.stringify([place.root, id, place.path, place.path_b64]);
    let bytes = this.kept.get(key);
    if (!bytes) {
      bytes = read(worktree, id, place);
      this.kept.set(key, bytes);
      bytes.then(({ length }) => this.remember(key, length), () => this.kept.delete(key));
    }
    try {
      return await bytes;
    } catch (error) {
      if ((error as RewindError).code === NO_SNAPSHOT) throw vscode.FileSystemError.FileNotFound((error as Error).message);
      if (place.id !== LAST_TURN) this.explain((error as Error).message);
      throw vscode.FileSystemError.Unavailable((error as Error).message);
    }
  }
}

async function read(worktree: Worktree, id: string, place: Place): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  let offset = 0;
  const named = place.path_b64 ? { pathB64: place.path_b64 } : { path: place.path };
  for (;;) {
    const part = await worktree.server.request<Part>("cat", { id, ...named, offset });
    const bytes = Buffer.from(part.data, "base64");
    parts.push(bytes);
    offset += bytes.length;
    if (!part.more) return new Uint8Array(Buffer.concat(parts));
    const beyond = parts.length === 1 ? (await worktree.server.request<Part>("cat", { id, ...named, offset: MOST, maxBytes: 1 })).data !== "" : offset >= MOST;
    if (beyond) throw new RewindError(`${place.path} is larger than ${MOST >> 20} MB: "rewind cat" writes it out`, 1);
  }
}

function readOnly(): Error {
  return vscode.FileSystemError.NoPermissions("a snapshot cannot be changed");
}
