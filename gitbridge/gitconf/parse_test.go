package gitconf

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

var samples = []string{
	"", "\n", "[a]", "[a]\n", "[a]\n\tx=1\n[b]\n\ty=2\n[a]\n\tx=3\n", "[a]\n\tx\n\ty=\n\tz = \n",
	"[a]\n\tx=1 \\\n  2\n", "[a]\n\tx=\"1 # 2\" ; c\n", "[a]\n\tx=a\"b c\"d  e  \n", "[A.Sub]\n\tX=1\n",
	"[a \"S\\\"u\\b\\\\\"]\n\tx=1\n", "[a] x=1\n", "[a]x=1 \n[a]y=2\n", "\xef\xbb\xbf[a]\nx=1\n", "\xef\xbb[a]\nx=1\n",
	"[a]\r\nx=1\r\n\r\n", "[a]\nx=1\\\r\n2\n", "[a]\nx=a\\q\n", "[a]\nx=\"open\n", "[a]\nx=\"open", "[a]\nx=\\n\\t\\b\n",
	"[a]\nx=\xff\xfe\n", "[a]\nx=1", "[a]\nx=1\\", "[a]\nx", "[a]\nx ", "[a]\nx =", "[a \"\"]\nx=1\n", "[a]\nX-y=1\n",
	"[a]\n1x=1\n", "[a]\nx_y=1\n", "x=1\n", "x\n", "[a] ; c\nx = c:\\\\dir ; z\n", "[a]\nx = a;b\n", "[a]\nx =\n\ty = 2\n",
	"[a-b.C]\nx=1\n", "[ a]\nx=1\n", "[a ]\nx=1\n", "[a  \"b\" ]\nx=1\n", "[a \"b\"x]\nx=1\n", "[a \"b\"\n]\n", "[a\t\"b\"]\nx=1\n",
	"[a]\nx = 'q'\n", "[a]\nx = \"a\"\"b\"\n", "[a]\nx = a \"\" b\n", "[a]\nx = a \"\"\n", "[a]\nx = \"\" b\n", "[a]\nx = \" a \" \n",
	"[a]\nx = \"a\\\nb\"\n", "[a]\nx ; c\n", "[a]\nx # c\n", "[a]\nx y=1\n", "[a]\nx = a\vb\f\n", "[a]\n\fx = a\n", "[a\n]\nx=1\n",
	"[a \"b\n\"]\nx=1\n", "[a \"b\\\n\"]\nx=1\n", "[1]\nx=1\n[-]\ny=2\n[.]\nz=1\n[]\nw=1\n", "[a", "[a \"b", "[a \"b\"", "[a]]\n", "[ \"x\"]\ny=1\n", "[]\n", "[a]\nx = 1\ny z", "[a]\nx = \"a\nb\"\n", "[a]\nx = \"a\\\nb",
	"# [a]\n; x\n[a] # c\nx=1 # \\\ny=2\n", "[a]\n\n\n  x = 1\r\r\n", "[a]\nx = a \\\n\n y = 2\n", "[a]\nx=\\", "[a.]\nx=1\n", "[.a]\nx=1\n",
	"[a \"b.c d\"]\nx=1\n", "[a.b \"C\"]\nx=1\n", "\r\n\r[a]\nx=1\n", "[a]\nx\r\ny\r=1\n", "[a]\n\xc3\xa9=1\n", "[\xc3\xa9]\nx=1\n", "[a \"\xc3\xa9\"]\nx=\xc3\xa9\n",
}

var badLine = regexp.MustCompile(`bad config line (\d+) in`)

// blanks makes one of all blanks inside values: git keeps them as they are only
// since 2.45, where its documentation always said so.
var blanks = strings.NewReplacer("\t", " ", "\r", " ")

