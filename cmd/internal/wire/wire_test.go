package wire

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
)

// want compares the JSON of a value.
func want(t *testing.T, v any, text string) {
	t.Helper()
	got, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != text {
		t.Errorf("%s\nnot %s", got, text)
	}
}

func TestNoByteOfAPathIsLost(t *testing.T) {
	want(t, Notes([]engine.Note{{Path: "a/ü", Reason: "x"}, {Path: "\xff/b", Reason: "y"}}),
		`[{"path":"a/ü","reason":"x"},{"path":"`+"\uFFFD"+`/b","path_b64":"/y9i","reason":"y"}]`)
}

func TestAListIsNeverNull(t *testing.T) {
	want(t, NewList(nil, nil, nil, nil), `{"snapshots":[]}`)
	want(t, NewPruned(&engine.Housekeeping{}, nil, false), `{"dropped":[],"foreign":[],"kept":null,"ledgers":0,"objects":0,"freed_bytes":0,"bridged":true}`)
	want(t, NewPurged(&engine.Housekeeping{}, true),
		`{"dry_run":true,"paths":[],"snapshots":0,"freed_bytes":0,"shared":0,"left":[],"bridged":true,"git":{"objects":0,"reflog":false,"tracked":[]}}`)
	want(t, NewImported(&engine.Housekeeping{}, false), `{"imported":[],"skipped":[],"bridged":true}`)
	want(t, NewSnapshot(&engine.Recorded{Snapshot: &engine.Snapshot{}}, time.Millisecond),
		`{"tree":"","reused":false,"changed":0,"skipped":[],"unexpected":[],"bridged":true,"elapsed_ms":1}`)
}

func TestWhatWasRecoveredSaysNothingOfGit(t *testing.T) {
	late := errors.New("not in git yet")
	r := &engine.Restored{Bridge: late, Recovered: &engine.Restored{Bridge: late, Written: 2}}
	want(t, NewRestored(r, 0), `{"id":"","written":0,"deleted":0,"kept":[],"conflicts":[],"bridged":false,`+
		`"recovered":{"id":"","written":2,"deleted":0,"kept":[],"conflicts":[],"elapsed_ms":0},"elapsed_ms":0}`)
}

func TestLinesAreCountedOnlyIfSomebodyAsks(t *testing.T) {
	file := engine.Side{Mode: 0o100644}
	list := []engine.Change{{Path: "text", From: file, To: file}, {Path: "image", To: file}}
	plain, err := NewDifference(list, nil)
	if err != nil {
		t.Fatal(err)
	}
	want(t, plain, `{"changes":[{"path":"text","status":"M","old_mode":"100644","new_mode":"100644"},{"path":"image","status":"A","new_mode":"100644"}]}`)
	counted, err := NewDifference(list, func(c engine.Change) (*Lines, error) {
		if c.Path == "image" {
			return nil, nil
		}
		return &Lines{Removed: 3}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want(t, counted, `{"changes":[{"path":"text","status":"M","old_mode":"100644","new_mode":"100644","added":0,"removed":3},`+
		`{"path":"image","status":"A","new_mode":"100644","binary":true}]}`)
	if _, err := NewDifference(list, func(engine.Change) (*Lines, error) { return nil, errors.ErrUnsupported }); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("what could not be read is %v", err)
	}
}

func TestAPlanHasChangesWhereThereAreAny(t *testing.T) {
	p := &engine.Diff{Target: &engine.Snapshot{}}
	want(t, NewPlan(p, 0), `{"id":"","dry_run":true,"written":0,"deleted":0,"kept":[],"conflicts":[],"elapsed_ms":0}`)
	p.Changes = []engine.Change{{Path: "new", To: engine.Side{Mode: 0o100644}}, {Path: "old", From: engine.Side{Mode: 0o100644}}}
	want(t, NewPlan(p, 0), `{"id":"","dry_run":true,"changes":[{"path":"new","status":"A","new_mode":"100644"},`+
		`{"path":"old","status":"D","old_mode":"100644"}],"written":1,"deleted":1,"kept":[],"conflicts":[],"elapsed_ms":0}`)
}
