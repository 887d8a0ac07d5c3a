--- The commands of rewind for Neovim: plugin/rewind.lua names them, doc/rewind.txt tells.
local M = {}

--- Runs a command and says in one sentence what went wrong.
function M.guard(f, ...)
  local ok, why = pcall(f, ...)
  if ok then
    return why
  end
  if type(why) == 'table' and why.rewind then
    vim.notify('rewind: ' .. why.rewind, vim.log.levels.ERROR)
  else
    vim.notify('rewind: ' .. tostring(why), vim.log.levels.ERROR)
  end
end

local function whole(root, id)
  return require('rewind.server').ask(root, 'show', { id = id }).id
end

M.commands = {}

function M.commands.Rewind(o)
  local past = require('rewind.past')
  local root = past.place()
  local path = o.fargs[1] and past.within(root, o.fargs[1])
  require('rewind.timeline').open(root, path ~= '.' and path or nil)
end

function M.commands.RewindDiff(o)
  require('rewind.past').diff(o.bang, o.fargs)
end

function M.commands.RewindRestore(o)
  local past, change, server = require('rewind.past'), require('rewind.change'), require('rewind.server')
  local root, path, own = past.place()
  local id = table.remove(o.fargs, 1) or own
  if o.range > 0 then
    if not path or own then
      server.fail('lines are put back in the buffer of a file of the worktree')
    end
    return change.lines_of(root, whole(root, id or '@'), path, o.line1, o.line2)
  end
  if not id then
    server.fail('which snapshot? :RewindRestore ID [PATH…], or r in :Rewind')
  end
  local paths = vim.tbl_map(function(p) return past.within(root, p) end, o.fargs)
  change.restore(root, id, #paths > 0 and paths or own and { path } or nil)
end

function M.commands.RewindRevert(o)
  local past = require('rewind.past')
  local root, _, own = past.place()
  require('rewind.change').revert(root, whole(root, o.fargs[1] or own or '@'))
end

function M.commands.RewindUndo() require('rewind.change').undo((require('rewind.past').place())) end
function M.commands.RewindRedo() require('rewind.change').redo((require('rewind.past').place())) end

function M.commands.RewindSnapshot(o)
  require('rewind.change').snapshot(require('rewind.past').place(), o.args)
end

function M.commands.RewindBlame()
  require('rewind.blame').toggle(vim.api.nvim_get_current_buf(), M.guard)
end

local function escaped(text) return (text:gsub('([ \\|])', '\\%1')) end

local function starting(list, lead)
  return vim.tbl_filter(function(word) return word:sub(1, #lead) == lead end, list)
end

--- Completes the id of a snapshot, and behind it paths that it would bring back.
function M.complete(lead, line)
  local ok, list = pcall(function()
    local past, server, names = require('rewind.past'), require('rewind.server'), require('rewind.names')
    local root = past.place()
    local command, rest = line:match('(%a+)!?%s+(.*)$')
    local before = rest:sub(1, #rest - #lead)
    local words = {}
    if before:find('%S') and command:find('RewindRestore') then
      local cwd = names.standing(vim.fn.getcwd())
      for _, c in ipairs(server.ask(root, 'plan', { id = before:match('%S+') }).changes or {}) do
        local path = root .. '/' .. names.bytes(c)
        if not path:find('%c') then
          words[#words + 1] = escaped(names.below(path, cwd) and path:sub(#cwd + 2) or path)
        end
      end
    else
      for _, r in ipairs(server.ask(root, 'list', { limit = 100 }).snapshots) do
        vim.list_extend(words, r.names or {})
        vim.list_extend(words, vim.tbl_map(function(p) return 'pin:' .. p end, r.pins or {}))
        words[#words + 1] = r.id:sub(1, 12)
      end
      table.insert(words, 1, '@')
    end
    return starting(words, lead)
  end)
  return ok and list or {}
end

return M
