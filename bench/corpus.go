package bench

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// copyTree copies files, links and directories with their permissions, and the
// files' times, so that a copied index fits; the directory to exists.
func copyTree(ctx context.Context, to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err = firstError(err, ctx.Err()); err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || rel == "." {
			return err
		}
		target := filepath.Join(to, rel)
		fi, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.Mkdir(target, fi.Mode().Perm()|0o700)
		case d.Type() == fs.ModeSymlink:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case !d.Type().IsRegular():
			return nil // sockets, pipes and devices are in nobody's scope
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return firstError(os.WriteFile(target, data, 0o600), os.Chmod(target, fi.Mode().Perm()), os.Chtimes(target, fi.ModTime(), fi.ModTime()))
	})
}

// words make generated files compress about as well as source text does.
var words = strings.Fields(`func return if else for range struct type map string error nil int byte package import
	context value index buffer reader writer length offset header record entry table row key state lock`)

// text makes about as many bytes of such words.
func text(random *rand.Rand, size int) []byte {
	var text []byte
	for len(text) < size {
		text = append(append(text, words[random.IntN(len(words))]...), " \n\t("[random.IntN(4)])
	}
	return text
}

// generate writes n files of 0.2 to 13 KB, sixteen to a directory, the same for
// the same seed. Of each directory one file is a program. Beside them are two more:
// the ignore rules, and a link where there can be one.
func generate(ctx context.Context, dir string, n int, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		leaf := i / 16
		sub := filepath.Join(dir, fmt.Sprintf("part%02d", leaf%40), fmt.Sprintf("dir%04d", leaf))
		mode := fs.FileMode(0o644)
		if i%16 == 0 {
			if err := firstError(os.MkdirAll(sub, 0o755), ctx.Err()); err != nil {
				return err
			}
			mode = 0o755
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("file%05d.go", i)), text(random, 200<<random.IntN(7)), mode); err != nil {
			return err
		}
	}
	err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*.o\n/out/\n"), 0o644)
	if runtime.GOOS == "windows" { // links need a right there
		return err
	}
	return firstError(err, os.Symlink("part00/dir0000/file00000.go", filepath.Join(dir, "link")))
}

// corpusBytes is about how much room a copy needs.
func corpusBytes(o Options) int64 {
	if o.Corpus == "" {
		return int64(o.Files) * 12_000
	}
	var sum int64
	filepath.WalkDir(o.Corpus, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			if fi, err := d.Info(); err == nil {
				sum += fi.Size() + 4096
			}
		}
		return nil
	})
	return sum
}
