// Package setup makes agents call rewind, and takes that back exactly. It changes
// files that belong to the user and are read by other programs: so every change is
// planned first, to be shown, and carried out only where the file is still as it was
// then; what cannot be parsed is left alone (docs/decisions/0020-hooks.md).
package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// A Setup knows where agents lie.
type Setup struct {
	Getenv  func(string) string
	Files   fs.FS  // the folders of the package extension
	Command string // how a shell calls rewind
	OnPath  func(program string) bool
}

// A Change is one file as it is and as it is to be.
type Change struct {
	Path          string
	Before, After []byte // nil: no file
}

// A Plan is what is to be done for one agent.
type Plan struct {
	Agent   string
	Changes []Change
	Notes   []string // what the user has to know, or to do

	kept *receipt // what is written down of it
	gone *receipt // what was written down, and is to be forgotten
	file string   // where
}

// Found tells which agents are here: their program or their folder.
func (s *Setup) Found() (names []string) {
	for _, a := range agents() {
		if s.here(&a) {
			names = append(names, a.name)
		}
	}
	return names
}

func (s *Setup) here(a *agent) bool {
	at := a.home
	if a.known != nil {
		at = a.known
	} else if s.OnPath(a.program) {
		return true
	}
	info, err := os.Stat(folder(at, s.Getenv))
	return err == nil && info.IsDir()
}

func (s *Setup) agent(name string) (*agent, error) {
	if homeOf(s.Getenv) == "" { // what lies in the working directory is somebody's repository
		return nil, errors.New("HOME does not say where your files are")
	}
	for i := range agents() {
		if agents()[i].name == name {
			return &agents()[i], nil
		}
	}
	return nil, fmt.Errorf("%q is no agent that can be set up: %v", name, Names())
}

// Plan finds what is to be changed so that an agent calls rewind. Where that is so
// already it has no changes.
func (s *Setup) Plan(name string) (*Plan, error) {
	a, err := s.agent(name)
	if err != nil {
		return nil, err
	}
	p := &Plan{Agent: name, file: s.receiptFile(name)}
	dir := a.dir(s.Getenv)
	if a.plugin != "" {
		if text, err := os.ReadFile(filepath.Join(dir, a.plugin)); err == nil && bytes.Contains(text, []byte("rewind@rewind")) {
			p.Notes = append(p.Notes, "its plugin is installed already, and does the same")
			return p, nil
		}
	}
	old, err := readReceipt(p.file)
	if err != nil {
		return nil, err
	}
	p.kept = old
	if err := s.planCopies(a, p); err != nil {
		return nil, err
	}
	if err := s.planHooks(a, p); err != nil {
		return nil, err
	}
	if len(p.Changes) > 0 && a.trust != "" {
		p.Notes = append(p.Notes, a.trust)
	}
	return p, nil
}

// planCopies adds the files that are ours as a whole.
func (s *Setup) planCopies(a *agent, p *Plan) error {
	copies, err := a.ownFiles(s.Files, s.Command)
	if err != nil {
		return err
	}
	for _, to := range slices.Sorted(maps.Keys(copies)) {
		file := filepath.Join(a.dir(s.Getenv), filepath.FromSlash(to))
		if a.scripts != "" {
			file = p.kept.beside(file, copies[to])
		}
		now, err := content(file)
		if err != nil {
			return err
		}
		if bytes.Equal(now, copies[to]) {
			continue
		}
		if now != nil && !p.kept.has(file, now) {
			return fmt.Errorf("%s is there already, and not as rewind left it: move it away first", file)
		}
		p.change(file, now, copies[to])
	}
	return nil
}

