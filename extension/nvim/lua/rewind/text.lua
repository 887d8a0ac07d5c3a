--- What the timeline says: the text of its buffer, and what each line of it stands for.
local names = require('rewind.names')

local M = {}

-- Whose snapshot it is: the conversation whose turn ended there, else that which went on there.
local function conversation(record)
  local found
  for _, p in ipairs(record.points) do
    if p.session and p.session ~= '' and (not found or p.trigger == 'turn') then
      found = p
    end
  end
  return found and found.session, found and found.agent
end

--- What a snapshot is, in a line: its label, the prompt of the turn that ended, or what
--- it was taken for.
function M.describe(record)
  local turn, before, other
  for _, p in ipairs(record.points) do
    if p.prompt and p.trigger == 'prompt' then
      before = before or p.prompt
    elseif p.prompt then
      turn = turn or p.prompt
    elseif p.trigger then
      other = other or p.trigger
    end
  end
  local what = turn and '“' .. turn .. '”' or before and 'before “' .. before .. '”' or other and '(' .. other .. ')' or ''
  if record.of_restore then
    what = 'what a restore replaced'
  end
  if record.names and record.names[1] then
    what = what .. '  [' .. table.concat(record.names, ', ') .. ']'
  end
  if record.label and record.label ~= '' then
    what = record.label .. (what ~= '' and what:sub(1, 1) ~= '(' and '  ' .. what or '')
  end
  if record.pins then
    what = what .. '  [' .. table.concat(record.pins, ', ') .. ']'
  end
  return vim.trim(names.printable(what))
end

-- The time as the clock here has it.
local function clock(text)
  local y, mo, d, h, mi, s = text:match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)')
  local utc = os.time({ year = y, month = mo, day = d, hour = h, min = mi, sec = s, isdst = false })
  local off = os.time(os.date('*t', utc)) - os.time(vim.tbl_extend('force', os.date('!*t', utc), { isdst = false }))
  return utc + off
end

--- A time of an answer, as short as it can be told from others.
function M.when(text)
  local t = clock(text)
  return os.date(os.date('%F', t) == os.date('%F') and '%H:%M' or '%F %H:%M', t)
end

local function counts(c)
  if not c then
    return ''
  end
  local n = c.files + (c.dirs or 0)
  local lines = c.added + c.removed > 0 and (' +%d −%d'):format(c.added, c.removed) or ''
  return (n == 1 and '1 file' or n .. ' files') .. lines
end

local function add(v, text, level, row)
  v.text[#v.text + 1] = text
  v.level[#v.text] = level
  v.rows[#v.text] = row
end

local function add_files(v, list, level, record)
  for _, c in ipairs(list) do
    local gone = false
    if c.status == 'D' then -- the old name of what was renamed is on the line of the new one
      for _, other in ipairs(list) do
        gone = gone or (other.from ~= nil and names.bytes(other.from) == names.bytes(c))
      end
    end
    if not gone then
      local path = names.bytes(c)
      local lines = (c.added or 0) + (c.removed or 0) > 0 and ('  +%d −%d'):format(c.added or 0, c.removed or 0) or ''
      local name = (c.from and names.printable(names.bytes(c.from)) .. ' → ' or '') .. names.printable(path) .. (c.dir and '/' or '')
      local many = c.dir and c.files and (' (%d files)'):format(c.files) or ''
      add(v, ('    %s %s%s%s'):format(c.from and 'R' or c.status or ' ', name, many, lines), '=', { record = record, file = c, path = path })
      v.level[#v.text] = level
    end
  end
end

--- Makes the text of a view: its rows say what each line stands for.
function M.render(v)
  v.text, v.level, v.rows = {}, {}, {}
  add(v, 'rewind ' .. names.printable(v.root) .. (v.path and '  only ' .. names.printable(v.path) or ''), 0)
  add(v, 'g? shows the keys', 0)
  if v.now and #v.now > 0 then
    add(v, '', 0)
    add(v, ('Now: %d not recorded'):format(#v.now), '>1', { now = true })
    add_files(v, v.now, 1)
  end
  if #v.records == 0 then
    add(v, '', 0)
    add(v, v.path and 'Nothing recorded changed it.' or 'Nothing is recorded here yet: s records the files now, `rewind setup` has agents do it.', 0)
  end
  local group
  for i, record in ipairs(v.records) do
    local session, agent = conversation(record)
    if i == 1 or session ~= group and not (record.of_restore and group) then
      add(v, '', 0)
      group = session
      if session then
        local n = 0
        for j = i, #v.records do
          local other = conversation(v.records[j])
          if other ~= session and not v.records[j].of_restore then
            break
          end
          n = n + 1
        end
        add(v, ('%s %s  %s, from %s'):format(names.printable(agent or 'conversation'), names.printable(session:sub(1, 8)), n == 1 and '1 snapshot' or n .. ' snapshots', M.when(v.records[i].time)), '>1', { group = true })
      end
    end
    local level = group and 2 or 1
    local line = ('%s %s  %s  %s'):format(group and '  ' or '', M.when(record.time), record.id:sub(1, 7), M.describe(record)):gsub('%s+$', '')
    add(v, line .. (record.changed and '  ' .. counts(record.changed) or '') .. (record.here and '  <- the files stand here' or ''), '>' .. level, { record = record })
    if record.changed then
      add_files(v, record.changed.names, level, record)
      if record.changed.coarse then
        add(v, '    … dd has them all', level, { record = record })
      end
    end
  end
  if v.more then
    add(v, '', 0)
    add(v, '… older ones: go on', 0, { more = true })
  end
end

return M
