package attr_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

func filters() map[string]attr.Filter {
	self := func(mode string) string { return "REWIND_TEST_FILTER=" + mode + " '" + os.Args[0] + "'" }
	return map[string]attr.Filter{
		"upper":    {Clean: "tr a-z A-Z"},
		"named":    {Clean: "cat; echo %f %% %x"},
		"deaf":     {Clean: "echo I do not listen"},
		"fails":    {Clean: "cat; exit 3"},
		"required": {Clean: "tr a b", Required: true},
		"broken":   {Clean: "nosuchcommand", Required: true},
		"hollow":   {Required: true},
		"empty":    {},
		"process":  {Clean: "false", Process: self("yes"), Required: true},
		"loose":    {Process: self("yes")},
		"unable":   {Process: self("unable")},
		"silent":   {Process: "true"},
	}
}

// A sample is one file of the conversion test.
type sample struct {
	name, attrs string
	raw, blob   []byte // blob is in the index, nil for none
	want        []byte
	refused     error
}

var attrSets = []string{
	"", "", "text", "-text", "text=auto", "text=input", "text=other", "crlf", "-crlf", "crlf=input", "eol=lf", "eol=crlf", "text eol=lf", "text eol=crlf",
	"text=auto eol=lf", "text=auto eol=crlf", "-text eol=crlf", "text eol=other", "crlf text=auto", "-crlf eol=lf", "binary", "!text crlf=input",
}

var encodings = []string{
	"UTF-16", "utf16", "UTF-16LE", "UTF-16BE", "UTF-16LE-BOM", "UTF-16BE-BOM", "UTF-32", "UTF-32LE", "utf-32be", "UTF-8", "utf8", "ISO-8859-1", "latin1", "latin-1",
	"ISO-8859-15", "windows-1252", "KOI8-R", "IBM437", "SHIFT-JIS", "nonsense", "US-ASCII", "windows-1255", "",
}

var textBits = []string{"a", "hello", "\n", "\n", "\r\n", "\r\n", "\r\n", " ", "\t", "$Id$", "$Id: x $", "$Id:$", "$Id: a\n$", "$Id", "$", "é", "z"}
var oddBits = []string{"\r", "\x00", "\x1a", "\x7f", "\x01", "\r\r\n", "\xff", "\x80", "\xff\xfe", "\xfe\xff", "\xd8\x00", "\xff\xfe\x00\x00", "\b\f\x1b", "\r\n\r"}

func randomText(r *rand.Rand) []byte {
	var b bytes.Buffer
	odd := r.IntN(3)
	crlf := r.IntN(3)
	for range r.IntN(12) {
		switch {
		case odd == 0 && r.IntN(5) == 0:
			b.WriteString(pick(r, oddBits))
		case r.IntN(20) == 0:
			b.WriteString(strings.Repeat("x", 127+r.IntN(3)))
		default:
			s := pick(r, textBits)
			switch crlf {
			case 0:
				s = strings.ReplaceAll(s, "\r\n", "\n")
			case 1:
				s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
			}
			b.WriteString(s)
		}
	}
	if r.IntN(200) == 0 {
		return bytes.Repeat(b.Bytes(), 20_000)
	}
	return b.Bytes()
}

// encode makes raw of text that a working-tree-encoding may fit.
func encode(r *rand.Rand, text []byte) []byte {
	wide := utf16.Encode([]rune(string(text) + pick(r, []string{"", "€", "😀", "\ufeff", "\ufffe"})))
	var b bytes.Buffer
	shape := r.IntN(6)
	b.WriteString([]string{"\xff\xfe", "\xfe\xff", "", "", "\xff\xfe\x00\x00", ""}[shape])
	for _, u := range wide {
		switch {
		case shape == 5:
			b.Write([]byte{0, 0, byte(u >> 8), byte(u)})
		case shape == 4:
			b.Write([]byte{byte(u), byte(u >> 8), 0, 0})
		case shape%2 == 1:
			b.Write([]byte{byte(u >> 8), byte(u)})
		default:
			b.Write([]byte{byte(u), byte(u >> 8)})
		}
	}
	if r.IntN(12) == 0 {
		b.WriteByte('x')
	}
	return b.Bytes()
}

func randomSample(r *rand.Rand, i int) sample {
	s := sample{name: fmt.Sprintf("f%d", i), attrs: pick(r, attrSets), raw: randomText(r)}
	if r.IntN(3) == 0 {
		s.attrs += " ident"
	}
	if r.IntN(6) == 0 {
		s.attrs += " filter=" + pick(r, []string{"upper", "named", "deaf", "fails", "required", "broken", "hollow", "empty", "process", "loose", "unable", "nosuch"})
		s.name += pick(r, []string{"", "", "", "", "", "-error", "-late", "-it's!"})
	}
	if r.IntN(6) == 0 {
		s.attrs += " working-tree-encoding"
		if r.IntN(30) > 0 {
			s.attrs += "=" + pick(r, encodings)
		}
		if r.IntN(3) > 0 {
			s.raw = encode(r, s.raw)
		}
	}
	if r.IntN(2) == 0 {
		s.blob = randomText(r)
	}
	return s
}

