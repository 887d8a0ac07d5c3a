--- What changes files: each first says what it would do, deletions first, and asks.
local names = require('rewind.names')
local past = require('rewind.past')
local server = require('rewind.server')

local M = {}

--- Paths of a plan that the question itself names; the others are a key away.
M.shown = 20

local function buffer_of(file)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if name ~= '' and vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and names.real(vim.fn.fnamemodify(name, ':p')) == file then
      return buf
    end
  end
end

-- The paths of changes whose buffers have text that is on no disk.
local function unsaved(root, changes)
  local open = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified and vim.bo[buf].buftype == '' and vim.api.nvim_buf_get_name(buf) ~= '' then
      open[names.real(vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':p'))] = true
    end
  end
  return vim.tbl_filter(function(c) return open[(root == '/' and '' or root) .. '/' .. names.bytes(c)] end, changes)
end

local verbs = { A = 'create', D = 'delete', T = 'change the type of' }

--- The lines that say what a plan does: what goes, what is written, what stays.
function M.lines(plan, open)
  local lines, held = {}, {}
  for _, c in ipairs(open or {}) do
    held[names.bytes(c)] = true
    lines[#lines + 1] = ('conflict   %s: its buffer has unsaved text, so it stays'):format(names.printable(names.bytes(c)))
  end
  for _, deletions in ipairs({ true, false }) do
    for _, c in ipairs(plan.changes or {}) do
      if (c.status == 'D') == deletions and not held[names.bytes(c)] then
        lines[#lines + 1] = ('%-10s %s'):format(verbs[c.status] or 'write', names.printable(names.bytes(c)))
      end
    end
  end
  for _, what in ipairs({ 'conflicts', 'marked', 'kept' }) do
    for _, note in ipairs(plan[what] or {}) do
      lines[#lines + 1] = ('%-10s %s: %s'):format(what == 'conflicts' and 'conflict' or what, names.printable(names.bytes(note)), names.printable(note.reason))
    end
  end
  return lines
end

-- Shows all lines in a window of their own.
local function show(lines)
  vim.cmd('botright new')
  local buf = vim.api.nvim_get_current_buf()
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'nofile', 'wipe', false
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.cmd('redraw')
  return vim.api.nvim_get_current_win()
end

-- Shows the lines and asks; whoever does not say yes has said no.
local function agreed(question, lines)
  local some = vim.list_slice(lines, 1, M.shown)
  local more = #lines > #some
  if more then
    some[#some + 1] = ('… and %d more'):format(#lines - #some)
  end
  local text = table.concat(some, '\n') .. '\n' .. question .. ' What is there now is recorded first.'
  vim.cmd('redraw')
  local answer = vim.fn.confirm(text, more and '&Yes\n&No\n&All of the list' or '&Yes\n&No', 2, 'Question')
  if answer == 3 then
    local win = show(lines)
    answer = vim.fn.confirm(question .. ' What is there now is recorded first.', '&Yes\n&No', 2, 'Question')
    pcall(vim.api.nvim_win_close, win, true)
  end
  vim.cmd('redraw')
  return answer == 1
end

-- Has unchanged buffers of files read again. One of a file that is gone keeps its text.
local function reload(root, changes)
  for _, c in ipairs(changes) do
    local buf = buffer_of((root == '/' and '' or root) .. '/' .. names.bytes(c))
    if buf and not vim.bo[buf].modified then
      local before = vim.api.nvim_get_option_value('autoread', {})
      vim.o.autoread = true
      vim.cmd('silent! checktime ' .. buf)
      vim.o.autoread = before
    end
  end
  vim.api.nvim_exec_autocmds('User', { pattern = 'RewindChanged', modeline = false })
end

local function tell(done, what, open)
  local lines = {}
  for _, c in ipairs(open) do
    lines[#lines + 1] = ('conflict: %s has unsaved text and is as it was'):format(names.printable(names.bytes(c)))
  end
  for _, kind in ipairs({ 'conflicts', 'marked' }) do
    for _, note in ipairs(done[kind] or {}) do
      lines[#lines + 1] = ('%s: %s: %s'):format(kind == 'marked' and 'both versions are in' or 'conflict', names.printable(names.bytes(note)), names.printable(note.reason))
    end
  end
  local sentence = 'nothing had to change'
  if done.undo then
    sentence = ('%s: %d written, %d deleted; %s takes it back'):format(what, done.written, done.deleted, what == 'undone' and ':RewindRedo' or ':RewindUndo')
  end
  table.insert(lines, 1, 'rewind: ' .. sentence)
  vim.cmd('redraw')
  vim.notify(table.concat(lines, '\n'), #lines > 1 and vim.log.levels.WARN or vim.log.levels.INFO)
end

-- Plans, asks, does and tells. `partly` is whether paths can be left out. What is done is
-- told the whole id that was planned: "@" may lead elsewhere by then.
local function carry_out(root, o)
  local plan = server.ask(root, o.plan, o.params)
  local open = unsaved(root, plan.changes or {})
  if #open > 0 and not o.partly then
    server.fail('%s has unsaved text, and %s would write that file: save or drop it first; nothing was changed', names.printable(names.bytes(open[1])), o.method)
  end
  if #open > 0 then
    local held, paths = {}, {}
    for _, c in ipairs(open) do
      held[names.bytes(c)] = true
    end
    for _, c in ipairs(plan.changes) do
      if not held[names.bytes(c)] then
        paths[#paths + 1] = names.literal(names.bytes(c))
      end
    end
    if #paths == 0 then
      server.fail('%s has unsaved text: save or drop it first; nothing was changed', names.printable(names.bytes(open[1])))
    end
    o.params = vim.tbl_extend('force', o.params, { paths = paths })
    plan = server.ask(root, o.plan, o.params)
  end
  local lines, count = M.lines(plan, open), #(plan.changes or {})
  if count == 0 then
    vim.notify('rewind: ' .. table.concat(vim.list_extend({ 'nothing has to change' }, lines), '\n'))
    return
  end
  if plan.branch and plan.here and plan.branch ~= plan.here then
    table.insert(lines, 1, ('recorded on branch %s; the present one is %s'):format(names.printable(plan.branch), names.printable(plan.here)))
  end
  if not agreed(('%s? It changes %s.'):format(o.question, count == 1 and '1 path' or count .. ' paths'), lines) then
    vim.notify('rewind: nothing was changed')
    return
  end
  if #unsaved(root, plan.changes) > 0 then
    server.fail('a buffer has unsaved text by now; nothing was changed')
  end
  local ok, done = pcall(server.ask, root, o.method, vim.tbl_extend('force', o.params, { plan = plan.plan, id = not o.params.ids and plan.id or nil }))
  reload(root, plan.changes) -- also of what failed half way
  if not ok then
    if type(done) == 'table' and done.rewind:find('^rewind serve ended') then
      server.fail('%s; it may be done in part: the next restore or snapshot finishes what was begun, :RewindUndo takes it back', done.rewind)
    end
    error(done, 0)
  end
  tell(done, o.what, open)
end

--- Restores a snapshot, or of it only paths (by themselves, no patterns).
function M.restore(root, id, paths)
  local params = { id = id }
  if paths and #paths > 0 then
    params.paths = vim.tbl_map(names.literal, paths)
  end
  carry_out(root, { plan = 'plan', method = 'restore', params = params, partly = true, what = 'restored ' .. id:sub(1, 12), question = 'Restore ' .. (paths and #paths == 1 and names.printable(paths[1]) .. ' of ' or '') .. id:sub(1, 12) })
end

--- Takes back what one snapshot changed, and keeps what was done since.
function M.revert(root, id, paths)
  local params = { ids = { id } }
  if paths and #paths > 0 then
    params.paths = vim.tbl_map(names.literal, paths)
  end
  carry_out(root, { plan = 'planRevert', method = 'revert', params = params, partly = true, what = 'taken back', question = 'Take back what ' .. id:sub(1, 12) .. ' changed' })
end

function M.undo(root)
  carry_out(root, { plan = 'planUndo', method = 'undo', params = {}, what = 'undone', question = 'Undo the last restore' })
end

function M.redo(root)
  carry_out(root, { plan = 'planRedo', method = 'redo', params = {}, what = 'redone', question = 'Redo what was undone' })
end

--- Puts lines FIRST to LAST of this buffer back, hunk by hunk, as a snapshot has them.
--- It edits the buffer and writes nothing: u takes it back.
function M.lines_of(root, id, path, first, last)
  local buf = vim.api.nvim_get_current_buf()
  local old = vim.api.nvim_buf_get_lines(past.buffer(root, id, path), 0, -1, false)
  local now = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local function text(lines) return #lines > 0 and table.concat(lines, '\n') .. '\n' or '' end
  local differ = (vim.text and vim.text.diff) or vim.diff
  local hunks, list = {}, {}
  for _, h in ipairs(differ(text(old), text(now), { result_type = 'indices' })) do
    local from, to = h[3], h[3] + math.max(h[4], 1) - 1
    if h[4] == 0 then -- lines that are gone lay behind this one
      to = from + 1
    end
    if from <= last and to >= first then
      table.insert(hunks, 1, h)
      for i = h[3], h[3] + h[4] - 1 do
        list[#list + 1] = '-' .. names.printable(now[i])
      end
      for i = h[1], h[1] + h[2] - 1 do
        list[#list + 1] = '+' .. names.printable(old[i])
      end
    end
  end
  if #hunks == 0 then
    vim.notify(('rewind: these lines are as %s has them'):format(id:sub(1, 12)))
    return
  end
  local question = ('Put %s back as %s has %s?'):format(#hunks == 1 and 'this hunk' or 'these ' .. #hunks .. ' hunks', id:sub(1, 12), #hunks == 1 and 'it' or 'them')
  local some = vim.list_slice(list, 1, M.shown)
  if #list > #some then
    some[#some + 1] = ('… and %d more lines'):format(#list - #some)
  end
  if vim.fn.confirm(table.concat(some, '\n') .. '\n' .. question .. ' The buffer is edited, not the file: u takes it back.', '&Yes\n&No', 2, 'Question') ~= 1 then
    vim.notify('rewind: nothing was changed')
    return
  end
  for _, h in ipairs(hunks) do -- the last first, so that numbers stay true
    local from = h[4] == 0 and h[3] or h[3] - 1
    vim.api.nvim_buf_set_lines(buf, from, from + h[4], false, vim.list_slice(old, h[1], h[1] + h[2] - 1))
  end
  vim.notify(('rewind: %s put back in the buffer; write it to keep it'):format(#hunks == 1 and '1 hunk' or #hunks .. ' hunks'))
end

--- Records the files now. What is in no file is said.
function M.snapshot(root, label)
  local got = server.ask(root, 'snapshot', { label = label ~= '' and label or nil, trigger = 'editor' })
  local open = 0
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified and vim.bo[buf].buftype == '' and name ~= '' and names.below(names.real(vim.fn.fnamemodify(name, ':p')), root) then
      open = open + 1
    end
  end
  local lines = { ('rewind: %s%s'):format(got.id:sub(1, 12), got.changed and (', %d changed'):format(got.changed) or '') }
  if open > 0 then
    lines[#lines + 1] = ('%d with unsaved text: recorded as on disk'):format(open)
  end
  for _, note in ipairs(got.unexpected or {}) do
    lines[#lines + 1] = ('not recorded: %s: %s'):format(names.printable(names.bytes(note)), names.printable(note.reason))
  end
  vim.notify(table.concat(lines, '\n'), #lines > 1 and vim.log.levels.WARN or vim.log.levels.INFO)
  vim.api.nvim_exec_autocmds('User', { pattern = 'RewindChanged', modeline = false })
end

return M