// planHooks adds what is put into a file of the agent's.
func (s *Setup) planHooks(a *agent, p *Plan) error {
	if a.hooks == "" {
		return nil
	}
	file := filepath.Join(a.dir(s.Getenv), filepath.FromSlash(a.hooks))
	now, err := content(file)
	if err != nil {
		return err
	}
	text := now
	if text == nil {
		text = []byte(a.base)
	}
	if len(bytes.TrimSpace(text)) > 0 {
		if _, err := parse(text); err != nil {
			return fmt.Errorf("%s is not JSON that can be changed safely, and was left alone: %w", file, err)
		}
		if a.upToDate(text, s.Command) {
			return nil
		}
		if text, err = without(text, a.isOurs); err != nil {
			return fmt.Errorf("%s was left alone: %w", file, err)
		}
		if a.isCalled(text) {
			p.Notes = append(p.Notes, file+" calls rewind already, by an entry that is yours: it was left alone")
			return nil
		}
	}
	for _, event := range slices.Sorted(maps.Keys(a.events)) {
		if text, err = insert(text, []string{"hooks", event}, a.hook(event, s.Command)); err != nil {
			return fmt.Errorf("%s was left alone: %w", file, err)
		}
	}
	if !bytes.Equal(text, now) {
		p.change(file, now, text)
	}
	return nil
}

func (p *Plan) change(file string, before, after []byte) {
	p.Changes = append(p.Changes, Change{Path: file, Before: before, After: after})
	p.kept = p.kept.with(file, before, after)
}

// PlanRemoval finds what takes back what was set up. A file that nobody changed since
// is as it was before, to the byte; from one that was changed our part is cut out.
func (s *Setup) PlanRemoval(name string) (*Plan, error) {
	a, err := s.agent(name)
	if err != nil {
		return nil, err
	}
	hooks := filepath.Join(a.dir(s.Getenv), filepath.FromSlash(a.hooks))
	return s.removal(name, hooks, func(now []byte) ([]byte, error) { return without(now, a.isOurs) })
}

// removal is [Setup.PlanRemoval], where a part of one file is ours: cut takes it out.
func (s *Setup) removal(name, shared string, cut func(now []byte) (rest []byte, err error)) (*Plan, error) {
	p := &Plan{Agent: name, file: s.receiptFile(name)}
	old, err := readReceipt(p.file)
	if err != nil {
		return nil, err
	}
	p.gone = old
	for _, f := range old.Files {
		now, err := content(f.Path)
		switch {
		case err != nil:
			return nil, err
		case now == nil: // somebody else removed it
		case f.after(now):
			p.Changes = append(p.Changes, Change{Path: f.Path, Before: now, After: f.Before})
		case f.Path == shared:
			rest, err := cut(now)
			if err != nil {
				return nil, fmt.Errorf("%s was left alone: %w", f.Path, err)
			}
			if !bytes.Equal(rest, now) {
				p.Changes = append(p.Changes, Change{Path: f.Path, Before: now, After: rest})
			}
		default:
			p.Notes = append(p.Notes, f.Path+" was changed since, and stays")
		}
	}
	return p, nil
}

// Apply carries a plan out. A file that is not as it was when the plan was made stops
// it before anything is changed.
func (p *Plan) Apply() error {
	for _, c := range p.Changes {
		now, err := content(c.Path)
		if err == nil && !bytes.Equal(now, c.Before) {
			err = fmt.Errorf("%s was changed meanwhile; nothing was done", c.Path)
		}
		if err != nil {
			return err
		}
	}
	if p.kept != nil && len(p.Changes) > 0 {
		if err := p.kept.write(p.file); err != nil {
			return err
		}
	}
	for _, c := range p.Changes {
		var err error
		if c.After == nil {
			err = os.Remove(c.Path)
		} else {
			err = replace(c.Path, c.After)
		}
		if err != nil {
			return err
		}
	}
	if p.gone != nil {
		p.gone.removeDirs()
		return forget(p.file)
	}
	return nil
}

// content reads a file, nil if there is none.
func content(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil { // the user's link, which is not to be replaced
			return nil, fmt.Errorf("%s is a link that leads nowhere", path)
		}
		return nil, nil
	}
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}
