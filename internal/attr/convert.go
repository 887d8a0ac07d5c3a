package attr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// The errors of [Conversion.Clean], besides those of reading the index and of
// the context. Each means that there is no conversion; what git would do is
// with each.
var (
	// ErrEncoding: the file's working-tree-encoding is not among those that
	// this package is sure to convert as git does. git may know it.
	ErrEncoding = errors.New("unknown working-tree-encoding")
	// ErrContent: the bytes are not valid in the file's encoding; git refuses
	// the file.
	ErrContent = errors.New("content does not fit its working-tree-encoding")
	// ErrUnsafe: core.safecrlf is true and the conversion could not be undone;
	// git refuses the file.
	ErrUnsafe = errors.New("line ends would not survive (core.safecrlf)")
	// ErrFilter: a required filter failed or has no command; git refuses the
	// file.
	ErrFilter = errors.New("required filter failed")
	// ErrNotRun: a filter is configured and there was no way to run it. git
	// would run it.
	ErrNotRun = errors.New("filter not run")
)

// Config is the part of git's configuration that decides about conversions. The
// zero Config is an empty configuration. It may be shared while nobody changes it.
type Config struct {
	AutoCRLF AutoCRLF          // core.autocrlf
	EOL      EOL               // core.eol
	SafeCRLF bool              // core.safecrlf is true; that it is "warn" has no effect here
	Filters  map[string]Filter // filter.<name>.*
}

// AutoCRLF is core.autocrlf.
type AutoCRLF uint8

// The values of core.autocrlf.
const (
	AutoFalse AutoCRLF = iota
	AutoTrue
	AutoInput
)

// EOL is core.eol.
type EOL uint8

// The values of core.eol.
const (
	EOLNative EOL = iota
	EOLLF
	EOLCRLF
)

// A Filter is the part of a filter driver that works on the way into the
// repository.
type Filter struct {
	Clean    string // a shell command; %f is the path
	Process  string // a shell command that speaks the filter protocol; wins over Clean
	Required bool   // a file that cannot be filtered must not be taken as it is
}

// KeepsLength reports whether a filter may be configured whose result is as long as
// what it was given, and differs. Git LFS is none: what it makes of a file is a pointer,
// and of a pointer itself.
func (cfg *Config) KeepsLength() bool {
	for _, f := range cfg.Filters {
		if f.Process != "" && !isLFS(f.Process) || f.Process == "" && f.Clean != "" && !isLFS(f.Clean) {
			return true
		}
	}
	return false
}

func isLFS(command string) bool { return strings.HasPrefix(command, "git-lfs ") }

// A Conversion is what git does to the bytes of a file on their way into the
// repository. It is a value without resources and may be shared.
type Conversion struct {
	lines    lineRule
	ident    bool
	filtered bool // a driver is configured, with a command or not
	filter   Filter
	name     string // of the filter
	encoding string // "" for UTF-8
	badCode  bool   // the encoding attribute is one git refuses
	safe     bool
	crlf     bool // text is checked out with CRLF
}

// A lineRule says whether a file's line ends are converted, and what they are
// in the worktree.
type lineRule uint8

const (
	linesBinary lineRule = iota // not converted
	linesUnsaid                 // nothing was said; becomes one of the others
	linesText                   // text, with the configuration's line ends
	linesTextLF
	linesTextCRLF
	linesAuto // text if it looks like it
	linesAutoLF
	linesAutoCRLF
)

// Conversion works out the conversion of a file from its attributes.
func (cfg *Config) Conversion(a Attrs) Conversion {
	v := Conversion{
		lines: cfg.lineRule(a),
		ident: a.Ident.State == Set,
		safe:  cfg.SafeCRLF,
		crlf:  cfg.checksOutCRLF(),
	}
	if a.Filter.State == Valued {
		v.name = a.Filter.Text
		v.filter, v.filtered = cfg.Filters[v.name]
		v.filtered = v.filtered && (v.filter != Filter{})
	}
	switch a.Encoding.State {
	case Set:
		v.badCode = true
	case Valued:
		if !isUTF8(a.Encoding.Text) {
			v.encoding = a.Encoding.Text
		}
	}
	return v
}

func (cfg *Config) lineRule(a Attrs) lineRule {
	r := lineRuleOf(a.Text)
	if r == linesUnsaid {
		r = lineRuleOf(a.CRLF)
	}
	if r == linesBinary {
		return r
	}
	switch eol := a.EOL; {
	case eol == Value{Valued, "lf"}:
		return r.with(linesAutoLF, linesTextLF)
	case eol == Value{Valued, "crlf"}:
		return r.with(linesAutoCRLF, linesTextCRLF)
	}
	if r != linesUnsaid {
		return r
	}
	return [...]lineRule{AutoFalse: linesBinary, AutoTrue: linesAutoCRLF, AutoInput: linesAutoLF}[cfg.AutoCRLF]
}

