// rewind for OpenCode: a point before each prompt and one at the end of its turn.
// Each event is given to `rewind hook opencode`, which never fails. Nothing here
// runs in step with the program but what must be done before the model begins.
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { homedir } from "node:os"
import path from "node:path"

const names = process.platform === "win32" ? ["rewind.exe"] : ["rewind"]
const places = () => [...(process.env.PATH ?? "").split(path.delimiter), path.join(homedir(), "go/bin"), path.join(homedir(), ".local/bin"), "/usr/local/bin", "/opt/homebrew/bin"]

/** The program, or undefined. */
function find() {
  if (process.env.REWIND_BINARY) return process.env.REWIND_BINARY
  for (const dir of places()) for (const name of names) if (dir && existsSync(path.join(dir, name))) return path.join(dir, name)
}

/** What the hook is told. If it cannot be written down it is the directory alone: a point that knows less is better than none. */
function text(input) {
  try { return JSON.stringify(input) } catch { return JSON.stringify({ cwd: input.cwd }) }
}

/** Calls the hook and waits for its end without holding up the rest of the program. Never rejects: that would cost the user's message. */
function call(program, directory, event, input, tell) {
  return new Promise((resolve) => {
    const failed = (error) => { tell(`rewind: nothing was recorded: ${error.message}`); resolve() }
    try {
      const child = spawn(program, ["hook", "opencode", event], { cwd: directory, stdio: ["pipe", "ignore", "pipe"], windowsHide: true })
      let said = ""
      child.on("error", failed) // first of all: where no more files may be open there is nothing but that error, no pipes
      child.on("close", () => { if (said.trim()) tell(said.trim()); resolve() })
      child.stderr?.setEncoding("utf8").on("data", (part) => (said += part))
      child.stdin?.on("error", () => {}) // it has ended
      child.stdin?.end(text(input))
    } catch (error) { failed(error) }
  })
}

export const Rewind = async ({ directory, worktree, client }) => {
  const children = new Set() // sessions of sub-agents: they make no points of their own
  const where = worktree && worktree !== "/" ? worktree : directory
  const tell = (message) => {
    try { client?.tui?.showToast?.({ body: { message, variant: "warning" } })?.catch?.(() => {}) } catch {} // it must not cost more than the notice
  }
  const program = find()
  if (!program) {
    tell("rewind: the program was not found, so nothing is recorded: put it on PATH, or name it in REWIND_BINARY")
    return {}
  }
  const hook = (event, input) => call(program, where, event, { ...input, cwd: where }, tell)
  const ofMain = (session) => !children.has(session)
  /** What one hook of the plugin does: what goes wrong in it is told, and hinders nothing. */
  const safely = (does) => async (...args) => {
    try { await does(...args) } catch (error) { tell(`rewind: nothing was recorded: ${error.message}`) }
  }
  return {
    event: safely(async ({ event }) => {
      switch (event.type) {
        case "session.created":
          if (event.properties?.info?.parentID) children.add(event.properties.info.id)
          return
        case "session.idle":
          if (ofMain(event.properties?.sessionID)) await hook(event.type, event)
          return
        case "session.compacted":
          if (ofMain(event.properties?.sessionID)) await hook(event.type, event)
      }
    }),
    "chat.message": safely(async (input, output) => {
      if (ofMain(input.sessionID)) await hook("chat.message", { input, output: { message: { id: output.message?.id }, parts: output.parts?.filter((p) => !p.synthetic).map(({ type, text }) => ({ type, text })) } })
    }),
    "tool.execute.before": safely(async (input, output) => {
      await hook("tool.execute.before", { input: { ...input, sessionID: input.sessionID }, output: { args: output.args } })
    }),
    "tool.execute.after": safely(async (input) => {
      if (process.env.REWIND_HOOK_TOOLS) await hook("tool.execute.after", { input })
    }),
    "experimental.session.compacting": safely(async (input) => {
      if (ofMain(input.sessionID)) await hook("experimental.session.compacting", { input })
    }),
  }
}
