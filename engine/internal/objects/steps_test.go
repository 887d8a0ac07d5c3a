package objects

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestAPlanIsKeptAsTheJSONOfItsSteps(t *testing.T) {
	node := apply.Node{Mode: 0o100644, ID: oid.SHA1.Sum(oid.Blob, []byte("text"))}
	all := []apply.Step{{Path: "new", Want: node}, {Path: "not UTF-8 \xff \"<>", Have: node, Expect: apply.Fingerprint{Ino: 1, Size: 2, Mtime: -3, Ctime: 4, Mode: 5}}}
	for n := range len(all) + 1 {
		got, err := EncodeSteps(all[:n])
		if err != nil {
			t.Fatal(err)
		}
		if want, err := json.Marshal(keptPlan{Version: planVersion, Steps: all[:n]}); err != nil || string(got) != string(want) {
			t.Errorf("%d steps: %s, not %s (%v)", n, got, want, err)
		}
		back, err := DecodeSteps(got)
		if err != nil || !slices.Equal(back, all[:n]) {
			t.Errorf("%d steps come back as %+v, %v", n, back, err)
		}
	}
}
