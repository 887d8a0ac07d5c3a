//go:build linux

package hostile

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// text writes a file of so many bytes, line by line.
func (w *world) text(name string, size int64, line func(i int) string) {
	w.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.at(name)), 0o755))
	f, err := os.Create(w.at(name))
	w.must(err)
	b := bufio.NewWriterSize(f, 1<<20)
	for i, n := 0, int64(0); ; i++ {
		s := line(i)
		if n += int64(len(s)); n > size {
			break
		}
		_, err := io.WriteString(b, s)
		w.must(err)
	}
	w.must(b.Flush())
	w.must(f.Close())
}

// rulesMax is just what git reads of a rule file.
const rulesMax = 100<<20 - 1

func always(s string) func(int) string { return func(int) string { return s } }

func numbers(format string) func(int) string {
	return func(i int) string { return fmt.Sprintf(format, i) }
}

// lines are what a hundred megabytes of rules may be made of.
var ignoreLines = map[string]func(int) string{
	"one name":       always("q\n"),
	"names":          numbers("%x\n"),
	"short globs":    always("*a*b\n"),
	"globs":          numbers("%x*z\n"),
	"suffixes":       numbers("*.%x\n"),
	"paths":          numbers("/%x/a\n"),
	"deep paths":     numbers("%x/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t\n"),
	"classes":        numbers("%x[ab][cd][ef][gh]\n"),
	"one line":       always("a*"),
	"negated":        numbers("!%x\n"),
	"comments":       always("#\n"),
	"nothing at all": always("\n"),
}

var attributeLines = map[string]func(int) string{
	"one name":   always("q a\n"),
	"names":      numbers("%x text\n"),
	"globs":      numbers("*%x*z -text\n"),
	"filters":    numbers("%x filter=a\n"),
	"attributes": always("q a b c d e f g h i j k l m n o p q r s t u v w x y z\n"),
	"macros":     numbers("[attr]m%x text\n"),
	"one line":   always("a "),
}

func TestNoRulesTakeMoreThanTheirBound(t *testing.T) {
	kinds := map[string]kind{}
	for what, line := range ignoreLines {
		for _, name := range []string{".gitignore", ".git/info/exclude", "../config/git/ignore"} {
			kinds[worldName(name, what)] = kind{make: func(w *world) { w.text(name, rulesMax, line) }, slow: true}
		}
	}
	for what, line := range attributeLines {
		for _, name := range []string{".gitattributes", "dir/.gitattributes", ".git/info/attributes"} {
			kinds[worldName(name, what)] = kind{make: func(w *world) { w.text(name, rulesMax, line) }, slow: true}
		}
	}
	for what, name := range map[string]string{"ignore": ".gitignore", "attributes": ".gitattributes"} {
		line := numbers("%x*z text\n")
		kinds["16 directories, "+what] = kind{make: func(w *world) {
			for i := range 16 {
				w.text(fmt.Sprintf("many/%d/%s", i, name), rulesMax/16, line)
				w.write(fmt.Sprintf("many/%d/file", i), "text\n")
			}
		}, slow: true}
		kinds["32 levels, "+what] = kind{make: func(w *world) {
			at := "deep/"
			for range 32 {
				w.text(at+name, rulesMax/256, line)
				at += "deep/"
			}
		}, slow: true}
	}
	all(t, kinds)
}

func TestNoConfigurationTakesMoreThanItsBound(t *testing.T) {
	kinds := map[string]kind{}
	for what, line := range map[string]func(int) string{
		"one setting":      always("a=b\n"),
		"unknown settings": numbers("a%x=b\n"),
		"secrets":          numbers("secrets=%x*z\n"),
		"sections":         numbers("[rewind \"%x\"]\na\n"),
		"filters":          numbers("[filter \"%x\"]\nclean=cat\n"),
		"nothing":          always("\n"),
	} {
		for size, bytes := range map[string]int64{"under the bound": 64<<20 - 100, "above it": 65 << 20, "some": 8 << 20} {
			kinds[what+", "+size] = kind{make: func(w *world) {
				head := "[core]\nrepositoryformatversion=0\n[rewind]\n"
				w.text(".git/config", bytes, func(i int) string {
					if i == 0 {
						return head
					}
					return line(i)
				})
			}, slow: true}
		}
	}
	all(t, kinds)
}
