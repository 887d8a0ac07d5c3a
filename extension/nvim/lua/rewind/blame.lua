--- The prompt that brought the line under the cursor, as virtual text.
local names = require('rewind.names')
local past = require('rewind.past')
local server = require('rewind.server')

local M = {}
local space = vim.api.nvim_create_namespace('rewind_blame')
local shown = {} -- by buffer, while it is asked for

--- Bytes of a file above which no line of it is asked for.
M.limit = 8 * 1048576

-- Which line of the file on disk a line of the buffer is, nil if of none.
local function on_disk(b, buf, lnum)
  if not vim.bo[buf].modified then
    return lnum
  end
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  if b.tick ~= tick then
    local differ = (vim.text and vim.text.diff) or vim.diff
    local now = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n') .. '\n'
    b.tick, b.hunks = tick, differ(b.text, now, { result_type = 'indices' })
  end
  local off = 0
  for _, h in ipairs(b.hunks) do
    local first = h[4] == 0 and h[3] + 1 or h[3]
    if lnum < first then
      break
    end
    if lnum < first + h[4] then
      return nil
    end
    off = off + h[2] - h[4]
  end
  return lnum + off
end

--- What is known of a line: a sentence, and the id of the snapshot.
function M.line(buf, lnum)
  local b = shown[buf]
  if not b or not b.lines then
    return
  end
  local at = on_disk(b, buf, lnum)
  local line = at and b.lines[at]
  if not line then
    return 'not recorded yet'
  end
  if not line.snapshot then
    return 'not recorded yet'
  end
  local record = b.records[line.snapshot]
  local say = require('rewind.text')
  local what = record and say.describe(record) or ''
  return (line.older and 'or older: ' or '') .. (what ~= '' and what or line.snapshot:sub(1, 7)) .. (record and '  ' .. say.when(record.time) or ''), line.snapshot
end

local function show(buf)
  if not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  vim.api.nvim_buf_clear_namespace(buf, space, 0, -1)
  if vim.api.nvim_get_current_buf() ~= buf then
    return -- the cursor comes back with the next BufEnter, which asks again
  end
  local lnum = vim.api.nvim_win_get_cursor(0)[1]
  local text = M.line(buf, lnum)
  if text then
    vim.api.nvim_buf_set_extmark(buf, space, lnum - 1, 0, { virt_text = { { '  ' .. text, 'RewindBlame' } }, hl_mode = 'combine' })
  end
end

-- Asks who wrote the lines, without waiting.
local function ask(buf)
  local b = shown[buf]
  if not b or b.asked then
    return
  end
  local root, path = past.place(buf)
  if not path then
    server.fail('this buffer has no file of a worktree')
  end
  if vim.fn.getfsize(vim.api.nvim_buf_get_name(buf)) > M.limit then
    server.fail('the file is larger than %d MiB: rewind blame -L asks for some lines of it', M.limit / 1048576)
  end
  local function take(why, result)
    b.asked = false
    if why then
      M.off(buf)
      return vim.notify('rewind: ' .. names.printable(why), vim.log.levels.ERROR)
    end
    local text = {}
    b.lines, b.records, b.tick = {}, {}, nil
    for i, line in ipairs(result.lines) do
      b.lines[line.line], text[i] = line, line.text
    end
    for _, record in ipairs(result.snapshots) do
      b.records[record.id] = record
    end
    b.text = table.concat(text, '\n') .. '\n'
    show(buf)
  end
  if not names.utf8(path) then
    return take(nil, server.ask(root, 'blame', { path = path }))
  end
  b.asked = true
  server.request(root, 'blame', { path = path }, take)
end

function M.off(buf)
  if shown[buf] then
    vim.api.nvim_del_augroup_by_id(shown[buf].group)
    shown[buf] = nil
    if vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_clear_namespace(buf, space, 0, -1)
    end
  end
end

--- Shows it for a buffer, or hides it again.
function M.toggle(buf, guard)
  if shown[buf] then
    return M.off(buf)
  end
  local group = vim.api.nvim_create_augroup('rewind_blame_' .. buf, {})
  shown[buf] = { group = group }
  vim.api.nvim_create_autocmd('CursorMoved', { group = group, buffer = buf, callback = function() show(buf) end })
  vim.api.nvim_create_autocmd({ 'BufWritePost', 'BufReadPost', 'FileChangedShellPost', 'BufEnter', 'FocusGained' }, { group = group, buffer = buf, callback = function() guard(function() ask(buf) end) end })
  vim.api.nvim_create_autocmd('User', { group = group, pattern = 'RewindChanged', callback = function() guard(function() ask(buf) end) end })
  vim.api.nvim_create_autocmd({ 'BufUnload', 'BufWipeout' }, { group = group, buffer = buf, callback = function() M.off(buf) end })
  local ok, why = pcall(ask, buf)
  if not ok then
    M.off(buf)
    error(why, 0)
  end
end

return M
