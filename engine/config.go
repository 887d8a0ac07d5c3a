package engine

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/settings"
	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
)

// Settings tells of every setting: its Values, where each one was set, what it Means,
// and which Words it may be.
func (e *Engine) Settings() []settings.Told { return e.conf.All() }

// Configure gives a setting these values, or takes it away if there are none: in the
// repository's own configuration, or with global, and where there is no git, in the
// user's own file, which is for all repositories and directories. It returns that file.
// What would not count there is [ErrRefused]. This engine goes on with
// the settings that it was opened with.
func (e *Engine) Configure(ctx context.Context, name string, values []string, global bool) (file string, err error) {
	key := strings.ToLower(strings.TrimPrefix(name, "rewind."))
	i := slices.IndexFunc(e.conf.All(), func(t settings.Told) bool { return strings.EqualFold(t.Name, "rewind."+key) })
	if i < 0 {
		return "", fmt.Errorf("%w: there is no setting %q", ErrRefused, name)
	}
	told := e.conf.All()[i]
	if len(values) > 1 && !told.Many {
		return "", fmt.Errorf("%w: %s has one value", ErrRefused, told.Name)
	}
	if slices.ContainsFunc(values, func(v string) bool { return strings.ContainsAny(v, "\n\x00") }) {
		return "", fmt.Errorf("%w: a value is one line", ErrRefused)
	}
	own := e.userConfig()
	counts := func(from, then settings.Sources) error {
		if why := settings.Ignored(key, from, then); why != "" {
			return fmt.Errorf("%w: %s would not count: %s", ErrRefused, told.Name, why)
		}
		return nil
	}
	if e.repo == nil || global {
		return own, settings.Write(own, key, values, func(candidate string) error {
			return counts(settings.Sources{}, settings.Sources{File: candidate})
		})
	}
	file = filepath.Join(e.repo.Layout().CommonDir, "config")
	base := slices.DeleteFunc(slices.Clone(e.git.Settings()), func(s gitconf.Setting) bool { return s.Name == "rewind."+key && s.Scope == gitconf.Local })
	then := slices.Clone(base)
	for _, v := range values {
		then = append(then, gitconf.Setting{Name: "rewind." + key, Value: v, Scope: gitconf.Local, File: file})
	}
	slices.SortStableFunc(then, func(a, b gitconf.Setting) int { return cmp.Compare(a.Scope, b.Scope) })
	if err := counts(settings.Sources{File: own, Git: gitconf.NewConfig(base)}, settings.Sources{File: own, Git: gitconf.NewConfig(then)}); err != nil {
		return file, err
	}
	return file, e.repo.SetConfig(ctx, told.Name, values)
}
