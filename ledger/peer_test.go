package ledger

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A peer reads a session as pi-rewind-hook 1.8.3 is documented to: whole lines
// into generic values, all entries for bindings, the branch for the state. It
// shares no code with the package, so that the two check each other.
type peer struct {
	entries []map[string]any
	byID    map[string]map[string]any
	parent  string
	bound   map[string]string
	labels  map[string]bool
	current string // said last in the file
	undo    string
	pending map[string]any
}

func readPeer(text string) *peer {
	p := &peer{byID: map[string]map[string]any{}, bound: map[string]string{}, labels: map[string]bool{}}
	for line := range strings.SplitSeq(text, "\n") {
		var e map[string]any
		if json.Unmarshal([]byte(line), &e) != nil || e == nil {
			continue
		}
		if e["type"] == "session" {
			p.parent, _ = e["parentSession"].(string)
			continue
		}
		p.entries = append(p.entries, e)
		if id, ok := e["id"].(string); ok {
			p.byID[id] = e
		}
		p.scan(e)
	}
	return p
}

func (p *peer) scan(e map[string]any) {
	data, _ := e["data"].(map[string]any)
	switch {
	case e["type"] == "label":
		target, _ := e["targetId"].(string)
		label, _ := e["label"].(string)
		delete(p.labels, target)
		if strings.TrimSpace(label) != "" {
			p.labels[target] = true
		}
	case e["type"] != "custom" || data["v"] != 2.0:
	case e["customType"] == "rewind-fork-pending":
		if current, _ := data["current"].(string); current != "" {
			p.pending = data
		}
	case e["customType"] == "rewind-turn" && isList(data["bindings"]) && isList(data["snapshots"]):
		p.bind(data)
	case e["customType"] == "rewind-op" && isList(data["snapshots"]):
		p.bind(data)
		if id := at(data, "current"); id != "" {
			p.current = id
		}
		if id := at(data, "undo"); id != "" {
			p.undo = id
		}
	}
}

func isList(v any) bool { _, ok := v.([]any); return ok }

func at(data map[string]any, name string) string {
	list, _ := data["snapshots"].([]any)
	i, ok := data[name].(float64)
	if !ok || i < 0 || int(i) >= len(list) || i != float64(int(i)) {
		return ""
	}
	id, _ := list[int(i)].(string)
	return id
}

func (p *peer) bind(data map[string]any) {
	bindings, _ := data["bindings"].([]any)
	for _, b := range bindings {
		pair := b.([]any)
		entry := pair[0].(string)
		if id := at(map[string]any{"snapshots": data["snapshots"], "i": pair[1]}, "i"); id != "" {
			p.bound[entry] = id
		}
	}
}

// state is what the peer reconstructs when it opens the session at a leaf.
func (p *peer) state(leaf string) (current, undo string) {
	var path []map[string]any
	seen := map[string]bool{}
	for e := p.byID[leaf]; e != nil && !seen[e["id"].(string)]; {
		seen[e["id"].(string)] = true
		path = append([]map[string]any{e}, path...)
		up, _ := e["parentId"].(string)
		e = p.byID[up]
	}
	var point string
	for _, e := range path {
		if id := p.bound[e["id"].(string)]; id != "" && peerRestorable(e) {
			point = id
		}
		data, _ := e["data"].(map[string]any)
		if e["type"] != "custom" || e["customType"] != "rewind-op" || data["v"] != 2.0 || !isList(data["snapshots"]) {
			continue
		}
		if id := at(data, "current"); id != "" {
			current = id
		}
		if id := at(data, "undo"); id != "" {
			undo = id
		}
	}
	if current == "" {
		current = point
	}
	return current, undo
}

func peerRestorable(e map[string]any) bool {
	m, _ := e["message"].(map[string]any)
	switch e["type"] {
	case "message":
		return m["role"] == "user" || m["role"] == "assistant"
	case "compaction", "branch_summary", "custom_message":
		return true
	}
	return false
}

// resolvePeer is the peer's walk through the lineage, with a bound in place of
// the endless loop.
func resolvePeer(t *testing.T, peers map[string]*peer, path, entry string, exists func(string) bool) string {
	for range 20 {
		p := peers[path]
		if p == nil {
			return ""
		}
		if id := p.bound[entry]; id != "" && exists(id) {
			return id
		}
		if path = p.parent; path == "" {
			return ""
		}
	}
	t.Fatal("lineage does not end")
	return ""
}

