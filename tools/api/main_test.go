package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module writes a module with a door, and a package behind it.
func module(t *testing.T, door, behind string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.test/m\n\ngo 1.26\n", "engine/engine.go": "package engine\n\nimport \"example.test/m/engine/internal/behind\"\n\n" + door,
		"engine/internal/behind/behind.go": "package behind\n\n" + behind,
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWhatBreaksProgramsIsNamed(t *testing.T) {
	old := module(t, "type Shown = behind.Shown\n\nfunc Do(a int) {}\n\nfunc Gone() {}\n",
		"type Shown struct{ A, B int; Of *Inner }\n\ntype Inner struct{ X int }\n\ntype Hidden struct{ A int }\n")
	now := module(t, "type Shown = behind.Shown\n\nfunc Do(a, b int) {}\n\nfunc More() {}\n",
		"type Shown struct{ A int; Of *Inner }\n\ntype Inner struct{ Y int }\n\ntype Hidden struct{ B int }\n")
	broken, added, err := compare(old, now)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, change := range broken {
		name, _, _ := strings.Cut(change, ":")
		names = append(names, name)
	}
	if want := []string{"Do", "Gone", "Inner.X", "Shown.B"}; !slices.Equal(names, want) {
		t.Errorf("%q break, want %q", broken, want)
	}
	if !slices.Contains(added, "More: added") {
		t.Errorf("%q are added", added)
	}
	log := newest("# What changed\n\n## Unreleased\n\n`Do`, `Gone` and `Inner.X`\n\n## 0.1\n\n`Shown.B`\n")
	if err := judge("v0.1.0", broken, added, log); err == nil || !strings.Contains(err.Error(), "1 of these") {
		t.Errorf("one is not named: %v", err)
	}
	if err := judge("v0.1.0", broken, added, log+"`Shown.B`"); err != nil {
		t.Errorf("all are named: %v", err)
	}
	if err := judge("v1.0.0", broken, added, log+"`Shown.B`"); err == nil {
		t.Error("what was promised may break")
	}
}
