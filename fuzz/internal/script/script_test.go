package script

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTheStepsOfAFactAreCarriedOutWithEachValue(t *testing.T) {
	const text = `
# A comment.
= one fact
needs something
each A,B x,y x,z z
each C "1 2"
say {A} "{B} {none} \"q\"" {C}
set D say {A}{A}
for E,F a,b c {
	repeat 2 {
		# Blocks may have comments.
		say {D}{E}{F}
	}
}
if {B} {
	do "say {B}; say \"b\""
}
= another
say end
`
	facts, err := parse("file", text, map[string]string{"known": "k"})
	if err != nil || len(facts) != 2 || facts[0].Name != "one fact" || !slices.Equal(facts[0].Needs, []string{"something"}) || len(facts[0].Scenarios) != 3 {
		t.Fatalf("%+v, %v", facts, err)
	}
	want := map[int]string{
		0: `x|y {none} "q"|1 2 xx xxab xxab xxc xxc y b`,
		1: `x|z {none} "q"|1 2 xx xxab xxab xxc xxc z b`,
		2: `z| {none} "q"|1 2 zz zzab zzab zzc zzc`,
	}
	for i, s := range facts[0].Scenarios {
		var said []string
		s.Run(func(words []string, _ func()) string {
			said = append(said, strings.Join(words[1:], "|"))
			return words[1]
		})
		if got := strings.Join(said, " "); got != want[i] {
			t.Errorf("%q: %s, want %s", s.Name, got, want[i])
		}
	}
	for _, bad := range []string{"= a\nfor A b {\nsay", "= a\nsay \"x"} {
		if _, err := parse("file", bad, nil); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
	var at string
	facts[1].Scenarios[0].Run(func([]string, func()) string { at = facts[1].Scenarios[0].At(); return "" })
	if at != fmt.Sprintf("file:%d", strings.Count(text, "\n")) {
		t.Errorf("the last step is at %s", at)
	}
}