// randomize appends n random entries to a session: conversation, records good
// and bad, labels, jumps to other branches, garbage.
func randomize(r *rand.Rand, s *script, n int) {
	var ids []string
	pick := func() string {
		if len(ids) == 0 || r.IntN(20) == 0 {
			return "ffffffff" // nobody's
		}
		return ids[r.IntN(len(ids))]
	}
	record := func() object {
		var list []string
		for range r.IntN(4) {
			list = append(list, id(r.IntN(12)).String())
		}
		data := object{"v": 2, "snapshots": append([]string{}, list...)}
		for _, name := range []string{"current", "undo"} {
			if r.IntN(2) == 0 {
				data[name] = r.IntN(5) - 1
			}
		}
		var bindings [][]any
		for range r.IntN(4) {
			bindings = append(bindings, []any{pick(), r.IntN(5) - 1})
		}
		if r.IntN(8) > 0 {
			data["bindings"] = append([][]any{}, bindings...)
		}
		switch r.IntN(20) {
		case 0:
			data["v"] = 1
		case 1:
			data["snapshots"] = nil
		case 2:
			data["V"] = 2 // a name in another case is another name
			delete(data, "v")
		}
		return data
	}
	for range n {
		switch r.IntN(14) {
		case 0, 1, 2:
			ids = append(ids, s.user(fmt.Sprintf("prompt %d \u00e9\n more", r.IntN(9))))
		case 3, 4, 5:
			ids = append(ids, s.assistant("bash", "edit"))
		case 6:
			ids = append(ids, s.entry([]string{"compaction", "branch_summary", "custom_message", "model_change"}[r.IntN(4)], nil))
		case 7, 8:
			s.entry("custom", object{"customType": "rewind-turn", "data": record()})
		case 9:
			s.entry("custom", object{"customType": "rewind-op", "data": record()})
		case 10:
			pending := object{"v": 2, "current": id(r.IntN(12)).String()}
			if r.IntN(5) == 0 {
				pending["current"] = ""
			}
			s.entry("custom", object{"customType": "rewind-fork-pending", "data": pending})
		case 11:
			s.label(pick(), []string{"keep", "", " "}[r.IntN(3)])
		case 12:
			s.leaf = pick()
		case 13:
			s.lines = append(s.lines, []string{`{"type":"message","id":"torn`, "", "\x00\x00", `{} {}`, "[1]", "\xff\xfe"}[r.IntN(6)])
		}
	}
}

func TestAnswersAreThoseOfThePeer(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := newScript("")
		randomize(r, s, 60)
		text := s.text()
		if r.IntN(2) == 0 {
			text = strings.TrimSuffix(text, "\n")
		}
		ours, theirs := open(t, text), readPeer(text)
		if len(ours.bound) != len(theirs.bound) || len(ours.labels) != len(theirs.labels) {
			t.Fatalf("seed %d: %d points, %d labels; peer %d, %d", seed, len(ours.bound), len(ours.labels), len(theirs.bound), len(theirs.labels))
		}
		for entry, want := range theirs.bound {
			if got, _ := ours.Binding(entry); got.String() != want {
				t.Fatalf("seed %d: point %s = %s, peer %s", seed, entry, got, want)
			}
		}
		for entry := range theirs.labels {
			if ours.Label(entry) == "" {
				t.Fatalf("seed %d: label of %s lost", seed, entry)
			}
		}
		for entry := range theirs.byID {
			st := ours.State(entry)
			current, undo := theirs.state(entry)
			if st.Current.String() != current || st.Undo.String() != undo {
				t.Fatalf("seed %d: state at %s = %v, peer %s, %s", seed, entry, st, current, undo)
			}
		}
		checkLive(t, seed, ours, theirs)
	}
}

// checkLive asserts that whatever the peer keeps or pins is kept or pinned.
func checkLive(t *testing.T, seed uint64, ours *Session, theirs *peer) {
	t.Helper()
	live := new(Sessions).Live(ours)
	has := func(hex string, why Reason) {
		t.Helper()
		if hex == "" {
			return
		}
		v, err := oid.Parse(hex)
		if err != nil {
			t.Fatal(err)
		}
		if live[v].Reasons&why != why {
			t.Fatalf("seed %d: %s has reasons %b, want %b", seed, v, live[v].Reasons, why)
		}
	}
	for _, hex := range theirs.bound {
		has(hex, Bound)
	}
	has(theirs.current, Current)
	has(theirs.undo, Undo)
	if theirs.pending != nil {
		has(theirs.pending["current"].(string), Pending)
	}
	for entry := range theirs.labels {
		has(theirs.bound[entry], Labelled)
	}
}

func TestLineageIsThatOfThePeer(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 8))
		dir := t.TempDir()
		var paths []string
		peers := map[string]*peer{}
		for i := range 4 {
			parent := ""
			if i > 0 {
				parent = paths[r.IntN(i)]
			}
			s := newScript(parent)
			randomize(r, s, 25) // ids start anew, so they repeat across files
			paths = append(paths, write(t, filepath.Join(dir, fmt.Sprint(i)), s.text()))
			peers[paths[i]] = readPeer(s.text())
		}
		gone := map[oid.ID]bool{}
		for i := range 12 {
			gone[id(i)] = r.IntN(3) == 0
		}
		var c Sessions
		for _, path := range paths {
			s, err := c.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 26 {
				entry := fmt.Sprintf("%08x", i)
				got, ok := c.Point(s, entry, func(v oid.ID) bool { return !gone[v] })
				want := resolvePeer(t, peers, path, entry, func(hex string) bool { v, _ := oid.Parse(hex); return !gone[v] })
				if got.String() != want || ok != (want != "") {
					t.Fatalf("seed %d: %s in %s = %s, peer %s", seed, entry, path, got, want)
				}
			}
		}
	}
}
