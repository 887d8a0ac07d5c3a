package bisect

import (
	"reflect"
	"testing"
)

func TestWhatABisectKeepsHasEveryByteOfPathsAndCommand(t *testing.T) {
	was := &Bisect{state: state{Bisect: true, Paths: []string{"p\xff", "q"}, Command: []string{"sh", "\xfe\n"}, Tested: []Tested{{Verdict: Good}}}}
	is := &Bisect{}
	if err := is.decode(was.encode()); err != nil || !reflect.DeepEqual(was.state, is.state) {
		t.Errorf("%+v became %+v, %v", was.state, is.state, err)
	}
	for _, text := range []string{"", "null", "[]", "{}", `{"bisect":false,"paths":["x"]}`, `{"bisect":true,"paths":[1]}`, `{"bisect":true,"paths":{}}`} {
		if err := new(Bisect).decode([]byte(text)); err == nil {
			t.Errorf("%q is taken for a bisect", text)
		}
	}
	if err := is.decode([]byte(`{"bisect":true,"good":null,"paths":["x"]}`)); err != nil {
		t.Errorf("what an earlier version wrote: %v", err)
	}
}
