--- Files of snapshots as buffers that cannot be written, and comparisons of them.
local names = require('rewind.names')
local server = require('rewind.server')

local M = {}

--- Bytes of a file above which no buffer shows it.
M.limit = 100 * 1048576

--- Files of a turn that are opened for comparison at once.
M.tabs = 10

--- The worktree and the path there of a buffer: of a file, of a file of a snapshot
--- (then its id too), or of a timeline.
function M.place(buf)
  buf = buf or vim.api.nvim_get_current_buf()
  local name = vim.api.nvim_buf_get_name(buf)
  local root, id, path = names.parse(name)
  if root then
    return root, path, id
  end
  if name == '' or vim.bo[buf].buftype ~= '' then
    return server.root(names.standing(vim.fn.getcwd()))
  end
  local file = names.real(vim.fn.fnamemodify(name, ':p'))
  root = server.root(names.standing(vim.fn.fnamemodify(file, ':h')))
  return root, names.below(file, root) and file:sub(#root == 1 and 2 or #root + 2) or nil
end

--- A path as somebody types it, as one of the worktree.
function M.within(root, text)
  if text == '%' then
    local _, path = M.place()
    return path or server.fail('this buffer has no file of %s', root)
  end
  local file = names.real(vim.fn.fnamemodify(text, ':p'))
  if file == root then
    return '.'
  end
  if not names.below(file, root) then
    server.fail('%s is not below %s', names.printable(text), root)
  end
  return file:sub(#root + 2)
end

-- Fills a buffer with bytes as the editor reads a file: its encoding, its line ends.
local function fill(buf, bytes)
  local file = vim.fn.tempname()
  local f = assert(io.open(file, 'wb'))
  f:write(bytes)
  f:close()
  vim.api.nvim_buf_call(buf, function()
    vim.cmd('silent keepalt keepjumps %delete _')
    vim.cmd('silent keepalt keepjumps 0read ++edit ' .. vim.fn.fnameescape(file))
    vim.cmd('silent keepjumps $delete _')
  end)
  os.remove(file)
end

--- Reads a rewind:// buffer: BufReadCmd.
function M.read(buf, name)
  local root, id, path = names.parse(name)
  if not root then
    server.fail('%s is no name of a file of a snapshot', name)
  end
  if not id then
    return require('rewind.timeline').open(root, nil, buf)
  end
  vim.bo[buf].modifiable, vim.bo[buf].readonly = true, false
  vim.bo[buf].buftype, vim.bo[buf].swapfile, vim.bo[buf].undolevels = 'nofile', false, -1
  local ok, why = pcall(function()
    if id ~= 'none' then -- a file that was not there is an empty one
      fill(buf, server.content(root, id, path, M.limit))
    end
  end)
  vim.bo[buf].modified, vim.bo[buf].modifiable, vim.bo[buf].readonly = false, false, true
  if not ok then
    error(why, 0)
  end
  vim.api.nvim_buf_call(buf, function()
    if not path:find('[\n\r%c]') then
      vim.cmd('silent! doautocmd <nomodeline> filetypedetect BufRead ' .. vim.fn.fnameescape(path))
    end
  end)
end

--- The buffer of a file as a snapshot has it; id nil: as it was not there.
function M.buffer(root, id, path)
  local buf = vim.fn.bufadd(names.uri(root, id and id:sub(1, 12) or 'none', path))
  if not vim.api.nvim_buf_is_loaded(buf) then
    vim.fn.bufload(buf)
  end
  return buf
end

--- Shows the buffer of a file of the worktree in the present window.
function M.edit(root, path)
  local buf = vim.fn.bufadd(root .. '/' .. path)
  vim.bo[buf].buflisted = true
  vim.cmd('keepalt buffer ' .. buf)
end

-- Whether a snapshot has the path: that of another one may have come with it.
local function at(root, id, path)
  if not id then
    return M.buffer(root, nil, path)
  end
  local ok, buf = pcall(M.buffer, root, id, path)
  if ok then
    return buf
  end
  if type(buf) ~= 'table' and not tostring(buf):find('has no path', 1, true) then
    error(buf, 0)
  end
  if type(buf) == 'table' and not buf.rewind:find('has no path', 1, true) then
    error(buf, 0)
  end
  return M.buffer(root, nil, path)
end

--- Compares a file of one snapshot with that of another one, or where `to` is nil with
--- the file as it is now, in a tab of its own. `was` is what it was called before.
function M.compare(root, from, to, path, was)
  local left = at(root, from, was or path)
  local right = to and at(root, to, path)
  vim.cmd('tab split')
  if right then
    vim.cmd('buffer ' .. right)
  else
    M.edit(root, path)
  end
  vim.cmd('diffthis')
  vim.cmd('leftabove vertical sbuffer ' .. left)
  vim.cmd('diffthis')
  vim.cmd('wincmd p')
end

--- Compares each of the changes, a tab a file.
function M.compare_all(root, from, to, changes)
  local count, gone = 0, {}
  for _, c in ipairs(changes) do
    if c.from then
      gone[names.bytes(c.from)] = true
    end
  end
  local files = vim.tbl_filter(function(c)
    local mode = c.status == 'D' and c.old_mode or c.new_mode
    return not (mode == '040755' or mode == '040000' or c.dir) and not (c.status == 'D' and gone[names.bytes(c)])
  end, changes)
  for _, c in ipairs(files) do
    count = count + 1
    if count > M.tabs then
      break
    end
    M.compare(root, c.status ~= 'A' and from or (c.from and from or nil), c.status ~= 'D' and to or (to and 'none' or nil), names.bytes(c), c.from and names.bytes(c.from))
  end
  if #files == 0 then
    vim.notify('rewind: nothing differs')
  elseif #files > M.tabs then
    vim.notify(('rewind: the first %d of %d files; :Rewind opens the others one by one'):format(M.tabs, #files))
  end
end

--- :RewindDiff[!] [ID [ID]]: the file of this buffer, or all of a snapshot.
function M.diff(bang, ids)
  local root, path, own = M.place()
  if bang then
    local turn = M.turn(root, ids[1] or own, path)
    if path then
      local found
      for _, c in ipairs(turn.changes) do
        found = names.bytes(c) == path and c or found
      end
      return M.compare(root, turn.base, turn.id, path, found and found.from and names.bytes(found.from))
    end
    return M.compare_all(root, turn.base, turn.id, turn.changes)
  end
  local from, to = ids[1] or own or '@', ids[2]
  if path then
    return M.compare(root, from, to, path)
  end
  M.compare_all(root, from, to, server.ask(root, 'diff', { from = from, to = to }).changes)
end

--- What a snapshot changed since the files stood elsewhere: its id, that of the one
--- before, and the changes. Without an id it is the newest that changed the path.
function M.turn(root, id, path)
  if not id then
    local newest = path and server.ask(root, 'log', { path = path, limit = 1 }).log[1]
    id = newest and newest.snapshot.id or '@'
  end
  local shown = server.ask(root, 'show', { id = id })
  return { id = shown.id, base = M.base(root, shown), changes = shown.changes }
end

--- The snapshot at which the files stood before this one, nil of the first.
function M.base(root, record)
  if record.changed then
    return record.changed.base
  end
  -- The list of those up to its time begins with it.
  for _, other in ipairs(server.ask(root, 'list', { ['until'] = record.time, limit = 20, changes = true, all = true }).snapshots) do
    if other.id == record.id then
      return other.changed and other.changed.base
    end
  end
  server.fail('what was there before %s is not known any more', record.id:sub(1, 12))
end

return M
