--- The buffer of :Rewind: conversations, their prompts, and the files of each.
local change = require('rewind.change')
local names = require('rewind.names')
local past = require('rewind.past')
local server = require('rewind.server')
local text = require('rewind.text')

local M = {}

--- Snapshots that are asked for at once; the last line of the buffer asks for more.
M.page = 200

local views = {} -- by buffer

local keys = {
  { '<CR>', 'on a file: compare it with the one before; else open or close the fold', 'enter' },
  { '<Tab>', 'open or close the fold', 'fold' },
  { 'dd', 'compare with the one before: the file, or all of the turn', 'diff_before' },
  { 'dn', 'compare with the files as they are now', 'diff_now' },
  { '=', 'the same as dd, as a patch below', 'patch' },
  { 'o', 'open the file as it is now', 'open_now' },
  { 'O', 'open the file as the snapshot has it', 'open_then' },
  { 'r', 'restore the file, or all files of the snapshot', 'restore' },
  { 'X', 'take back what this turn changed, and keep the rest', 'revert' },
  { 'u', 'undo the last restore', 'undo' },
  { '<C-r>', 'redo', 'redo' },
  { 's', 'record the files now', 'snapshot' },
  { 'y', 'yank the id', 'yank' },
  { 'gl', 'only what changed this file; again: all', 'only' },
  { 'gr', 'read the list again', 'reload' },
  { ']]', 'the next prompt', 'next' },
  { '[[', 'the one before', 'previous' },
  { 'q', 'close', 'close' },
  { 'g?', 'these keys', 'help' },
}