// checkFile compares our reading of a file with git's.
func checkFile(t *testing.T, p *place, content string) {
	t.Helper()
	p.write("config", content)
	out, gitErr := p.try(".", "config", "--list", "-z", "--includes", "--file", p.path("config"))
	c, err := ReadFile(p.path("config"), p.options())
	if (err != nil) != (gitErr != nil) {
		t.Errorf("%q: error %v, git has %v", content, err, gitErr)
		return
	}
	if err != nil {
		if !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrValue) {
			t.Errorf("%q: error %v without sentinel", content, err)
		}
		if m := badLine.FindStringSubmatch(gitErr.Error()); m != nil && !strings.Contains(err.Error(), ":"+m[1]+": ") {
			t.Errorf("%q: error %v, git has %v", content, err, gitErr)
		}
		return
	}
	if got := listing(c); blanks.Replace(got) != blanks.Replace(out) {
		t.Errorf("%q:\n got %q\nwant %q", content, got, out)
	}
}

// listing gives settings as `git config --list -z` does.
func listing(c *Config) string {
	var b strings.Builder
	for _, s := range c.Settings() {
		b.WriteString(s.Name)
		if !s.Bare {
			b.WriteString("\n" + s.Value)
		}
		b.WriteByte(0)
	}
	return b.String()
}

func TestFilesAreReadAsGitReadsThem(t *testing.T) {
	p := newPlace(t)
	for _, content := range samples {
		checkFile(t, p, content)
	}
}

func TestRandomFilesAreReadAsGitReadsThem(t *testing.T) {
	p := newPlace(t)
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	parts := []string{
		"[a]", "[b \"C\"]", "[core]", "[x.Y]", "\n", "\n", "\n\t", " ", "\r\n", "x", "key", " = ", "=", "value", "\"", "\\\n", "\\n", "\\\\", "\\\"",
		"#", ";", "]", "[", "\"q r\"", "\t", "1", "-", ".", "\xff", "  ", "\\", "[a]\nk = v\n", "[c \"d\"]\nk\n", "[e]\nlong = a b \\\n c\n",
	}
	for range seed.Times(400) {
		var b strings.Builder
		for range 1 + r.IntN(20) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		checkFile(t, p, b.String())
	}
}

func TestBlanksInsideValuesAreKept(t *testing.T) {
	c := parsed(t, "[a]\n\tx = a\tb \t c \t\n")
	if v, _ := c.String("a.x"); v != "a\tb \t c" {
		t.Errorf("value %q", v)
	}
}

func TestNULIsRefused(t *testing.T) {
	if _, err := parse([]byte("[a]\nx = 1\ny = a\x00b\n"), "file", Local); !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), "file:3:") {
		t.Errorf("error %v", err)
	}
}

func TestSettingsKnowTheirLine(t *testing.T) {
	c := parsed(t, "[a]\n\tx = 1\n\ty\n\tz = a \\\n b\n\tlast = 2")
	for name, want := range map[string]int{"a.x": 2, "a.y": 3, "a.z": 5, "a.last": 6} {
		if s, _ := c.decides(name); s.Line != want {
			t.Errorf("%s is in line %d, want %d", name, s.Line, want)
		}
	}
}

func parsed(t *testing.T, content string) *Config {
	t.Helper()
	settings, err := parse([]byte(content), "file", Local)
	if err != nil {
		t.Fatal(err)
	}
	return newConfig(settings, &Options{Env: func(name string) string { return map[string]string{"HOME": "/home/me"}[name] }})
}

