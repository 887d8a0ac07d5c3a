// What people are told. Names and prompts are anybody's: in a message of the editor
// they would be links, also such that run a command, and in a row of a list icons.

import * as vscode from "./editor.ts";
import { unlinked } from "./moments.ts";

export const say = {
  info: (text: string, ...buttons: string[]) => vscode.window.showInformationMessage(unlinked(text), ...buttons),
  warn: (text: string, ...buttons: string[]) => vscode.window.showWarningMessage(unlinked(text), ...buttons),
  error: (text: string, ...buttons: string[]) => vscode.window.showErrorMessage(unlinked(text), ...buttons),
};
