-- The plug-in in `nvim --headless`, on the real program: run by nvim_test.go. Each
-- function of `tests` has a directory of its own, and prints a line of its result.
if vim.env.NEWER == '1' then -- what newer versions have in place of what they will not have any more
  vim.uv, vim.loop = vim.uv or vim.loop, nil
  vim.text = vim.text or {}
  vim.text.diff, vim.diff = vim.text.diff or vim.diff, nil
  local health = vim.health or require('health')
  local function is(name) return health[name] or health['report_' .. name] end
  vim.health = { start = is('start'), ok = is('ok'), warn = is('warn'), error = is('error') }
  package.loaded.health = nil
  package.preload.health = function() error('there is no module health any more') end
end
local uv = vim.uv or vim.loop
local tests = {}
local rewind, server, names = require('rewind'), require('rewind.server'), require('rewind.names')
local said, answers, asked = {}, {}, {}

vim.notify = function(text) said[#said + 1] = text end
vim.fn.confirm = function(text) -- a person who answers what was laid out before, else no
  asked[#asked + 1] = text
  return table.remove(answers, 1) or 2
end

local function write(name, text)
  vim.fn.mkdir(vim.fn.fnamemodify(name, ':h'), 'p')
  local f = assert(io.open(name, 'wb'))
  f:write(text)
  f:close()
end

local function read(name)
  local f = io.open(name, 'rb')
  if not f then
    return nil
  end
  local text = f:read('*a')
  f:close()
  return text
end

local function run(args, input)
  local out = input and vim.fn.system(args, input) or vim.fn.system(args)
  assert(vim.v.shell_error == 0, table.concat(args, ' ') .. ': ' .. out)
  return out
end

local function equal(got, want, what)
  if not vim.deep_equal(got, want) then
    error(('%s: got %s, want %s'):format(what or 'it', vim.inspect(got), vim.inspect(want)), 2)
  end
end

local function has(text, want)
  if not text:find(want, 1, true) then
    error(('%q is not in %s'):format(want, text), 2)
  end
end

-- Two turns of an agent: the first makes and changes files, the second deletes one.
local function turns()
  write('f.txt', 'a\nb\nc\n')
  run({ 'rewind', 'snapshot', '-q', '-m', 'one' })
  local function hook(event, text) run({ 'rewind', 'hook', 'generic', event }, text) end
  hook('before', '{"session":"S","prompt_id":"P1","prompt":"fix the test"}')
  write('f.txt', 'a\nB\nc\n')
  write('a b%#[1].txt', 'new\n')
  hook('after', '{"session":"S","prompt_id":"P1"}')
  hook('before', '{"session":"S","prompt_id":"P2","prompt":"tidy up"}')
  os.remove('f.txt')
  write('g.txt', 'g\n')
  hook('after', '{"session":"S","prompt_id":"P2"}')
end

local function git() run({ 'git', 'init', '-q', '.' }) end

local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') end

local function go(pattern)
  vim.cmd('normal! gg')
  assert(vim.fn.search(pattern, 'cW') > 0, pattern .. ' is not in ' .. text())
end

local function press(keys) vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), 'xm', false) end

local function edit(name) vim.cmd('edit ' .. vim.fn.fnameescape(name)) end

-- The servers of the directory of this test.
local function running()
  return vim.tbl_filter(function(s) return s.root:find(uv.cwd(), 1, true) == 1 end, server.all())
end

local function until_true(what, f) assert(vim.wait(20000, f, 10), what .. ': ' .. table.concat(said, ' | ')) end