func TestValuesAreConvertedAsGitConvertsThem(t *testing.T) {
	p := newPlace(t)
	values := []string{
		"true", "YES", "On", "false", "no", "OFF", "", "0", "1", "2", "-1", "+3", "0x10", "010", "08", "1k", "2M", "3g", "1kk", "k", "x", " 5", "5 ", "1_0",
		"0b1", "0o7", "9223372036854775807", "9223372036854775808", "9g", "8589934592g", "-4k", "0x", "1.5", "truer", "٣",
	}
	for _, v := range values {
		p.write("config", fmt.Sprintf("[a]\n\tx = \"%s\"\n\tbare\n", v))
		c, err := ReadFile(p.path("config"), p.options())
		if err != nil {
			t.Fatal(err)
		}
		file := []string{"config", "--file", p.path("config"), "--get"}
		want, gitErr := p.try(".", append(file, "--type=int", "a.x")...)
		n, err := c.Int("a.x", 7)
		if (err != nil) != (gitErr != nil) || err == nil && fmt.Sprintln(n) != want {
			t.Errorf("Int(%q) = %d, %v; git has %q, %v", v, n, err, want, gitErr)
		}
		want, gitErr = p.try(".", append(file, "--type=bool", "a.x")...)
		b, err := c.Bool("A.X", false)
		// Git reads numbers of a boolean as 32 bits; we take the larger ones too.
		if big := n != int64(int32(n)); !big && ((err != nil) != (gitErr != nil) || err == nil && fmt.Sprintln(b) != want) {
			t.Errorf("Bool(%q) = %v, %v; git has %q, %v", v, b, err, want, gitErr)
		}
		if b, err := c.Bool("a.bare", false); err != nil || !b {
			t.Errorf("a bare name is %v, %v", b, err)
		}
		if _, err := c.Int("a.bare", 0); !errors.Is(err, ErrValue) {
			t.Errorf("a bare name is a number, %v", err)
		}
	}
}

func TestPathsAreExpanded(t *testing.T) {
	c := parsed(t, "[a]\n\thome = ~/x\n\troot = ~root/x\n\tplain = x/~\n\tall = ~\n\tbare\n\tempty =\n\tup = x/../y\n\tnobody = ~no-such-user-here/x\n")
	for name, want := range map[string]string{"a.home": "/home/me/x", "a.plain": "/base/x/~", "a.all": "/home/me", "a.up": "/base/x/../y"} {
		if runtime.GOOS == "windows" && strings.Contains(want, "/home/me") {
			continue // without a drive that is no place of Windows
		}
		if got, ok, err := c.Path(name, "/base"); filepath.ToSlash(got) != want || !ok || err != nil {
			t.Errorf("Path(%s) = %q, %v, %v", name, got, ok, err)
		}
	}
	if got, _, err := c.Path("a.root", ""); runtime.GOOS != "windows" && (err != nil || !filepath.IsAbs(got)) {
		t.Errorf("~root is %q, %v", got, err)
	}
	if got, ok, err := c.Path("a.empty", "/base"); got != "" || !ok || err != nil {
		t.Errorf("empty path: %q, %v, %v", got, ok, err)
	}
	if _, ok, err := c.Path("a.unset", "/base"); ok || err != nil {
		t.Errorf("no path: %v, %v", ok, err)
	}
	for _, name := range []string{"a.bare", "a.nobody"} {
		if _, _, err := c.Path(name, ""); !errors.Is(err, ErrValue) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnOptionalPathCountsOnlyIfItIsThere: the path written before it counts
// otherwise, as in git since version 2.52.
func TestAnOptionalPathCountsOnlyIfItIsThere(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "there")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"\tp = :(optional)there\n":                          file,
		"\tp = :(optional)" + filepath.ToSlash(file) + "\n": file,
		"\tp = other\n\tp = :(optional)there\n":             file,
		"\tp = other\n\tp = :(optional)gone\n":              filepath.Join(dir, "other"),
		"\tp = :(optional)there\n\tp = :(optional)gone\n":   file,
		"\tp = :(optional)gone\n\tp = :(optional)gone\n":    "",
		"\tp = :(optional)~/gone\n":                         "",
		"\tp = there:(optional)\n":                          filepath.Join(dir, "there:(optional)"),
	} {
		got, ok, err := parsed(t, "[a]\n"+text).Path("a.p", dir)
		if filepath.ToSlash(got) != filepath.ToSlash(want) || ok != (want != "") || err != nil {
			t.Errorf("%q: %q, %v, %v", text, got, ok, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		settings, err := parse(data, "file", Local)
		if err != nil && !errors.Is(err, ErrSyntax) {
			t.Errorf("error without sentinel: %v", err)
		}
		for _, s := range settings {
			if s.Line < 1 || strings.ContainsRune(s.Value, 0) {
				t.Errorf("setting %+v", s)
			}
		}
	})
}
