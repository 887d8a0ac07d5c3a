package worktree

import (
	"os"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// What a file's permissions are is asked of the file that is read: another one may have
// its name by then.
func TestAFileIsJudgedByWhatIsRead(t *testing.T) {
	for what, change := range map[string]func(p *place){
		"another file": func(p *place) {
			p.Write("new", "private")
			p.must(os.Chmod(p.Path("new"), 0o600))
			p.must(os.Rename(p.Path("new"), p.Path("a")))
		},
		"other permissions": func(p *place) {
			p.must(os.Chmod(p.Path("a"), 0o600))
			p.must(os.WriteFile(p.Path("a"), []byte("private"), 0o600))
		},
	} {
		for _, late := range []bool{false, true} {
			p := newRepo(t)
			p.Write("a", "open")
			p.must(os.Chmod(p.Path("a"), 0o644))
			p.Write("b", "open")
			p.must(os.Chmod(p.Path("b"), 0o644))
			r := p.scan(func(c *Config) {
				c.Readers = dirfd.Everybody()
				if late { // between two looks at the open file, each time
					c.sleep = func(path string) {
						if path == "a" {
							p.must(os.Chmod(p.Path("a"), 0o644))
							change(p)
						}
					}
					return
				}
				c.OverLimit = func(size int64) string { // between the look and the opening
					if st, err := os.Stat(p.Path("a")); err == nil && st.Mode().Perm() == 0o644 && size == 4 {
						change(p)
					}
					return ""
				}
			})
			data, err := p.loadTree(r.State.Tree)
			p.must(err)
			list, err := tree.Decode(data, p.alg)
			if err != nil || len(list) != 1 || list[0].Name != "b" {
				t.Errorf("%s, late %v: git has %v, %v", what, late, list, err)
			}
			if got := p.recorded(r)["a"]; got == "" {
				t.Errorf("%s, late %v: the snapshot lacks it", what, late)
			}
		}
	}
}
