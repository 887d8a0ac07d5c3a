package foreign

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// FuzzCheckpoint gives any name and any message to every parser. A checkpoint
// has a kind or an error, and what it says is one line.
func FuzzCheckpoint(f *testing.F) {
	tree := strings.Repeat("ab", 20)
	footer := "branch b\nhead " + tree + "\nindex-tree " + tree + "\nworktree-tree " + tree + "\ncreated " + created + "\nuntracked [\"a\"]\nlargeFiles []\nlargeDirs []"
	f.Add(sharedPrefix+"turn-x-1-2", "pi-rewind:x\nsessionId x\ntrigger turn\nturn 1\ndescription d\n"+footer)
	f.Add(sharedPrefix+"x", "checkpoint:x-turn-1-2\nsessionId x\nturn 1\n"+footer[len("branch b\n"):])
	f.Add(sharedPrefix+"checkpoint-resume-1772600767089", "rewind backup\n")
	f.Add(sharedPrefix+"s/1", "WIP on x")
	f.Add("refs/tallow/rewind/s/turn-1", "tallow rewind: turn 1\n")
	f.Add("refs/checkpoints/a/b/1", "checkpoint:1:before:x\n")
	id, err := oid.Parse(tree)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, ref, message string) {
		for _, p := range places {
			r := &reader{alg: oid.SHA1, turns: map[string]map[string]tallowTurn{}}
			c := Checkpoint{Ref: ref, Commit: id, Tree: id}
			p.read(r, &c, gitbridge.RawCommit{Commit: gitbridge.Commit{Tree: id}, Parents: []oid.ID{id, id}, Message: message})
			if c.Kind == "" && c.Err == nil {
				t.Error("neither a kind nor an error")
			}
			if c.Err != nil && !errors.Is(c.Err, ErrForeign) && !errors.Is(c.Err, ErrMalformed) {
				t.Errorf("error %v", c.Err)
			}
			if c.Err == nil && strings.ContainsAny(c.Label, "\r\n") || c.Tree != id {
				t.Errorf("label %q, tree %v", c.Label, c.Tree)
			}
		}
	})
}

// FuzzForgedDescription puts any text where a prompt stands. What the metadata
// say after it does not change.
func FuzzForgedDescription(f *testing.F) {
	f.Add("a\nbranch x\nhead y")
	f.Add("\n\n")
	tree := strings.Repeat("ab", 20)
	id, err := oid.Parse(tree)
	if err != nil {
		f.Fatal(err)
	}
	footer := "branch b\nhead " + tree + "\nindex-tree " + tree + "\nworktree-tree " + tree + "\ncreated " + created + "\nuntracked []\nlargeFiles []\nlargeDirs []"
	f.Fuzz(func(t *testing.T, text string) {
		c := Checkpoint{Kind: PiRewind, Tree: id}
		err := c.parseMetadata("pi-rewind:x\nsessionId s\ntrigger tool\nturn 5\ndescription "+text+"\n"+footer, oid.SHA1)
		if err != nil || c.Branch != "b" || c.Head != id || c.Session != "s" || c.Turn != 5 || c.Trigger != "tool" || c.Limits.Paths != nil {
			t.Errorf("%v %+v", err, c)
		}
	})
}

// FuzzTurns gives any bytes for a session file.
func FuzzTurns(f *testing.F) {
	f.Add([]byte(`{"type":"custom","customType":"rewind-snapshot","data":{"ref":"refs/tallow/rewind/s/turn-1","files":["a"],"timestamp":1}}`))
	f.Add(append(bytes.Repeat([]byte("x"), turnBytesMax+1), `"rewind-snapshot"`...))
	f.Fuzz(func(t *testing.T, data []byte) {
		turns := map[string]tallowTurn{}
		if err := scanTurns(bytes.NewReader(data), turns); err != nil {
			t.Error(err)
		}
		for ref := range turns {
			if !tallowRef().MatchString(ref) {
				t.Errorf("ref %q", ref)
			}
		}
	})
}

func TestALineThatIsTooLongIsPassedOver(t *testing.T) {
	line := `{"type":"custom","customType":"rewind-snapshot","data":{"ref":"refs/tallow/rewind/s/turn-1","timestamp":1}}`
	long := strings.Repeat("x", 3*turnBytesMax-len(line)) + line // its end looks like an entry
	turns := map[string]tallowTurn{}
	if err := scanTurns(strings.NewReader(long+"\n"+strings.Replace(line, "turn-1", "turn-2", 1)), turns); err != nil {
		t.Fatal(err)
	}
	if len(turns) != 1 {
		t.Errorf("%v", turns)
	}
}
