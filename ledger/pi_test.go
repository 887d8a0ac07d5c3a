package ledger

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// piReads asks Pi's own session manager what it reads in the files.
const piReads = `
const [dist, ...paths] = process.argv.slice(1);
const { SessionManager } = await import(dist + "/core/session-manager.js");
const answers = paths.map((path) => {
	const m = SessionManager.open(path);
	const entries = m.getEntries();
	const labels = {};
	for (const e of entries) if (e.id && m.getLabel(e.id)) labels[e.id] = m.getLabel(e.id);
	return { id: m.getHeader()?.id, leaf: m.getLeafId(), ids: entries.map((e) => e.id ?? ""), branch: m.getBranch().map((e) => e.id), labels };
});
console.log(JSON.stringify(answers));
`

// forkByPi makes the child of a session the way /fork does.
const forkByPi = `
const [dist, path, leaf] = process.argv.slice(1);
const { SessionManager } = await import(dist + "/core/session-manager.js");
const m = SessionManager.open(path);
console.log(JSON.stringify(m.createBranchedSession(leaf)));
`

type piAnswer struct {
	ID, Leaf    string
	IDs, Branch []string
	Labels      map[string]string
}

func askPi(t *testing.T, script string, answer any, args ...string) {
	t.Helper()
	dir := os.Getenv("REWIND_TEST_PI")
	if dir == "" {
		t.Skip("SKIPPED: not compared with Pi itself. Set REWIND_TEST_PI to the directory of an installed pi-coding-agent package")
	}
	cmd := exec.Command("node", append([]string{"--input-type=module", "-e", script, filepath.Join(dir, "dist")}, args...)...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "PI_CODING_AGENT_DIR="+home, "PI_OFFLINE=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, answer); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
}

// piFiles are sessions that a reader could understand differently: random ones,
// and one of each line that the tests of the grammar use.
func piFiles(t *testing.T) (paths []string) {
	dir := t.TempDir()
	add := func(text string) {
		paths = append(paths, write(t, filepath.Join(dir, fmt.Sprintf("%d.jsonl", len(paths))), text))
	}
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 11))
		s := newScript("")
		randomize(r, s, 40)
		text := s.text()
		if r.IntN(2) == 0 {
			text = strings.TrimRight(text, "\n")
		}
		if r.IntN(4) == 0 {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		add(text)
	}
	for i, seed := range lineSeeds {
		if seed == "null" {
			continue // Pi does not survive it
		}
		s := newScript("")
		s.user("first")
		s.lines = append(s.lines, strings.Replace(seed, `"id":`, fmt.Sprintf(`"x":0,"type":"t","id":"e%d","y":`, i), 1))
		s.user("last")
		add(s.text())
	}
	return paths
}

func TestPiReadsTheSameEntries(t *testing.T) {
	paths := piFiles(t)
	var answers []piAnswer
	askPi(t, piReads, &answers, paths...)
	for i, a := range answers {
		s, err := look(paths[i])
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for e := range s.Entries() {
			ids = append(ids, e.ID)
		}
		named := slices.DeleteFunc(a.IDs, func(id string) bool { return id == "" })
		leaf, _ := s.Leaf()
		path := s.branch(leaf.ID)
		var branch []string
		for _, e := range path {
			branch = append(branch, e.ID)
		}
		if !slices.Equal(ids, named) || leaf.ID != a.Leaf || !slices.Equal(branch, a.Branch) || s.Header().ID != a.ID {
			t.Errorf("%d: entries %v, leaf %s, branch %v\nPi: %v", i, ids, leaf.ID, branch, a)
		}
	}
}

func TestAChildThatPiMadeFindsThePointsOfItsParent(t *testing.T) {
	p := newScript("")
	u := p.user("one")
	a := p.assistant("edit")
	p.label(u, "keep")
	p.record(Record{Kind: Turn, Bindings: []Binding{{u, id(1)}, {a, id(2)}}})
	p.record(Record{Kind: ForkPending, Current: id(3)})
	path := write(t, "p.jsonl", p.text())
	var child string
	askPi(t, forkByPi, &child, path, a)
	var sessions Sessions
	s, err := sessions.Open(child)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := sessions.Point(s, a, all); !ok || got != id(2) || s.Header().ParentSession != path {
		t.Errorf("point %v %v through %q", got, ok, s.Header().ParentSession)
	}
	if s.Label(u) != "keep" || sessions.Live(s)[id(1)].Reasons != Labelled {
		t.Errorf("label %q, live %v", s.Label(u), sessions.Live(s))
	}
}
