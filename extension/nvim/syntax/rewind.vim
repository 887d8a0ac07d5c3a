" The timeline of :Rewind.
if exists('b:current_syntax')
  finish
endif
syntax match rewindHead /\%1l.*/
syntax match rewindHint /\%2lg? shows the keys/
syntax match rewindNow /^Now: .*/
syntax match rewindSession /^\S\+ \S\+  \d\+ snapshots\?, from .*/
syntax match rewindTime /^ *\%(\d\{4}-\d\d-\d\d \)\?\d\d:\d\d/ nextgroup=rewindId skipwhite
syntax match rewindId /\x\{7}/ contained nextgroup=rewindPrompt skipwhite
syntax match rewindPrompt /\%(before \)\?“.*”/ contained
syntax match rewindHere /<- the files stand here$/
syntax match rewindAdded /^    A .*/
syntax match rewindRemoved /^    D .*/
syntax match rewindChanged /^    [MTR] .*/
syntax match rewindMore /^ *… .*/
highlight default link rewindHead Title
highlight default link rewindHint Comment
highlight default link rewindNow WarningMsg
highlight default link rewindSession Statement
highlight default link rewindTime Comment
highlight default link rewindId Identifier
highlight default link rewindPrompt String
highlight default link rewindHere Special
highlight default link rewindAdded DiffAdd
highlight default link rewindRemoved DiffDelete
highlight default link rewindChanged Normal
highlight default link rewindMore Comment
let b:current_syntax = 'rewind'
