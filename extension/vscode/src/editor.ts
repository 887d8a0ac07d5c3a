// The API of the editor. Each module that imports it by its own name would copy all of it as the extension is loaded.

export * from "vscode";
