// Where a file of a snapshot is: the parts of a `rewind:` URI, and paths of the
// worktree as the workspace sees them. Pure, so that odd names can be tried.

import path from "node:path";
import type { NamedPath } from "./records.ts";

export const SCHEME = "rewind";

/** The id of no snapshot, in which no file is: one side of what was added or deleted. */
export const NOTHING = "nothing";

/** The id that means the state before the newest turn, whichever that is. */
export const LAST_TURN = "last-turn";

export interface Place extends NamedPath {
  root: string;
  id: string;
  /** Git's letter, for the decoration of a row; no part of what the file is. */
  status?: string;
}

export interface UriParts {
  scheme: string;
  path: string;
  query: string;
}

/** The parts of the URI of a file of a snapshot. The path shows what it is, and gives it its language. */
export function partsOf(place: Place): UriParts {
  const query: Record<string, string> = { root: place.root, id: place.id, path: place.path };
  if (place.path_b64) query["b64"] = place.path_b64;
  if (place.status) query["status"] = place.status;
  return { scheme: SCHEME, path: `/${place.path}`, query: JSON.stringify(query) };
}

/** The place that a URI names; undefined if it is none. */
export function placeOf(uri: UriParts): Place | undefined {
  if (uri.scheme !== SCHEME) return undefined;
  try {
    const q = JSON.parse(uri.query) as Record<string, unknown>;
    const text = (name: string) => (typeof q[name] === "string" ? (q[name] as string) : undefined);
    const [root, id, name] = [text("root"), text("id"), text("path")];
    if (root === undefined || id === undefined || name === undefined) return undefined;
    const place: Place = { root, id, path: name };
    const [b64, status] = [text("b64"), text("status")];
    if (b64 !== undefined) place.path_b64 = b64;
    if (status !== undefined) place.status = status;
    return place;
  } catch {
    return undefined;
  }
}

/** A path that a request takes for itself, whatever characters it has. */
export function literal(name: string): string {
  return `:(literal)${name}`;
}

/** A worktree as a folder of the workspace shows it. */
export interface View {
  /** The root of the worktree, without links. */
  root: string;
  /** The folder, as the workspace names it, and without links. */
  folder: string;
  real: string;
}

/** The slash-separated path from the worktree's root to the folder: "" where they are the same. */
export function prefixOf(view: View, p: path.PlatformPath = path): string {
  return inside(view.root, view.real, p) ?? "";
}

/** The path of a file below the worktree's root; undefined if it is not there. */
export function relativeTo(view: View, file: string, p: path.PlatformPath = path): string | undefined {
  const shown = inside(view.folder, file, p);
  if (shown !== undefined) return [prefixOf(view, p), shown].filter(Boolean).join("/");
  return inside(view.root, file, p);
}

/** Where the workspace has a path of the worktree: below its folder if it can be. */
export function shownAt(view: View, name: string, p: path.PlatformPath = path): string {
  const prefix = prefixOf(view, p);
  if (prefix === "") return p.join(view.folder, ...name.split("/"));
  if (name.startsWith(`${prefix}/`)) return p.join(view.folder, ...name.slice(prefix.length + 1).split("/"));
  return p.join(view.root, ...name.split("/"));
}

function inside(dir: string, file: string, p: path.PlatformPath): string | undefined {
  const rel = p.relative(dir, file);
  if (rel === "") return "";
  if (rel === ".." || rel.startsWith(`..${p.sep}`) || p.isAbsolute(rel)) return undefined;
  return rel.split(p.sep).join("/");
}

/** Whether a path is another one, or lies below it. */
export function covers(dir: string, name: string): boolean {
  return dir === "" || name === dir || name.startsWith(`${dir}/`);
}
