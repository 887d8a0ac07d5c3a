// What a session is in the middle of. It is one thing at a time: nothing, a run
// of the agent, or a move to another place in the conversation.

import type { FileState } from "./ledger.ts";

type Doing =
  | { is: "rest" }
  | { is: "run" }
  /** asked: nobody has to be asked about the files any more. files: what the move did to them. */
  | { is: "move"; asked: boolean; files: FileState | undefined };

export class Activity {
  private doing: Doing = { is: "rest" };
  private readonly write: (files: FileState) => void;

  /** write puts into the ledger what a move did to the files. */
  constructor(write: (files: FileState) => void) {
    this.write = write;
  }

  /** Whether the agent runs, as far as its events have come through. */
  get running(): boolean {
    return this.doing.is === "run";
  }

  /** Whether a move is under way that the user has been asked about. */
  get asked(): boolean {
    return this.doing.is === "move" && this.doing.asked;
  }

  runBegins(): void {
    this.settle();
    this.doing = { is: "run" };
  }

  runEnds(): void {
    if (this.doing.is === "run") this.doing = { is: "rest" };
  }

  /** A move begins. What it did to the files is written when it has arrived. */
  moves(files: FileState | undefined, asked = false): void {
    this.doing = { is: "move", asked, files };
  }

  /** The move is through; returns what it did to the files. */
  arrived(): FileState | undefined {
    const files = this.doing.is === "move" ? this.doing.files : undefined;
    if (this.doing.is === "move") this.doing = { is: "rest" };
    return files;
  }

  /** Writes down a move that changed files and never got through, or was not told of. */
  settle(): void {
    const files = this.arrived();
    if (files?.undo) this.write(files);
  }
}
