--- Names: paths as bytes, as one reads them, and as names of buffers.
local uv = vim.uv or vim.loop

local M = {}

--- Whether a text is UTF-8, and so can be written in JSON.
function M.utf8(text)
  local rest = text:gsub('[\194-\223][\128-\191]', ' '):gsub('[\224-\239][\128-\191][\128-\191]', function(c)
    return not (c:find('^\224[\128-\159]') or c:find('^\237[\160-\191]')) and ' ' or nil
  end)
  rest = rest:gsub('[\240-\244][\128-\191][\128-\191][\128-\191]', ' ')
  return not rest:find('[\128-\255]')
end

local digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

local function base64(text)
  local bits = text:gsub('=', ''):gsub('.', function(c)
    local n, out = digits:find(c, 1, true) - 1, ''
    for i = 5, 0, -1 do
      out = out .. (math.floor(n / 2 ^ i) % 2 == 1 and '1' or '0')
    end
    return out
  end)
  return (bits:sub(1, #bits - #bits % 8):gsub('%d%d%d%d%d%d%d%d', function(b) return string.char(tonumber(b, 2)) end))
end

--- The bytes of a path in an answer.
function M.bytes(named)
  return named.path_b64 and base64(named.path_b64) or named.path
end

--- A text in one line, with nothing in it that moves the cursor or hides what stands
--- beside it.
function M.printable(text)
  text = text:gsub('%c', function(c) return c == '\n' and '\\n' or c == '\t' and '\\t' or ('\\x%02x'):format(c:byte()) end)
  text = text:gsub('\226\128[\139-\143\168-\174]', '\\u'):gsub('\226\129[\160-\169]', '\\u'):gsub('\239\187\191', '\\u'):gsub('\194[\128-\159]', '\\u')
  if not M.utf8(text) then
    text = text:gsub('[\128-\255]', function(c) return ('\\x%02x'):format(c:byte()) end)
  end
  return text
end

--- Whether a path lies below a directory.
function M.below(path, dir)
  return path:sub(1, #dir + 1) == (dir:sub(-1) == '/' and dir or dir .. '/')
end

--- The nearest directory that is there.
function M.standing(dir)
  while not (uv.fs_stat(dir) or {}).type do
    local up = vim.fn.fnamemodify(dir, ':h')
    if up == dir then
      break
    end
    dir = up
  end
  return uv.fs_realpath(dir) or dir
end

--- A file by the real name of its directory: a link in its last part is what is meant.
function M.real(file)
  file = file:gsub('/+$', '')
  local dir, rest = vim.fn.fnamemodify(file, ':h'), vim.fn.fnamemodify(file, ':t')
  while not uv.fs_stat(dir) and vim.fn.fnamemodify(dir, ':h') ~= dir do
    dir, rest = vim.fn.fnamemodify(dir, ':h'), vim.fn.fnamemodify(dir, ':t') .. '/' .. rest
  end
  dir = M.standing(dir)
  return (dir == '/' and '' or dir) .. '/' .. rest
end

--- A path that means itself alone, not a pattern.
function M.literal(path)
  return ':(literal)' .. path
end

local function encode(text)
  text = text:gsub('[%%%c%*%?%[%]{}`$"\\|<>#]', function(c) return ('%%%02x'):format(c:byte()) end)
  if not M.utf8(text) then
    text = text:gsub('[\128-\255]', function(c) return ('%%%02x'):format(c:byte()) end)
  end
  return text
end

local function decode(text)
  return (text:gsub('%%(%x%x)', function(x) return string.char(tonumber(x, 16)) end))
end

--- The name of the buffer of a worktree's timeline, or of a file of a snapshot.
function M.uri(root, id, path)
  local uri = 'rewind://' .. encode(root) .. '//'
  return id and uri .. id .. '/' .. encode(path) or uri
end

--- What such a name means: the worktree, and of a file the snapshot and the path.
function M.parse(uri)
  local root, rest = uri:match('^rewind://(.-)//(.*)$')
  if not root then
    return
  end
  local id, path = rest:match('^([^/]+)/(.*)$')
  return decode(root), id, path and decode(path)
end

return M