func randomConfig(r *rand.Rand, safe bool) (*attr.Config, []string) {
	cfg := &attr.Config{
		AutoCRLF: attr.AutoCRLF(r.IntN(3)), EOL: attr.EOL(r.IntN(3)), SafeCRLF: safe, Filters: filters(),
	}
	if cfg.AutoCRLF == attr.AutoInput && cfg.EOL == attr.EOLCRLF {
		cfg.EOL = attr.EOLLF // git refuses the pair
	}
	args := []string{
		"-c", "core.autocrlf=" + [...]string{"false", "true", "input"}[cfg.AutoCRLF],
		"-c", "core.eol=" + [...]string{"native", "lf", "crlf"}[cfg.EOL],
		"-c", "core.safecrlf=" + map[bool]string{false: pick(r, []string{"warn", "false"}), true: "true"}[cfg.SafeCRLF],
	}
	for name, f := range cfg.Filters {
		args = append(args, "-c", "filter."+name+".smudge=cat")
		if f.Clean != "" {
			args = append(args, "-c", "filter."+name+".clean="+f.Clean)
		}
		if f.Process != "" {
			args = append(args, "-c", "filter."+name+".process="+f.Process)
		}
		if f.Required {
			args = append(args, "-c", "filter."+name+".required=true")
		}
	}
	return cfg, args
}

// convert fills in what we make of the samples.
func convert(t *testing.T, cfg *attr.Config, root string, rules []byte, samples []sample) {
	chain := attr.NewChain(nil).With(attr.Parse(rules, &attr.Options{Macros: true}))
	runner := &attr.Runner{Dir: root}
	defer runner.Close()
	for i := range samples {
		s := &samples[i]
		v := cfg.Conversion(chain.Lookup(s.name))
		in := attr.Input{Path: s.name, Raw: bytes.Clone(s.raw), Run: runner.Run}
		if s.blob != nil {
			in.IndexHasCR = func() (bool, error) { return attr.HasCRLF(s.blob), nil }
		}
		s.want, s.refused = v.Clean(context.Background(), in)
		if !bytes.Equal(in.Raw, s.raw) {
			t.Fatalf("%s: Clean changed its input", s.name)
		}
		if v.Identity() && (s.refused != nil || !bytes.Equal(s.raw, s.want)) {
			t.Fatalf("%q %q: no identity: %v", s.name, s.attrs, s.refused)
		}
	}
}

// compareConversions holds a batch of random files against git add.
func compareConversions(t *testing.T, seed uint64, safe bool) (changed, refused int) {
	r := rand.New(rand.NewPCG(seed, 2))
	git := gittest.New(t)
	cfg, args := randomConfig(r, safe)
	var samples []sample
	var rules, blobs, info bytes.Buffer
	for i := range 250 {
		s := randomSample(r, i)
		samples = append(samples, s)
		fmt.Fprintf(&rules, "%s %s\n", s.name, s.attrs)
		git.Write(s.name, string(s.raw))
		if s.blob != nil {
			git.Write(".git/blobs/"+s.name, string(s.blob))
			fmt.Fprintf(&blobs, ".git/blobs/%s\n", s.name)
		}
	}
	written := strings.Fields(git.Give(blobs.String(), "hash-object", "-w", "--no-filters", "--stdin-paths"))
	for i, path := range strings.Fields(blobs.String()) {
		fmt.Fprintf(&info, "100644 %s\t%s\n", written[i], filepath.Base(path))
	}
	git.Write(".gitattributes", rules.String())
	git.Give(info.String(), "update-index", "--index-info")
	convert(t, cfg, git.Dir, rules.Bytes(), samples)

	batch := []string{}
	for i := range samples {
		s := &samples[i]
		if s.refused == nil {
			batch = append(batch, s.name)
			continue
		}
		refused++
		if _, err := git.Try(append(args, "add", "--", s.name)...); err == nil && !errors.Is(s.refused, attr.ErrEncoding) {
			t.Fatalf("seed %d: %q %q %q: git takes it, we say %v", seed, s.name, s.attrs, s.raw, s.refused)
		}
	}
	if _, err := git.Ask(strings.Join(batch, "\x00"), append(args, "add", "--pathspec-from-file=-", "--pathspec-file-nul")...); err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, rules.Bytes())
	}
	ids := map[string]string{}
	for line := range strings.Lines(git.Git("-c", "core.quotePath=false", "ls-files", "-s")) {
		f := strings.Fields(line)
		ids[f[3]] = f[1]
	}
	for _, s := range samples {
		sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(s.want)), s.want...))
		if s.refused == nil && ids[s.name] != fmt.Sprintf("%x", sum) {
			blob := git.Git("cat-file", "blob", ids[s.name])
			t.Fatalf("seed %d: %q %q index %q:\nraw  %q\ngit  %q\nours %q\n%q", seed, s.name, s.attrs, s.blob, s.raw, blob, s.want, args[:6])
		}
		if s.refused == nil && !bytes.Equal(s.want, s.raw) {
			changed++
		}
	}
	os.RemoveAll(git.Dir)
	return changed, refused
}

// TestConversionsAreGits compares what we would store with what git add does,
// for random files, attributes, configurations and blobs in the index. Of two batches
// one is refused what would not come back (core.safecrlf).
func TestConversionsAreGits(t *testing.T) {
	gittest.Programs(t)
	batches := seed.Times(2)
	first := seed.Of(t)
	changed, refused := 0, 0
	for i := range batches {
		c, f := compareConversions(t, first+uint64(i), i%2 == 0)
		changed += c
		refused += f
	}
	t.Logf("of %d files %d are stored converted, %d refused", batches*250, changed, refused)
	if changed == 0 || refused == 0 {
		t.Error("the test tests nothing")
	}
}
