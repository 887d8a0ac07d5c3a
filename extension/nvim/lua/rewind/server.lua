--- Processes of `rewind serve --stdio`, one for each worktree (docs/protocol.md).
---
--- What goes wrong is raised as a table { rewind = "one sentence" }, or given to the
--- callback as that sentence.
local names = require('rewind.names')
local uv = vim.uv or vim.loop

local M = { protocol = 1 }

--- Milliseconds without a request after which a process ends.
M.rest = 10 * 60 * 1000

local servers = {} -- by the directory for which each was started

function M.fail(sentence, ...)
  error({ rewind = select('#', ...) > 0 and sentence:format(...) or sentence }, 0)
end

--- The program, as an absolute path. Only the user's own configuration names it:
--- never a file of the project, which a relative directory on the path would have.
function M.program()
  local asked, found = vim.g.rewind_program or 'rewind', ''
  if asked:find('[/\\]') then
    found = vim.fn.exepath(vim.fn.expand(asked))
  else
    local windows = vim.fn.has('win32') == 1
    for _, dir in ipairs(vim.split(vim.env.PATH or '', windows and ';' or ':')) do
      if found == '' and dir:find(windows and '^%a:[/\\]' or '^/') then
        found = vim.fn.exepath(dir .. '/' .. asked)
      end
    end
  end
  if found == '' then
    M.fail('there is no program "%s": install rewind (docs/install.md), or set g:rewind_program', asked)
  end
  return found
end

-- Where git has the worktree of a directory begin, below a directory that is known.
local function nested(dir, root)
  while dir ~= root and #dir > #root do
    if uv.fs_lstat(dir .. '/.git') then
      return true
    end
    dir = vim.fn.fnamemodify(dir, ':h')
  end
  return false
end

-- The running server for a directory: its own, or that of the repository around it.
local function running(dir)
  if servers[dir] then
    return servers[dir]
  end
  for _, s in pairs(servers) do
    if s.git and (dir == s.root or names.below(dir, s.root)) and not nested(dir, s.root) then
      return s
    end
  end
end

local function settle(s, sentence)
  for dir, other in pairs(servers) do
    if other == s then
      servers[dir] = nil
    end
  end
  if not s.timer:is_closing() then
    s.timer:stop()
    s.timer:close()
  end
  local waiting = s.waiting
  s.waiting, s.ended = {}, sentence
  for _, done in pairs(waiting) do
    done(sentence)
  end
end

local function stop(s)
  if not s.input:is_closing() then
    s.input:close()
  end
end

-- What another version answers may lack what this one has.
local other_version = 'the program answers what this plug-in does not know: bring both to the same version'

local function fields(value) return type(value) == 'table' and value or {} end

local function warn(sentence)
  if type(sentence) == 'string' then
    vim.notify('rewind: ' .. names.printable(sentence), vim.log.levels.WARN)
  end
end

local function receive(s, line)
  local ok, message = pcall(vim.json.decode, line)
  if not ok or type(message) ~= 'table' then
    return settle(s, 'the program answered what is no JSON: is g:rewind_program rewind?'), stop(s)
  end
  if message.method == 'warning' then
    return warn((fields(message.params)).message)
  end
  local done = message.id and not message.method and s.waiting[message.id]
  if not done then
    return
  end
  s.waiting[message.id] = nil
  if type(message.result) == 'table' then
    done(nil, message.result)
  else
    local no = fields(message.error)
    done(type(no.message) == 'string' and no.message or other_version, nil, no.code)
  end
  if not s.ended and next(s.waiting) == nil then
    s.timer:start(M.rest, 0, function() stop(s) end)
  end
end

