package show

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// The colours git uses by default.
const (
	Bold  = "\x1b[1m"
	cyan  = "\x1b[36m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	reset = "\x1b[m"
)

// PrintPatch prints a unified diff as git does: `git apply` accepts it, but for
// directories and permissions that git cannot hold, which are named in
// comments before the patch of the file.
func PrintPatch(ctx context.Context, w io.Writer, d *engine.Diff, how Look) error {
	for _, c := range d.Changes {
		if err := ctx.Err(); err != nil {
			return err
		}
		parts := []engine.Change{c}
		if c.Status() == 'T' { // git shows a change of type as a deletion and an addition
			parts = []engine.Change{{Path: c.Path, From: c.From}, {Path: c.Path, To: c.To}}
		}
		for _, part := range parts {
			if err := printFile(ctx, w, d, part, how); err != nil {
				return err
			}
		}
	}
	return nil
}

func printFile(ctx context.Context, w io.Writer, d *engine.Diff, c engine.Change, how Look) error {
	if c.From.Dir() || c.To.Dir() {
		printDirectory(w, c)
		return nil
	}
	l, err := Compare(ctx, d, c)
	if err != nil {
		return err
	}
	var head bytes.Buffer
	Header(&head, c, l)
	Paint(w, head.Bytes(), Bold, how.Color)
	var text []byte
	for _, h := range l.Hunks {
		text = h.Append(text)
	}
	PrintHunks(w, text, how)
	return nil
}

// printDirectory names a change of a directory, which a patch cannot hold.
func printDirectory(w io.Writer, c engine.Change) {
	switch c.Status() {
	case 'A':
		fmt.Fprintf(w, "# new directory %s mode %04o\n", Quote(c.Path), c.To.Mode&07777)
	case 'D':
		fmt.Fprintf(w, "# deleted directory %s\n", Quote(c.Path))
	default:
		fmt.Fprintf(w, "# directory %s mode %04o to %04o\n", Quote(c.Path), c.From.Mode&07777, c.To.Mode&07777)
	}
}

// Header prints what git prints before the hunks of a file.
func Header(w io.Writer, c engine.Change, l Lines) {
	a, b := patchName("a/", c.Path), patchName("b/", c.Path)
	if old, new := Exact(c.From), Exact(c.To); old != new && gitMode(c.From) == gitMode(c.To) {
		fmt.Fprintf(w, "# permissions %04o to %04o of %s\n", old, new, Quote(c.Path))
	}
	same := (bytes.Equal(l.Old, l.New) && !l.Part || l.Part && c.From.ID == c.To.ID) && c.From.Mode != 0 && c.To.Mode != 0
	if same && gitMode(c.From) == gitMode(c.To) {
		return
	}
	fmt.Fprintf(w, "diff --git %s %s\n", a, b)
	switch {
	case c.From.Mode == 0:
		fmt.Fprintf(w, "new file mode %06o\n", gitMode(c.To))
		a = "/dev/null"
	case c.To.Mode == 0:
		fmt.Fprintf(w, "deleted file mode %06o\n", gitMode(c.From))
		b = "/dev/null"
	case gitMode(c.From) != gitMode(c.To):
		fmt.Fprintf(w, "old mode %06o\nnew mode %06o\n", gitMode(c.From), gitMode(c.To))
	}
	if same {
		return
	}
	fmt.Fprintf(w, "index %s..%s", indexID(c.From), indexID(c.To))
	if c.From.Mode != 0 && gitMode(c.From) == gitMode(c.To) {
		fmt.Fprintf(w, " %06o", gitMode(c.To))
	}
	fmt.Fprintln(w)
	switch {
	case l.Binary:
		fmt.Fprintf(w, "Binary files %s and %s differ\n", a, b)
	case len(l.Hunks) > 0:
		fmt.Fprintf(w, "--- %s\n+++ %s\n", tabbed(a), tabbed(b))
	}
}

// Exact is the mode with every permission bit, gitMode what git keeps of it.
func Exact(s engine.Side) uint32 { return s.Mode & 07777 }

func gitMode(s engine.Side) uint32 {
	switch {
	case s.Mode == 0:
		return 0
	case s.Link():
		return 0120000
	case s.Mode&0100 != 0:
		return 0100755
	}
	return 0100644
}

func indexID(s engine.Side) string {
	if s.ID.IsZero() {
		return "0000000"
	}
	return s.ID.String()[:7]
}

// patchName quotes a path as git does in patches, so that git reads it: what does
// not print is in octal there.
func patchName(prefix string, p engine.Path) string {
	if q := Quote(p); !strings.HasPrefix(q, `"`) {
		return prefix + q
	}
	var b strings.Builder
	for i := 0; i < len(p); {
		r, n := utf8.DecodeRuneInString(string(p[i:]))
		switch at := strings.IndexRune("\a\b\t\n\v\f\r\"\\", r); {
		case at >= 0:
			b.WriteString(`\` + `abtnvfr"\`[at:at+1])
		case !visible.Hidden(r) && (r != utf8.RuneError || n > 1):
			b.WriteString(string(p[i : i+n]))
		default:
			for _, c := range []byte(p[i : i+n]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
		i += n
	}
	return `"` + prefix + b.String() + `"`
}

// plainLine shows a line of a patch on a terminal: as it is, but for what that
// would obey.
func plainLine(line []byte) []byte {
	text := bytes.TrimRight(line, "\r\n")
	parts := strings.Split(string(text), "\t")
	for i := range parts {
		parts[i] = visible.Line(parts[i])
	}
	return append([]byte(strings.Join(parts, "\t")), line[len(text):]...)
}

// tabbed marks a name with a space by a tab behind it, as git does, so that
// patch programs know where it ends.
func tabbed(name string) string {
	if strings.Contains(name, " ") && !strings.HasPrefix(name, `"`) {
		return name + "\t"
	}
	return name
}

func lineColor(first byte) string {
	switch first {
	case '+':
		return green
	case '-':
		return red
	case '@':
		return cyan
	}
	return ""
}

// Paint writes lines in a colour, which ends before each line's end.
func Paint(w io.Writer, text []byte, code string, color bool) {
	if !color || code == "" {
		w.Write(text)
		return
	}
	for line := range bytes.Lines(text) {
		body := bytes.TrimSuffix(line, []byte("\n"))
		fmt.Fprintf(w, "%s%s%s", code, body, reset)
		w.Write(line[len(body):])
	}
}

// PrintStat prints how many lines changed in each file, and the sum. In what was renamed
// none did.
func PrintStat(ctx context.Context, w io.Writer, d *engine.Diff, color bool) (err error) {
	type row struct {
		name  string
		lines Lines
	}
	var rows []row
	width, digits, added, removed := 0, 0, 0, 0
	renames, old := d.Renames()
	for _, c := range d.Changes {
		if c = ofFile(c); c.From.Mode == 0 && c.To.Mode == 0 || old[c.Path] {
			continue
		}
		name, l := Quote(c.Path), Lines{}
		if from := renames[c.Path]; from != "" {
			name = Quote(from) + " → " + name
		} else if l, err = Compare(ctx, d, c); err != nil {
			return err
		}
		l.Old, l.New, l.Hunks = nil, nil, nil
		rows = append(rows, row{name, l})
		width = max(width, runewidth.StringWidth(name))
		digits = max(digits, len(fmt.Sprint(l.Added+l.Removed)))
		added, removed = added+l.Added, removed+l.Removed
	}
	for _, r := range rows {
		fmt.Fprintf(w, " %s | ", runewidth.FillRight(r.name, width))
		if r.lines.Binary {
			fmt.Fprintln(w, "Bin")
			continue
		}
		fmt.Fprintf(w, "%*d", digits, r.lines.Added+r.lines.Removed)
		if r.lines.Added+r.lines.Removed > 0 {
			fmt.Fprint(w, " ")
		}
		plus, minus := bars(r.lines.Added, r.lines.Removed)
		Paint(w, []byte(plus), green, color)
		Paint(w, []byte(minus), red, color)
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, " %s changed, %s(+), %s(-)\n", Count(len(rows), "file"), Count(added, "insertion"), Count(removed, "deletion"))
	return nil
}

// ofFile leaves of a change what is of a file: one that became a directory was deleted, and
// one in the place of a directory is new.
func ofFile(c engine.Change) engine.Change {
	for _, side := range []*engine.Side{&c.From, &c.To} {
		if side.Dir() {
			*side = engine.Side{}
		}
	}
	return c
}

// bars draws plus and minus signs in proportion, at most 40 together.
func bars(added, removed int) (string, string) {
	const most = 40
	if sum := added + removed; sum > most {
		a, r := added*most/sum, removed*most/sum
		added, removed = max(a, min(added, 1)), max(r, min(removed, 1))
	}
	return strings.Repeat("+", added), strings.Repeat("-", removed)
}

// PrintTold prints what PrintNames does, but what was renamed in one line.
func PrintTold(w io.Writer, d *engine.Diff) {
	renames, old := d.Renames()
	for i, c := range d.Changes {
		switch from := renames[c.Path]; {
		case from != "":
			fmt.Fprintf(w, "R\t%s → %s\n", Quote(from), Quote(c.Path))
		case !old[c.Path]:
			PrintNames(w, d.Changes[i:i+1])
		}
	}
}

// PrintNames prints a letter and a path for each change.
func PrintNames(w io.Writer, list []engine.Change) {
	for _, c := range list {
		suffix := ""
		if c.To.Dir() || c.To.Mode == 0 && c.From.Dir() {
			suffix = "/"
		}
		fmt.Fprintf(w, "%c\t%s%s\n", c.Status(), Quote(c.Path), suffix)
	}
}

// PrintHunks prints hunks in the unified format.
func PrintHunks(w io.Writer, hunks []byte, how Look) {
	for line := range bytes.Lines(hunks) {
		if how.Bare {
			line = plainLine(line)
		}
		Paint(w, line, lineColor(line[0]), how.Color)
	}
}
