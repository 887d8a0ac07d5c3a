-- Names the commands; what they need is read when one is first used.
if vim.g.loaded_rewind then
  return
end
vim.g.loaded_rewind = 1

if vim.fn.has('nvim-0.7') == 0 then
  vim.api.nvim_err_writeln('rewind needs Neovim 0.7 or newer')
  return
end

local function command(name, options)
  vim.api.nvim_create_user_command(name, function(o)
    local rewind = require('rewind')
    o.fargs = vim.tbl_filter(function(a) return a ~= '' end, o.fargs) -- 0.7 has an empty one where there is none
    rewind.guard(rewind.commands[name], o)
  end, options)
end

local function complete(...)
  return require('rewind').complete(...)
end

command('Rewind', { nargs = '?', complete = 'file', desc = 'The timeline of this worktree' })
command('RewindDiff', { nargs = '*', bang = true, complete = complete, desc = 'Compare with a snapshot' })
command('RewindRestore', { nargs = '*', range = true, complete = complete, desc = 'Put a snapshot, files or lines back' })
command('RewindRevert', { nargs = '?', complete = complete, desc = 'Take back what one turn changed' })
command('RewindUndo', { desc = 'Undo the last restore' })
command('RewindRedo', { desc = 'Take back the last undo' })
command('RewindSnapshot', { nargs = '*', desc = 'Record the files now' })
command('RewindBlame', { desc = 'Show or hide the prompt of the line' })

vim.api.nvim_set_hl(0, 'RewindBlame', { default = true, link = 'Comment' })

vim.api.nvim_create_autocmd('BufReadCmd', {
  group = vim.api.nvim_create_augroup('rewind', {}),
  pattern = 'rewind://*',
  callback = function(o)
    require('rewind').guard(function() require('rewind.past').read(o.buf, o.match) end)
  end,
})