-- Calls receive for each line that the process writes, and at its end settles what waits.
local function listen(s, out, err)
  local parts, said, left = {}, '', 3
  local function over()
    left = left - 1
    if left == 0 then
      vim.schedule(function()
        local last = vim.trim(said):match('[^\n]*$')
        settle(s, ('rewind serve ended (%s)%s; the next command starts it again'):format(
          s.signal ~= 0 and 'signal ' .. s.signal or 'exit ' .. s.code, last ~= '' and ': ' .. names.printable(last) or ''))
      end)
    end
  end
  s.over = over
  out:read_start(function(_, data)
    if not data then
      out:close()
      return over()
    end
    while true do
      local stop_at = data:find('\n', 1, true)
      if not stop_at then
        break
      end
      parts[#parts + 1] = data:sub(1, stop_at - 1)
      local line = table.concat(parts)
      parts, data = {}, data:sub(stop_at + 1)
      vim.schedule(function() receive(s, line) end)
    end
    parts[#parts + 1] = data
  end)
  err:read_start(function(_, data)
    if not data then
      err:close()
      return over()
    end
    said = (said .. data):sub(-2000)
  end)
end

local function send(s, message)
  message.jsonrpc = '2.0'
  if not s.input:is_closing() then
    s.input:write(vim.json.encode(message) .. '\n', function() end)
  end
end

local function post(s, method, params, done)
  s.last = s.last + 1
  s.waiting[s.last] = done
  s.timer:stop()
  send(s, { id = s.last, method = method, params = next(params) and params or vim.empty_dict() })
  return s.last
end

local function start(dir)
  local program = M.program()
  local s = { waiting = {}, last = 0, timer = uv.new_timer(), input = uv.new_pipe(false), signal = 0 }
  local out, err = uv.new_pipe(false), uv.new_pipe(false)
  local process, pid
  process, pid = uv.spawn(program, { args = { 'serve', '--stdio' }, stdio = { s.input, out, err }, cwd = dir, hide = true }, function(code, signal)
    s.code, s.signal = code, signal
    process:close()
    vim.schedule(function() stop(s) end)
    s.over()
  end)
  if not process then
    M.fail('%s cannot be started: %s', program, pid)
  end
  s.pid, servers[dir] = pid, s
  listen(s, out, err)
  post(s, 'initialize', { protocol = M.protocol, dir = dir, client = 'nvim' }, function(why, result, code)
    if not why and type(result.root) ~= 'string' then
      why = other_version
    elseif code == 10 then
      why = ('this rewind does not speak protocol %d of the plug-in: bring both to the same version'):format(M.protocol)
    end
    if why then
      if not s.ended then
        settle(s, why)
        stop(s)
      end
      return
    end
    s.root, s.git, s.version = result.root, result.git, result.version
    for _, warning in ipairs(fields(result.warnings)) do
      warn(warning)
    end
  end)
  return s
end

--- Sends a request for the worktree of a directory; done(sentence, result) is called
--- later, once. It returns a function that calls the request off, and with true ends
--- the process, which does not answer.
function M.request(dir, method, params, done)
  local s = running(dir) or start(dir)
  local id = post(s, method, params, done)
  return function(kill)
    if kill and not s.ended then
      uv.kill(s.pid, 'sigterm')
    end
    send(s, { method = 'cancel', params = { id = id } })
  end
end

-- Waits for what a callback brings. CTRL-C calls it off, as vim.wait does not: while it
-- waits nobody reads the keys. begin returns what calls it off, and with true ends it.
local function wait(begin)
  local got, stopped
  local call_off = begin(function(why, result) got = { why, result } end)
  local person = #vim.api.nvim_list_uis() > 0
  local function over()
    if person then
      local ok, key = pcall(vim.fn.getchar, 1)
      stopped = stopped or not ok or key == 3
    end
    return got ~= nil or stopped
  end
  vim.wait(24 * 3600 * 1000, over, 50)
  if not got then
    call_off()
    stopped = false
    vim.wait(3000, over, 50)
    if not got then
      call_off(true)
      M.fail('called off')
    end
  end
  if got[1] then
    M.fail(names.printable(got[1]))
  end
  return got[2]
end

--- Sends a request and waits for its result.
function M.ask(dir, method, params)
  params = params or {}
  for _, path in ipairs(params.paths or { params.path }) do
    if not names.utf8(path) then -- which JSON cannot hold
      return M.told(dir, method, params)
    end
  end
  return wait(function(done) return M.request(dir, method, params, done) end)
end

--- The worktree that a directory belongs to.
function M.root(dir)
  local s = running(dir)
  if not (s and s.root) then
    M.ask(dir, 'pins')
    s = running(dir)
  end
  return s.root
end

--- Every server that runs: by its worktree, its version and process.
function M.all()
  local list, seen = {}, {}
  for _, s in pairs(servers) do
    if s.root and not seen[s] then
      seen[s] = true
      list[#list + 1] = { root = s.root, version = s.version, pid = s.pid }
    end
  end
  return list
end

--- Runs the program once and gives done(sentence, output, code) what it printed. With
--- a limit it is stopped when it prints more bytes.
function M.run(dir, args, limit, done)
  local out, err = uv.new_pipe(false), uv.new_pipe(false)
  local parts, said, size, left, status = {}, {}, 0, 3, nil
  local process, why
  local function over()
    left = left - 1
    if left > 0 then
      return
    end
    vim.schedule(function()
      if limit and size > limit then
        return done(('it has more than %d MiB'):format(limit / 1048576))
      end
      done(nil, table.concat(parts), status, table.concat(said))
    end)
  end
  process, why = uv.spawn(M.program(), { args = args, stdio = { nil, out, err }, cwd = dir, hide = true }, function(code)
    status = code
    process:close()
    over()
  end)
  if not process then
    M.fail('rewind cannot be started: %s', why)
  end
  local function collect(pipe, into, counted)
    pipe:read_start(function(_, data)
      if not data then
        pipe:close()
        return over()
      end
      if counted then
        size = size + #data
        if limit and size > limit then
          parts = {}
          process:kill('sigterm')
          return
        end
      end
      into[#into + 1] = data
    end)
  end
  collect(out, parts, true)
  collect(err, said, false)
  return function() process:kill('sigterm') end
end

--- The bytes of a file as a snapshot has it.
function M.content(root, id, path, limit)
  return wait(function(done)
    return M.run(root, { 'cat', id .. ':' .. path }, limit, function(why, output, code, said)
      if not why and code ~= 0 then
        why = vim.trim(said):match('[^\n]*$'):gsub('^rewind: ', '')
      end
      done(why, output)
    end)
  end)
end

-- How the command line says what a method does.
local commands = {
  plan = function(p) return { 'restore', '--dry-run', p.id } end,
  restore = function(p) return { 'restore', '--yes', p.id } end,
  diff = function(p) return { 'diff', p.from, p.to } end,
  list = function(p) return { 'list', '--limit', tostring(p.limit or 0) } end,
  log = function(p) return { 'log', '--limit', tostring(p.limit or 0) } end,
  blame = function() return { 'blame' } end,
}

--- Asks the command line in place of the server, of a name that JSON cannot hold.
function M.told(dir, method, params)
  if not commands[method] then
    M.fail('a name that is not UTF-8 cannot be asked for here')
  end
  local args = commands[method](params)
  vim.list_extend(args, { '--json', '--' })
  vim.list_extend(args, params.paths or { params.path })
  local text = wait(function(done) return M.run(dir, args, nil, done) end)
  local ok, answer = pcall(vim.json.decode, text)
  if not ok then
    M.fail('rewind %s printed no JSON', method)
  end
  if answer.error then
    M.fail(names.printable(answer.error.message))
  end
  return answer
end

return M