function tests.the_timeline_has_sessions_prompts_and_files()
  git()
  turns()
  vim.cmd('Rewind')
  equal(vim.bo.filetype, 'rewind')
  has(text(), 'generic S  3 snapshots')
  has(text(), '“tidy up”  2 files +1 −3  <- the files stand here')
  has(text(), '    D f.txt  +0 −3')
  has(text(), '“fix the test”  2 files')
  equal({ vim.fn.foldlevel(vim.fn.search('^generic')), vim.fn.foldlevel(vim.fn.search('fix the')) }, { 1, 2 })
  go('tidy up')
  assert(vim.fn.foldclosed('.') > 0, 'files are folded at first')
  press('<Tab>')
  equal(vim.fn.foldclosed('.'), -1)
  write('g.txt', 'by hand\n')
  press('gr')
  until_true('what is not recorded', function() return text():find('Now: 1 not recorded', 1, true) end)
  press(']]')
end

function tests.one_file_is_restored_and_undone()
  turns()
  vim.cmd('Rewind')
  go('fix the test')
  vim.cmd('normal! zR')
  go('M f.txt')
  press('r')
  has(asked[1], 'create     f.txt')
  equal(read('f.txt'), nil, 'after no')
  answers = { 1 }
  press('r')
  equal(read('f.txt'), 'a\nB\nc\n')
  equal(read('g.txt'), 'g\n', 'another file')
  answers = { 1 }
  vim.cmd('RewindUndo')
  has(asked[#asked], 'delete     f.txt')
  equal(read('f.txt'), nil)
  answers = { 1 }
  vim.cmd('RewindRedo')
  equal(read('f.txt'), 'a\nB\nc\n')
  vim.cmd('RewindRedo')
  has(said[#said], 'there is no restore to redo')
end

function tests.deletions_are_named_first_and_a_long_list_can_be_seen_whole()
  turns()
  for i = 1, 30 do
    write('zz' .. i, 'x')
  end
  answers = { 3, 2 }
  vim.cmd('RewindRestore @~1')
  has(asked[1], '… and ')
  assert(asked[1]:find('^delete'), asked[1])
  assert(not asked[1]:find('create', 1, true), 'the write comes behind thirty deletions')
  equal(#asked, 2)
  equal(vim.fn.winnr('$'), 1, 'the list is closed again')
  equal(said[#said], 'rewind: nothing was changed')
end

function tests.unsaved_text_is_a_conflict_and_stays()
  turns()
  edit('g.txt')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'typed' })
  answers = { 1 }
  vim.cmd('RewindRestore @~1')
  has(asked[1], 'conflict   g.txt: its buffer has unsaved text')
  has(said[#said], 'conflict: g.txt has unsaved text')
  equal(read('f.txt'), 'a\nB\nc\n')
  equal(read('g.txt'), 'g\n')
  equal(text(), 'typed')
  edit('f.txt')
  vim.cmd('RewindRestore @~1 g.txt')
  has(said[#said], 'g.txt has unsaved text: save or drop it first')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'typed too' })
  vim.cmd('RewindUndo')
  has(said[#said], 'f.txt has unsaved text, and undo would write that file')
  equal(text(), 'typed too')
end

function tests.buffers_of_restored_files_are_read_again()
  turns()
  edit('g.txt')
  vim.cmd('RewindSnapshot before')
  write('g.txt', 'G\n') -- of the same size, in the same second
  vim.cmd('checktime')
  vim.cmd('edit!')
  equal(text(), 'G')
  answers = { 1, 1 }
  vim.cmd('RewindRestore @ %')
  equal(text(), 'g')
  equal(vim.bo.modified, false)
  vim.cmd('RewindUndo')
  equal(text(), 'G')
end

function tests.files_are_compared_in_vimdiff()
  turns()
  vim.cmd('Rewind')
  go('fix the test')
  vim.cmd('normal! zR')
  go('M f.txt')
  press('dd')
  equal(vim.fn.winnr('$'), 2)
  equal({ text(), vim.wo.diff, vim.bo.modifiable }, { 'a\nB\nc', true, false })
  vim.cmd('wincmd h')
  equal({ text(), vim.wo.diff }, { 'a\nb\nc', true })
  vim.cmd('tabclose')
  press('dn')
  equal(vim.api.nvim_buf_get_name(0), uv.cwd() .. '/f.txt', 'the file as it is now')
  vim.cmd('tabclose')
  go('fix the test')
  press('dd')
  equal(vim.fn.tabpagenr('$'), 3)
  vim.cmd('tabclose')
  vim.cmd('tabclose')
  press('=')
  has(text(), '+B')
  vim.cmd('close')
  edit('g.txt')
  vim.cmd('RewindDiff!')
  vim.cmd('wincmd h')
  equal(text(), '', 'it was not there before')
  vim.cmd('tabclose')
  vim.cmd('RewindDiff @~1 @')
  equal(text(), 'g')
end

function tests.a_file_with_odd_bytes_is_shown_as_the_editor_would_read_it()
  local odd = { ['dos.txt'] = 'a\r\nb\r\n', ['latin'] = 'caf\233\n', ['noeol'] = 'a\nb', ['nul'] = 'a\0b\n', ['empty'] = '', ['bom'] = '\239\187\191x\n' }
  for name, bytes in pairs(odd) do
    write(name, bytes)
  end
  run({ 'rewind', 'snapshot', '-q' })
  for name in pairs(odd) do
    edit(name)
    local function state() return { text(), vim.bo.fileformat, vim.bo.fileencoding, vim.bo.bomb } end
    local want = state()
    vim.cmd('buffer ' .. require('rewind.past').buffer(uv.cwd(), '@', name))
    equal(state(), want, name)
  end
end

function tests.names_of_any_bytes_are_listed_compared_and_restored()
  git()
  local list = { 'a b', '%', '#', 'new\nline', 'non\255utf', '*', '[x]', 'q"uo\'te', 'back\\slash', '~', ' lead', ':(top)x', 'd/é' , '\27[31m' }
  for _, name in ipairs(list) do
    write(name, 'old ' .. name .. '\n')
  end
  run({ 'rewind', 'snapshot', '-q', '-m', 'odd' })
  for _, name in ipairs(list) do
    write(name, 'now\n')
  end
  vim.cmd('Rewind')
  vim.cmd('normal! zR')
  assert(not text():find('\27', 1, true), 'an escape sequence is shown as it is')
  for _, name in ipairs(list) do
    local line = '\\V\\^    A ' .. names.printable(name):gsub('\\', '\\\\') .. '\\$'
    local function open()
      vim.cmd('Rewind')
      vim.cmd('normal! zR')
      go(line)
    end
    open()
    answers = { 1 }
    press('r')
    equal(read(name), 'old ' .. name .. '\n', name)
    for _, key in ipairs({ 'dd', 'dn' }) do
      open()
      press(key)
      has(text(), 'old ')
      vim.cmd('tabclose')
    end
  end
end

function tests.lines_are_put_back_in_the_buffer_alone()
  write('f', '1\n2\n3\n4\n5\n6\n7\n8\n9\n')
  run({ 'rewind', 'snapshot', '-q' })
  write('f', '1\nTWO\n3\n4\n6\n7\nnew\n8\n9\nend\n')
  edit('f')
  answers = { 1 }
  vim.cmd('2,3RewindRestore')
  has(asked[1], '-TWO\n+2\n')
  equal(text(), '1\n2\n3\n4\n6\n7\nnew\n8\n9\nend')
  answers = { 1 }
  vim.cmd('4,5RewindRestore @')
  equal(text(), '1\n2\n3\n4\n5\n6\n7\nnew\n8\n9\nend')
  answers = { 1 }
  vim.cmd('%RewindRestore @')
  has(asked[3], '2 hunks')
  equal(text(), '1\n2\n3\n4\n5\n6\n7\n8\n9')
  equal(read('f'), '1\nTWO\n3\n4\n6\n7\nnew\n8\n9\nend\n', 'the file')
  vim.cmd('1RewindRestore @')
  has(said[#said], 'these lines are as')
end

function tests.a_turn_is_taken_back_and_the_rest_kept()
  turns()
  write('later', 'mine\n')
  answers = { 1 }
  vim.cmd('RewindRevert @')
  has(asked[1], 'delete     g.txt')
  equal({ read('f.txt'), read('g.txt'), read('later') }, { 'a\nB\nc\n', nil, 'mine\n' })
end

function tests.the_prompt_of_a_line_is_beside_it()
  git()
  turns()
  answers = { 1 }
  vim.cmd('RewindRestore @~1')
  edit('f.txt')
  vim.cmd('RewindBlame')
  local blame, buf = require('rewind.blame'), vim.api.nvim_get_current_buf()
  until_true('blame', function() return blame.line(buf, 2) end)
  has(blame.line(buf, 2), '“fix the test”')
  has(blame.line(buf, 1), 'one')
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  vim.cmd('doautocmd CursorMoved')
  local marks = vim.api.nvim_buf_get_extmarks(buf, vim.api.nvim_get_namespaces().rewind_blame, 0, -1, { details = true })
  has(marks[1][4].virt_text[1][1], '“fix the test”')
  vim.api.nvim_buf_set_lines(buf, 0, 0, false, { 'typed above' })
  has(blame.line(buf, 3), '“fix the test”')
  equal(blame.line(buf, 1), 'not recorded yet')
  vim.api.nvim_buf_set_lines(buf, 1, 2, false, {})
  has(blame.line(buf, 2), '“fix the test”')
  vim.cmd('RewindBlame')
  equal(blame.line(buf, 2), nil)
  vim.cmd('edit!')
end

function tests.a_server_that_died_is_told_of_and_started_again()
  turns()
  vim.cmd('Rewind')
  local first = running()[1].pid
  server.request(uv.cwd(), 'status', {}, function(why) said[#said + 1] = why or 'answered' end)
  uv.kill(first, 'sigkill')
  until_true('the end', function() return #running() == 0 end)
  vim.cmd('Rewind')
  has(text(), '“tidy up”')
  assert(running()[1].pid ~= first)
end

function tests.a_program_that_is_missing_or_another_one_is_told_of_in_a_sentence()
  vim.g.rewind_program = '/nowhere/rewind'
  vim.cmd('Rewind')
  has(said[1], 'there is no program "/nowhere/rewind"')
  vim.g.rewind_program = 'cat' -- which answers with the request
  vim.cmd('RewindUndo')
  has(said[2], 'rewind: ')
  vim.g.rewind_program = 'echo'
  vim.cmd('Rewind')
  has(said[3], 'rewind: ')
  write('old', '#!/bin/sh\nread line\necho \'{"jsonrpc":"2.0","id":1,"error":{"code":10,"message":"no common protocol version"}}\'\nsleep 1\n')
  uv.fs_chmod('old', 493)
  vim.g.rewind_program = uv.cwd() .. '/old'
  vim.cmd('Rewind')
  has(said[4], 'does not speak protocol 1')
  equal(#said, 4)
  vim.g.rewind_program = nil
  vim.cmd('Rewind')
  equal(#said, 4)
  has(text(), 'Nothing is recorded here yet')
end

-- Each answer is given to whatever is asked first.
function tests.answers_of_another_kind_are_one_sentence_and_end_what_was_asked()
  local odd = {
    ['{"id":1}'] = 'does not know', ['{"id":1,"result":null}'] = 'does not know', ['{"id":1,"result":{}}'] = 'does not know',
    ['{"id":1,"result":{"root":7}}'] = 'does not know', ['{"id":1,"error":"no"}'] = 'does not know', ['{"id":1,"error":{"code":1}}'] = 'does not know',
    ['{"id":1,"error":null,"result":5}'] = 'does not know', ['{"method":"warning"}\n7'] = 'no JSON', ['{"id":1,"result":{"root":"/'] = 'rewind serve ended', ['\255\254'] = 'no JSON',
  }
  for answer, sentence in pairs(odd) do
    said = {}
    write('odd', '#!/bin/sh\nread line\ncat answer\n')
    write('answer', answer .. (answer:find('"/$') and '' or '\n'))
    uv.fs_chmod('odd', 493)
    vim.g.rewind_program = uv.cwd() .. '/odd'
    vim.cmd('Rewind')
    equal(#said, 1, answer)
    has(said[1], sentence)
    until_true('its end', function() return #running() == 0 end)
  end
  vim.g.rewind_program = uv.cwd() .. '/mirror' -- a request is no answer to itself
  write('mirror', '#!/bin/sh\nread line\necho "$line"\n')
  uv.fs_chmod('mirror', 493)
  said = {}
  vim.cmd('Rewind')
  has(said[1], 'rewind serve ended')
end

function tests.a_program_in_the_project_is_not_run()
  write('rewind', '#!/bin/sh\ntouch ran\n')
  uv.fs_chmod('rewind', 493)
  vim.cmd('Rewind')
  equal(read('ran'), nil)
end

function tests.a_relative_directory_of_the_path_has_no_program()
  local path = vim.env.PATH
  write('bin/rewind', '#!/bin/sh\ntouch ran\n')
  uv.fs_chmod('bin/rewind', 493)
  vim.env.PATH = 'bin:.:' .. path
  vim.cmd('Rewind')
  vim.env.PATH = path
  equal(read('ran'), nil)
  has(text(), 'Nothing is recorded here yet')
end

-- The first request is passed on, and what it is answered never comes back.
function tests.a_server_that_dies_in_a_restore_is_one_message_and_buffers_are_read_again()
  turns()
  edit('g.txt')
  write('cut', '#!/bin/sh\nsed -u \'/"method":"restore"/q\' | rewind "$@" | sed -u \'/"written"/{/"plan"/!d}\'\n')
  uv.fs_chmod('cut', 493)
  vim.g.rewind_program = uv.cwd() .. '/cut'
  run({ 'rewind', 'snapshot', '-q', '-m', 'with it' })
  write('g.txt', 'other\n')
  vim.cmd('edit!')
  answers = { 1 }
  vim.cmd('RewindRestore @ g.txt')
  equal(read('g.txt'), 'g\n')
  has(said[#said], 'it may be done in part')
  equal(#said, 1)
  equal(text(), 'g')
end

function tests.several_worktrees_have_servers_of_their_own()
  vim.fn.mkdir('one/sub/deep', 'p')
  vim.fn.mkdir('one/inner', 'p')
  vim.fn.mkdir('two', 'p')
  for _, dir in ipairs({ 'one', 'one/inner', 'two' }) do
    run({ 'git', 'init', '-q', dir })
    write(dir .. '/f', dir)
    run({ 'rewind', '-C', dir, 'snapshot', '-q', '-m', 'of ' .. dir })
  end
  write('one/sub/deep/x', 'x')
  for file, want in pairs({ ['one/f'] = 'of one', ['one/inner/f'] = 'of one/inner', ['two/f'] = 'of two', ['one/sub/deep/x'] = 'of one' }) do
    edit(file)
    vim.cmd('Rewind')
    has(text(), '  ' .. want .. '  ')
    vim.cmd('close')
  end
  equal(#running(), 3)
end

function tests.long_histories_are_read_page_by_page()
  require('rewind.timeline').page = 5
  for i = 1, 12 do
    write('f', tostring(i))
    run({ 'rewind', 'snapshot', '-q', '-m', 'number ' .. i .. '.' })
  end
  vim.cmd('Rewind')
  has(text(), 'number 8.')
  assert(not text():find('number 7.', 1, true))
  press('G')
  vim.cmd('doautocmd CursorMoved')
  has(text(), 'number 3.')
  press('G')
  vim.cmd('doautocmd CursorMoved')
  has(text(), 'number 1.')
  require('rewind.timeline').page = 200
end

function tests.only_one_file_can_be_asked_for()
  turns()
  write('g.txt', 'more\n')
  run({ 'rewind', 'snapshot', '-q', '-m', 'of g alone' })
  vim.cmd('Rewind f.txt')
  has(text(), 'only f.txt')
  assert(not text():find('of g alone', 1, true), text())
end

function tests.ids_and_paths_are_completed()
  turns()
  local complete = rewind.complete
  equal(complete('@', 'RewindRestore @')[1], '@')
  equal(#complete('', 'RewindRestore '), 4)
  equal(complete('f', 'RewindRestore @~1 f'), { 'f.txt' })
  run({ 'rewind', 'pin', '@~1', 'good' })
  equal(complete('pin', 'RewindDiff! pin'), { 'pin:good' })
  os.remove('a b%#[1].txt')
  equal(complete('a', 'RewindRestore @ a'), { 'a\\ b%#[1].txt' })
  answers = { 1 }
  vim.cmd('RewindRestore @ a\\ b%#[1].txt')
  equal(read('a b%#[1].txt'), 'new\n')
end

function tests.a_snapshot_says_what_is_in_no_file()
  turns()
  edit('g.txt')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'typed' })
  vim.cmd('RewindSnapshot before the rest')
  has(said[1], '1 with unsaved text')
  has(run({ 'rewind', 'list', '--json' }), '"label":"before the rest"')
end

function tests.a_snapshot_that_is_gone_is_one_message()
  turns()
  vim.cmd('RewindRestore 0123456789ab')
  vim.cmd('RewindDiff 0123456789ab')
  vim.cmd('edit ' .. vim.fn.fnameescape('rewind://' .. uv.cwd() .. '//0123456789ab/f.txt'))
  equal(#said, 3)
  for _, one in ipairs(said) do
    has(one, 'no such snapshot')
  end
end

function tests.a_directory_that_is_gone_and_no_place_for_a_history_are_one_message()
  turns()
  vim.cmd('Rewind')
  local dir = uv.cwd()
  vim.cmd('cd /')
  vim.fn.delete(dir, 'rf')
  press('gr')
  equal(#said, 1)
  vim.cmd('enew')
  vim.cmd('RewindSnapshot')
  equal(#said, 2)
end

function tests.a_file_above_the_limit_is_not_shown()
  local past = require('rewind.past')
  past.limit = 100000
  write('large', ('x'):rep(300000))
  run({ 'rewind', 'snapshot', '-q' })
  edit('large')
  vim.cmd('RewindDiff @')
  has(said[1], 'it has more than')
  past.limit = 100 * 1048576
end

function tests.checkhealth_tells_program_server_and_history()
  turns()
  vim.cmd('checkhealth rewind')
  has(text(), 'the program is ')
  has(text(), '3 snapshots of ' .. uv.cwd())
end

local top, results = vim.fn.getcwd(), assert(io.open(vim.env.RESULTS, 'w'))
local list = vim.tbl_keys(tests)
table.sort(list)
for i, name in ipairs(list) do
  local wanted = vim.tbl_filter(function(part) return name:find(part, 1, true) ~= nil end, vim.split(vim.env.ONLY or '', ','))
  if #wanted > 0 then
    vim.cmd('silent! tabonly! | silent! only! | silent! %bwipeout!')
    vim.cmd('cd ' .. top)
    said, answers, asked = {}, {}, {}
    vim.g.rewind_program = nil
    vim.fn.mkdir('t' .. i, 'p')
    vim.cmd('cd t' .. i)
    local ok, why = xpcall(tests[name], function(e) return (type(e) == 'table' and e.rewind or tostring(e)) .. '\n' .. debug.traceback() end)
    results:write(ok and 'ok ' or 'FAILED ', name, ' ', ok and '' or (why .. '\nsaid: ' .. vim.inspect(said)):gsub('\n', '\1'), '\n')
    results:flush()
  end
end
results:write('end\n')
results:close()
vim.cmd('qall!')