local function draw(v)
  text.render(v)
  local old = v.drawn and vim.api.nvim_win_get_buf(0) == v.buf and vim.fn.winsaveview()
  local row = old and v.shown and v.shown[old.lnum]
  vim.bo[v.buf].modifiable = true
  vim.api.nvim_buf_set_lines(v.buf, 0, -1, false, v.text)
  vim.bo[v.buf].modifiable, vim.bo[v.buf].modified = false, false
  v.shown, v.drawn = v.rows, true
  if old then
    for i, other in pairs(v.rows) do -- stay at what was chosen
      if row and row.record and other.record and other.record.id == row.record.id and other.path == row.path then
        old.lnum = i
        break
      end
    end
    old.lnum = math.min(old.lnum, #v.text)
    vim.fn.winrestview(old)
  end
end

-- Asks for the next snapshots of the list.
local function more(v)
  local last = v.records[#v.records]
  local got = server.ask(v.root, 'list', { changes = true, limit = M.page, older = last and last.id or nil, paths = v.path and { names.literal(v.path) } or nil }).snapshots
  vim.list_extend(v.records, got)
  local lines = 0 -- what one restore recorded is one line, however many records it has
  for _, r in ipairs(got) do
    lines = lines + (r.of_restore and 0 or 1)
  end
  v.more = #got > 0 and #got >= M.page and lines > 0
end

-- Asks, without waiting, what is not recorded.
local function compare_now(v)
  if #v.records == 0 then
    return
  end
  server.request(v.root, 'diff', { format = 'stat', paths = v.path and names.utf8(v.path) and { names.literal(v.path) } or nil }, function(why, result)
    if not why and vim.api.nvim_buf_is_valid(v.buf) then
      local before = v.now and #v.now or 0
      v.now = result.changes
      if #v.now > 0 or before > 0 then
        if vim.api.nvim_get_current_buf() == v.buf then
          draw(v)
        else
          vim.api.nvim_buf_call(v.buf, function() draw(v) end)
        end
      end
    end
  end)
end

local function reload(v)
  v.records = {}
  more(v)
  draw(v)
  compare_now(v)
end

--- The level of a line's fold: 'foldexpr'.
function M.level(lnum)
  local v = views[vim.api.nvim_get_current_buf()]
  return v and v.level[lnum] or 0
end

local function view() return views[vim.api.nvim_get_current_buf()] end

local function row()
  return view().rows[vim.api.nvim_win_get_cursor(0)[1]] or {}
end

-- The snapshot of the line, by whole id.
local function record()
  return row().record or server.fail('there is no snapshot on this line')
end

-- The path of the line, nil on a line of a whole snapshot.
local function paths()
  local r = row()
  if not r.path then
    return nil
  end
  local list = { r.path }
  if r.file.from then
    list[2] = names.bytes(r.file.from)
  end
  return list
end

local acts = {}
M.acts = acts

function acts.fold()
  if vim.fn.foldlevel('.') > 0 then
    vim.cmd('normal! za')
  end
end

function acts.enter()
  local r = row()
  if r.more then
    acts.go_on()
  elseif r.path then
    acts.diff_before()
  else
    acts.fold()
  end
end

function acts.go_on()
  local v = view()
  more(v)
  draw(v)
end

local function whole(v, from, to)
  past.compare_all(v.root, from, to, server.ask(v.root, 'diff', { from = from, to = to }).changes)
end

function acts.diff_before()
  local r, v = row(), view()
  if r.file and not r.record then -- what is not recorded
    return past.compare(v.root, acts.here(v), nil, r.path, r.file.from and names.bytes(r.file.from))
  elseif r.now then
    return past.compare_all(v.root, acts.here(v), nil, v.now)
  end
  local at = record()
  local base = past.base(v.root, at)
  if r.file and not r.file.dir then
    return past.compare(v.root, base, at.id, r.path, r.file.from and names.bytes(r.file.from))
  end
  past.compare_all(v.root, base, at.id, server.ask(v.root, 'show', { id = at.id }).changes)
end

-- Where the files stand.
function acts.here(v)
  for _, r in ipairs(v.records) do
    if r.here then
      return r.id
    end
  end
  return server.ask(v.root, 'status').here or '@'
end

function acts.diff_now()
  local r, v = row(), view()
  if r.now or r.file and not r.record then
    return acts.diff_before()
  end
  if r.file and not r.file.dir then
    return past.compare(v.root, record().id, nil, r.path)
  end
  whole(v, record().id)
end

function acts.patch()
  local r, v = row(), view()
  local from, to
  if r.now or r.file and not r.record then
    from = acts.here(v)
  else
    from, to = past.base(v.root, record()), record().id
    if not from then
      server.fail('it is the first snapshot: there is none before it')
    end
  end
  local list = paths()
  local patch = server.ask(v.root, 'diff', { from = from, to = to, format = 'patch', maxBytes = 4 * 1048576, paths = list and vim.tbl_map(names.literal, list) or nil })
  vim.cmd('botright new')
  local buf = vim.api.nvim_get_current_buf()
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'nofile', 'wipe', false
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(patch.patch:gsub('\n$', ''), '\n'))
  if patch.truncated then
    vim.api.nvim_buf_set_lines(buf, -1, -1, false, { '… it goes on: rewind diff shows all' })
  end
  vim.bo[buf].filetype, vim.bo[buf].modifiable = 'diff', false
  vim.keymap.set('n', 'q', '<cmd>close<CR>', { buffer = buf, nowait = true })
end

function acts.open_now()
  local v, r = view(), row()
  if r.path then
    vim.cmd('split')
    past.edit(v.root, r.path)
  end
end

function acts.open_then()
  local v, r = view(), row()
  if r.path then
    vim.cmd('sbuffer ' .. past.buffer(v.root, r.record and r.record.id or acts.here(v), r.path))
  end
end

function acts.restore()
  local r, v = row(), view()
  local id = r.record and r.record.id or (r.now or r.file) and acts.here(v)
  change.restore(v.root, id or record().id, paths())
end

function acts.revert() change.revert(view().root, record().id, paths()) end
function acts.undo() change.undo(view().root) end
function acts.redo() change.redo(view().root) end

function acts.snapshot()
  local label = vim.fn.input('Label (none: just ENTER): ')
  change.snapshot(view().root, label)
end

function acts.yank()
  local id = record().id
  vim.fn.setreg(vim.v.register, id)
  vim.notify('rewind: yanked ' .. id)
end

function acts.only()
  local v = view()
  v.path = not v.path and (row().path or server.fail('there is no file on this line')) or nil
  reload(v)
end

function acts.reload() reload(view()) end

local function jump(step)
  local v, at = view(), vim.api.nvim_win_get_cursor(0)[1]
  for i = at + step, step > 0 and #v.text or 1, step do
    local r = v.rows[i]
    if r and r.record and not r.path then
      vim.api.nvim_win_set_cursor(0, { i, 0 })
      return vim.cmd('silent! normal! zv')
    end
  end
end

acts['next'] = function() jump(1) end
function acts.previous() jump(-1) end

function acts.close()
  if #vim.api.nvim_list_wins() > 1 then
    vim.cmd('close')
  else
    vim.cmd('bdelete')
  end
end

function acts.help()
  local lines = {}
  for _, k in ipairs(keys) do
    lines[#lines + 1] = ('%-6s %s'):format(k[1], k[2])
  end
  vim.api.nvim_echo({ { table.concat(lines, '\n') .. '\n:help rewind has more' } }, false, {})
end

local function set_up(v, guard)
  local buf = v.buf
  vim.bo[buf].buftype, vim.bo[buf].swapfile, vim.bo[buf].bufhidden, vim.bo[buf].undolevels = 'nofile', false, 'hide', -1
  for _, k in ipairs(keys) do
    vim.keymap.set('n', k[1], function() guard(acts[k[3]]) end, { buffer = buf, nowait = true, silent = true, desc = k[2] })
  end
  local group = vim.api.nvim_create_augroup('rewind_' .. buf, {})
  vim.api.nvim_create_autocmd('CursorMoved', { group = group, buffer = buf, callback = function()
    if row().more then
      guard(acts.go_on)
    end
  end })
  vim.api.nvim_create_autocmd('User', { group = group, pattern = 'RewindChanged', callback = function()
    if vim.api.nvim_buf_is_loaded(buf) then
      guard(function() vim.api.nvim_buf_call(buf, function() reload(v) end) end)
    end
  end })
  vim.api.nvim_create_autocmd('BufWipeout', { group = group, buffer = buf, callback = function()
    views[buf] = nil
    vim.api.nvim_del_augroup_by_id(group)
  end })
  vim.bo[buf].filetype = 'rewind'
end

-- How a window shows a timeline.
local function dress()
  vim.cmd("setlocal foldmethod=expr foldexpr=v:lua.require'rewind.timeline'.level(v:lnum) foldtext=getline(v:foldstart) foldlevel=1 foldenable")
  vim.cmd('setlocal fillchars=fold:\\  nowrap nonumber norelativenumber nolist nospell cursorline')
end

--- Opens the timeline of a worktree; with a path only what changed it.
function M.open(root, path, buf)
  local own = not buf
  buf = buf or vim.fn.bufadd(names.uri(root))
  local v = views[buf] or { buf = buf, root = root, records = {} }
  v.path = path
  v.records = {}
  more(v) -- before anything is shown: what fails leaves the windows as they are
  if own and vim.api.nvim_get_current_buf() ~= buf then
    local win = vim.fn.bufwinid(buf)
    if win ~= -1 then
      vim.api.nvim_set_current_win(win)
    else
      views[buf] = v
      vim.cmd('noautocmd keepalt botright sbuffer ' .. buf)
    end
  end
  if not v.drawn then
    views[buf] = v
    set_up(v, require('rewind').guard)
  end
  draw(v)
  dress()
  for i = 1, #v.text do
    if v.rows[i] and v.rows[i].record then
      vim.api.nvim_win_set_cursor(0, { i, 0 })
      break
    end
  end
  compare_now(v)
end

return M
