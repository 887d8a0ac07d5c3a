// A project of a few files with a history of two sessions, for pictures.

import { execFileSync } from "node:child_process";
import { BINARY, Sandbox } from "./sandbox.ts";

/** The project; who asks for it closes it. */
export function story(): Sandbox {
  const box = new Sandbox("http://127.0.0.1:1");
  box.write("src/app.py", "from store import Store\n\n\ndef main():\n    print(Store().read())\n\n\nmain()\n");
  box.write("src/store.py", "class Store:\n    def read(self):\n        return 'all of it'\n");
  box.git("add", "-A");
  box.git("commit", "-q", "-m", "an app");
  box.write("notes.txt", "never added to git\n");
  box.rewind("snapshot", "-m", "before the agent");

  turn(box, "monday", "Let the store read a file", () => {
    box.write("src/store.py", "import json\n\n\nclass Store:\n    def __init__(self, path='store.json'):\n        self.path = path\n\n    def read(self):\n        with open(self.path) as file:\n            return json.load(file)\n");
  });
  turn(box, "monday", "Add a search box to the page", () => {
    box.write("src/search.py", "def search(items, words):\n    return [i for i in items if all(w in i for w in words)]\n");
    box.write("src/page.html", "<input type=search name=words>\n<ul id=found></ul>\n");
  });
  box.rewind("pin", "@", "search-works");
  turn(box, "tuesday", "Tidy up, and remove what is not needed", () => {
    box.remove("notes.txt");
    box.write("src/search.py", "def search(items, words):\n    found = []\n    for item in items:\n        if words in item:\n            found.append(item)\n    return found\n");
  });
  turn(box, "tuesday", "Explain the search in the README", () => {
    box.write("README.md", "seed\n\n## Search\n\nWords that all have to be there.\n");
  });
  box.write("src/app.py", "from store import Store\n\n\ndef main():\n    print(len(Store().read()))\n\n\nmain()\n");
  return box;
}

/** A turn of an agent, as its hooks tell of it. */
function turn(box: Sandbox, session: string, prompt: string, work: () => void): void {
  hook(box, "UserPromptSubmit", { session_id: session, prompt });
  work();
  hook(box, "Stop", { session_id: session });
}

function hook(box: Sandbox, event: string, what: object): void {
  const input = JSON.stringify({ ...what, hook_event_name: event, cwd: box.cwd });
  execFileSync(BINARY, ["hook", "claude", event], { cwd: box.repo, env: box.env, input, stdio: ["pipe", "pipe", "pipe"] });
}