// with applies an eol attribute, which makes a file text unless it is "auto".
func (r lineRule) with(auto, text lineRule) lineRule {
	if r == linesAuto {
		return auto
	}
	return text
}

func lineRuleOf(v Value) lineRule {
	switch v {
	case Value{State: Set}:
		return linesText
	case Value{State: Unset}:
		return linesBinary
	case Value{Valued, "input"}:
		return linesTextLF
	case Value{Valued, "auto"}:
		return linesAuto
	}
	return linesUnsaid
}

func (r lineRule) auto() bool { return r >= linesAuto }

func (cfg *Config) checksOutCRLF() bool {
	switch {
	case cfg.AutoCRLF != AutoFalse:
		return cfg.AutoCRLF == AutoTrue
	case cfg.EOL == EOLNative:
		return runtime.GOOS == "windows"
	}
	return cfg.EOL == EOLCRLF
}

// Identity reports that the conversion changes no file whatever its bytes, and
// cannot fail.
func (v Conversion) Identity() bool {
	return v.lines == linesBinary && v.LinesOnly()
}

func (f Filter) command() string {
	if f.Process != "" {
		return f.Process
	}
	return f.Clean
}

// Input is one file to be converted.
type Input struct {
	Path string // relative to the root, as filters are told
	Raw  []byte // the bytes on disk; not changed

	// IndexHasCR says whether [HasCRLF] holds for the blob that the index has
	// at Path (of a conflict, stage 2). It is asked only if the answer matters.
	// Nil means that the index has none.
	IndexHasCR func() (bool, error)

	// Run runs a filter over raw. An error means that the filter failed, except
	// that one wrapping [ErrNotRun] means that there was no way to run it. Nil
	// means that no filter may be run.
	Run func(ctx context.Context, f Filter, path string, raw []byte) ([]byte, error)
}

// Clean returns the bytes that git add would store for a file: filtered, then
// converted to UTF-8, then with its line ends converted, then with its ident
// keywords collapsed. The result may share memory with in.Raw. Like git it takes
// the file as it is when a filter fails that is not required.
func (v Conversion) Clean(ctx context.Context, in Input) ([]byte, error) {
	data, err := v.runFilter(ctx, in)
	if err != nil {
		return nil, err
	}
	switch {
	case v.badCode:
		return nil, fmt.Errorf("%w: no name given", ErrContent)
	case v.encoding != "" && len(data) > 0: // git takes an empty file in any encoding
		if data, err = toUTF8(v.encoding, data); err != nil {
			return nil, err
		}
	}
	if data, err = v.convertLines(data, in.IndexHasCR); err != nil {
		return nil, err
	}
	if v.ident {
		data = collapseIdent(data)
	}
	return data, nil
}

func (v Conversion) runFilter(ctx context.Context, in Input) ([]byte, error) {
	if !v.filtered {
		return in.Raw, nil
	}
	err := errors.New("no command")
	if v.filter.command() != "" {
		if in.Run == nil {
			return nil, fmt.Errorf("filter %q: %w", v.name, ErrNotRun)
		}
		var out []byte
		if out, err = in.Run(ctx, v.filter, in.Path, in.Raw); err == nil {
			return out, nil
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ErrNotRun):
		return nil, fmt.Errorf("filter %q: %w", v.name, err)
	case v.filter.Required:
		return nil, fmt.Errorf("%w: %q: %w", ErrFilter, v.name, err)
	}
	return in.Raw, nil
}

// collapseIdent makes "$Id$" of every "$Id: ...$" on one line.
func collapseIdent(data []byte) []byte {
	if !bytes.Contains(data, []byte("$Id:")) {
		return data
	}
	out := make([]byte, 0, len(data))
	for {
		i := bytes.Index(data, []byte("$Id:"))
		if i < 0 {
			return append(out, data...)
		}
		text := data[i+len("$Id:"):]
		end := bytes.IndexAny(text, "$\n")
		if end < 0 {
			return append(out, data...)
		}
		if text[end] == '\n' {
			out = append(out, data[:i+1]...)
			data = data[i+1:]
			continue
		}
		out = append(append(out, data[:i]...), "$Id$"...)
		data = text[end+1:]
	}
}
