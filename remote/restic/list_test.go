package restic

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// allocated is what f takes of memory, the collected too.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestNoListOfNothingTakesMoreMemoryThanItsText(t *testing.T) {
	many := func(before, one, after string) []byte {
		return []byte(before + strings.Repeat(one+",", 1<<18) + one + after)
	}
	for name, text := range map[string][]byte{
		"nodes":    many(`{"nodes":[`, "{}", "]}"),
		"nulls":    many(`{"nodes":[`, "null", "]}"),
		"contents": many(`{"nodes":[{"name":"f","type":"file","content":[`, "null", "]}]}"),
	} {
		var err error
		if n := allocated(func() { _, err = parseTree(ID{}, text) }); err == nil || n > uint64(len(text)) {
			t.Errorf("%s: %d bytes of text took %d of memory, %v", name, len(text), n, err)
		}
	}
	for name, text := range map[string][]byte{
		"packs":      many(`{"packs":[`, "{}", "]}"),
		"blobs":      many(`{"packs":[{"id":"`+strings.Repeat("0a", 32)+`","blobs":[`, "{}", "]}]}"),
		"supersedes": many(`{"supersedes":[`, "null", "]}"),
	} {
		var f indexFile
		var err error
		if n := allocated(func() { err = json.Unmarshal(text, &f) }); err == nil || n > uint64(len(text)) {
			t.Errorf("%s: %d bytes of text took %d of memory, %v", name, len(text), n, err)
		}
	}
}

func TestATreeIsReadWhateverTheSpaceInIt(t *testing.T) {
	id := strings.Repeat("0a", 32)
	text := ` { "x" : [ {"y":"]}\"["} ] , "nodes" : [ { "name":"a,]\\\"b" , "content" : [ "` + id + `" , "` + id + "\"\n ] , \"o\":{\"p\":[1,2]}} ,\t{\"name\":\"c\",\"content\":null} ] } "
	nodes, err := parseTree(ID{}, []byte(text))
	if err != nil || len(nodes) != 2 || nodes[0].Name != `a,]"b` || len(nodes[0].Content) != 2 || !bytes.Equal(nodes[0].Content[1][:], bytes.Repeat([]byte{10}, 32)) || nodes[1].Content != nil {
		t.Errorf("%+v %v", nodes, err)
	}
	for _, empty := range []string{`{"nodes":[]}`, `{"nodes":[ ]}`, `{"nodes":null}`, `{}`} {
		if nodes, err := parseTree(ID{}, []byte(empty)); err != nil || len(nodes) != 0 {
			t.Errorf("%s: %v %v", empty, nodes, err)
		}
	}
	bad := []string{`{"nodes":{}}`, `{"nodes":[1]}`, `{"nodes":[{"name":"a","content":["` + id[1:] + `"]}]}`, `{"nodes":[{"name":"a","content":"` + id + `"}]}`, `{"nodes":[{"name":"a"},{"name":"a"}]}`}
	if i := slices.IndexFunc(bad, func(text string) bool { _, err := parseTree(ID{}, []byte(text)); return err == nil }); i >= 0 {
		t.Errorf("%s was read", bad[i])
	}
}

func TestASnapshotOfVeryManyPathsOrTagsIsReadWithTheFirst(t *testing.T) {
	r, _ := made(t)
	few, _ := filled(t, r)
	many := append(slices.Clone(few.Tags), slices.Repeat([]string{""}, 2*textsMost)...)
	for name, s := range map[string]*Snapshot{
		"paths": {Paths: slices.Repeat(texts{"/p"}, 2*textsMost), Tags: few.Tags},
		"tags":  {Paths: few.Paths, Tags: many},
	} {
		s.Time, s.Tree = few.Time, few.Tree
		if err := r.PutSnapshot(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		got, err := r.ReadSnapshots(t.Context(), []ID{s.ID}, func(err error) { t.Errorf("%s: %v", name, err) })
		if err != nil || len(got) != 1 || got[0].Tree != s.Tree {
			t.Fatalf("%s: %d read, %v", name, len(got), err)
		}
		for is, was := range map[*texts]texts{&got[0].Paths: s.Paths, &got[0].Tags: s.Tags} {
			if !slices.Equal(*is, was[:min(len(was), textsMost)]) {
				t.Errorf("%s: %d of %d are read", name, len(*is), len(was))
			}
		}
	}
}

func TestASnapshotThatIsTooLargeIsNamed(t *testing.T) {
	r, _ := made(t)
	few, _ := filled(t, r)
	few.Hostname = strings.Repeat("h", snapshotMost)
	if err := r.PutSnapshot(t.Context(), few); err != nil {
		t.Fatal(err)
	}
	var bad []error
	got, err := r.ReadSnapshots(t.Context(), []ID{few.ID}, func(err error) { bad = append(bad, err) })
	if err != nil || len(got) != 0 || len(bad) != 1 || !errors.Is(bad[0], ErrTampered) {
		t.Errorf("%d read, %v, %v", len(got), err, bad)
	}
}
