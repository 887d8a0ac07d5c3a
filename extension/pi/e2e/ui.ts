// Draws the terminal interface for the README: the real program, on a history of two
// sessions of an agent.
//
//   node e2e/ui.ts ../../docs/ui.svg

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { BINARY, Sandbox } from "./sandbox.ts";
import { svg } from "./svg.ts";
import { Terminal } from "./terminal.ts";

const SIZE = { width: 118, height: 32 };

const box = new Sandbox("http://127.0.0.1:1");
box.write("src/app.py", "from store import Store\n\n\ndef main():\n    print(Store().read())\n\n\nmain()\n");
box.write("src/store.py", "class Store:\n    def read(self):\n        return 'all of it'\n");
box.git("add", "-A");
box.git("commit", "-q", "-m", "an app");
box.write("notes.txt", "never added to git\n");
box.rewind("snapshot", "-m", "before the agent");

turn("monday", "Let the store read a file", () => {
  box.write("src/store.py", "import json\n\n\nclass Store:\n    def __init__(self, path='store.json'):\n        self.path = path\n\n    def read(self):\n        with open(self.path) as file:\n            return json.load(file)\n");
});
turn("monday", "Add a search box to the page", () => {
  box.write("src/search.py", "def search(items, words):\n    return [i for i in items if all(w in i for w in words)]\n");
  box.write("src/page.html", "<input type=search name=words>\n<ul id=found></ul>\n");
});
box.rewind("pin", "@", "search-works");
turn("tuesday", "Tidy up, and remove what is not needed", () => {
  box.remove("notes.txt");
  box.write("src/search.py", "def search(items, words):\n    found = []\n    for item in items:\n        if words in item:\n            found.append(item)\n    return found\n");
});
turn("tuesday", "Explain the search in the README", () => {
  box.write("README.md", "seed\n\n## Search\n\nWords that all have to be there.\n");
});
box.write("src/app.py", "from store import Store\n\n\ndef main():\n    print(len(Store().read()))\n\n\nmain()\n");

const term = new Terminal([BINARY, "ui"], box, SIZE);
try {
  await term.until(/\? help/, "the interface");
  term.key("End", "Space"); // open the older session
  await term.until(/search-works/, "a pin");
  term.key("Home", "Down", "Down", "Down");
  await term.until(/notes\.txt/, "what the turn removed");
  term.key("2");
  await term.until(/┏━ What/, "the files");
  writeFileSync(process.argv[2] ?? "ui.svg", svg(term.coloured().trimEnd().split("\n"), SIZE.width));
} finally {
  await term.close();
  box.close();
}

/** A turn of an agent, as its hooks tell of it. */
function turn(session: string, prompt: string, work: () => void): void {
  hook("UserPromptSubmit", { session_id: session, prompt });
  work();
  hook("Stop", { session_id: session });
}

function hook(event: string, what: object): void {
  const input = JSON.stringify({ ...what, hook_event_name: event, cwd: box.cwd });
  execFileSync(BINARY, ["hook", "claude", event], { cwd: box.repo, env: box.env, input, stdio: ["pipe", "pipe", "pipe"] });
}
