package ledger

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestRecordsAreValidByThePeersRules(t *testing.T) {
	one, two := id(1).String(), id(2).String()
	for _, c := range []struct {
		kind Kind
		data string
		want string // bindings, current, undo; "" if invalid
	}{
		{Turn, `{"v":2,"snapshots":[],"bindings":[]}`, "[]  "},
		{Turn, `{"v":2,"snapshots":[]}`, ""},
		{Turn, `{"v":2,"bindings":[]}`, ""},
		{Turn, `{"v":2,"snapshots":null,"bindings":[]}`, ""},
		{Turn, `{"v":3,"snapshots":[],"bindings":[]}`, ""},
		{Turn, `{"v":"2","snapshots":[],"bindings":[]}`, ""},
		{Turn, `{"V":2,"snapshots":[],"bindings":[]}`, ""},
		{Turn, `{"v":2.0,"snapshots":["ONE"],"bindings":[["e",0],["f",1],["g",-1],["h",0.5],["i"],[],7,["",0],[3,0],["j",null],["k",0,9]]}`, "[{e ONE} {k ONE}]  "},
		{Turn, `{"v":2,"snapshots":["HEAD","0000000000000000000000000000000000000000","ONE"],"bindings":[["e",0],["f",1],["g",2]]}`, "[{g ONE}]  "},
		{Turn, `{"v":2,"snapshots":["ONE"],"bindings":[["e",0]],"current":0}`, "[{e ONE}]  "},
		{Op, `{"v":2,"snapshots":["ONE","TWO"],"current":1,"undo":0}`, "[] TWO ONE"},
		{Op, `{"v":2,"snapshots":["ONE"],"current":"0","undo":1e300}`, "[]  "},
		{Op, `{"v":2,"snapshots":["ONE"],"bindings":{},"current":0}`, "[] ONE "},
		{Op, `{"v":2,"snapshots":["LONG"],"undo":0}`, "[]  LONG"},
		{Op, `{"v":2,"current":0}`, ""},
		{ForkPending, `{"v":2,"current":"ONE"}`, "[] ONE "},
		{ForkPending, `{"v":2,"current":"ONE","undo":"TWO"}`, "[] ONE TWO"},
		{ForkPending, `{"v":2,"current":""}`, ""},
		{ForkPending, `{"v":2,"undo":"ONE"}`, ""},
		{ForkPending, `[]`, ""},
		{Op, ``, ""}, {Op, `null`, ""}, {Op, `{"v":2,`, ""},
	} {
		ids := strings.NewReplacer("ONE", one, "TWO", two, "LONG", strings.Repeat("ab", 32))
		r, err := decodeRecord(c.kind, []byte(ids.Replace(c.data)))
		got := fmt.Sprintf("%v %v %v", r.Bindings, r.Current, r.Undo)
		if want := ids.Replace(c.want); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%s %s: %s, %v", c.kind, c.data, got, err)
		}
		if err != nil && !errors.Is(err, ErrRecord) {
			t.Error(err)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add("rewind-turn", []byte(`{"v":2,"snapshots":["`+id(1).String()+`"],"bindings":[["e",0]]}`))
	f.Add("rewind-op", []byte(`{"v":2,"snapshots":["`+id(1).String()+`"],"current":0,"undo":0}`))
	f.Add("rewind-fork-pending", []byte(`{"v":2,"current":"`+id(1).String()+`"}`))
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		r, err := decodeRecord(Kind(kind), data)
		if err != nil {
			return
		}
		again, err := encodeRecord(r)
		if errors.Is(err, ErrRecord) { // valid, but says nothing
			return
		}
		r2, err := decodeRecord(Kind(kind), again)
		r.Mentioned, r2.Mentioned = nil, nil
		if err != nil || !reflect.DeepEqual(r, r2) {
			t.Fatalf("%s: %v became %v, %v", data, r, r2, err)
		}
	})
}
