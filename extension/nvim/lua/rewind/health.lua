--- :checkhealth rewind, by the interface of 0.7 and of later ones.
local M = {}

function M.check()
  local h = vim.health or require('health')
  local start, ok, warn, bad = h.start or h.report_start, h.ok or h.report_ok, h.warn or h.report_warn, h.error or h.report_error
  local server, names, past = require('rewind.server'), require('rewind.names'), require('rewind.past')
  local function sentence(why) return type(why) == 'table' and why.rewind or tostring(why) end
  start('rewind')
  local found, program = pcall(server.program)
  if not found then
    return bad(sentence(program))
  end
  ok('the program is ' .. program)
  local dir = names.standing(vim.fn.getcwd())
  local there, root = pcall(server.root, dir)
  if not there then
    return bad(('it does not answer in %s: %s'):format(dir, sentence(root)))
  end
  for _, s in ipairs(server.all()) do
    ok(('rewind %s serves %s, process %d'):format(s.version, s.root, s.pid))
  end
  local status = server.ask(root, 'status')
  if status.last_time then
    ok(('%d snapshots of %s, the last at %s'):format(status.snapshots, root, require('rewind.text').when(status.last_time)))
  else
    warn('nothing is recorded in ' .. root, { ':RewindSnapshot records it now', '`rewind setup` has your agents do it' })
  end
  for _, w in ipairs(status.warnings or {}) do
    warn(w)
  end
  if status.unfinished then
    warn('a restore was interrupted: the next command finishes it, :RewindUndo takes it back')
  end
  past.place()
end

return M
