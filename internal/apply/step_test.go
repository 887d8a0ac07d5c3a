package apply

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

func TestAStepIsEncodedAsThePackageJSONWould(t *testing.T) {
	file := Node{Mode: tree.GitFile, ID: oid.SHA1.Sum(oid.Blob, []byte("x"))}
	long := Node{Mode: tree.Symlink | 0o777, ID: oid.BLAKE3.Sum(oid.Blob, []byte("y"))}
	all := Fingerprint{Ino: math.MaxUint64, Size: math.MaxInt64, Mtime: math.MinInt64, Ctime: -1, Mode: tree.GitExec}
	for _, s := range []Step{
		{},
		{Path: "a/b", Have: file, Want: long, Expect: all},
		{Path: "not UTF-8: \xff\x00\"<", Want: file},
		{Path: "gone", Have: long, Expect: Fingerprint{Ctime: 1}},
		{Path: "dir", Have: Node{Mode: tree.Dir | 0o500}, Want: Node{Mode: tree.Dir | 0o755}},
	} {
		want, err := json.Marshal(stepJSON{[]byte(s.Path), s.Have, s.Want, s.Expect})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.AppendJSON([]byte("before ")); string(got) != "before "+string(want) {
			t.Errorf("%s, want %s", got, want)
		}
		var back Step
		if err := json.Unmarshal(want, &back); err != nil || back != s {
			t.Errorf("%+v came back as %+v, %v", s, back, err)
		}
	}
}
