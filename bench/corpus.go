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
	"sync"
)

// copyTree copies files, links and directories with their permissions, and the
// files' times, so that a copied index fits; the directory to exists.
func copyTree(ctx context.Context, to, from string) error {
	files := workers(func(rel string) error {
		return firstError(ctx.Err(), copyFile(filepath.Join(to, rel), filepath.Join(from, rel)))
	})
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err = firstError(err, ctx.Err()); err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || rel == "." {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			fi, err := d.Info()
			if err != nil {
				return err
			}
			return os.Mkdir(target, fi.Mode().Perm()|0o700)
		case d.Type() == fs.ModeSymlink:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case d.Type().IsRegular(): // sockets, pipes and devices are in nobody's scope
			files.give(rel)
		}
		return nil
	})
	return firstError(files.wait(), err)
}

// copyFile copies one regular file, with its permissions and time.
func copyFile(to, from string) error {
	fi, err := os.Lstat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return firstError(os.WriteFile(to, data, 0o600), os.Chmod(to, fi.Mode().Perm()), os.Chtimes(to, fi.ModTime(), fi.ModTime()))
}

// A crew does pieces of work side by side, one piece a processor at a time.
type crew[T any] struct {
	work   chan T
	failed []error // a worker's first
	all    sync.WaitGroup
}

// workers makes a crew. What is given after a worker has failed may be left undone.
func workers[T any](do func(T) error) *crew[T] {
	c := &crew[T]{work: make(chan T, 256), failed: make([]error, runtime.NumCPU())}
	for w := range c.failed {
		c.all.Go(func() {
			for piece := range c.work {
				if c.failed[w] == nil {
					c.failed[w] = do(piece)
				}
			}
		})
	}
	return c
}

// give hands a piece to whoever is free.
func (c *crew[T]) give(piece T) { c.work <- piece }

// wait ends the crew when all is done, and gives what failed.
func (c *crew[T]) wait() error {
	close(c.work)
	c.all.Wait()
	return firstError(c.failed...)
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

// inLeaf is how many generated files a directory has.
const inLeaf = 16

// bytesMost is how many bytes a generated file has at most, if nobody says so.
const bytesMost = 200 << 6

// generate writes files of 0.2 to 13 KB, sixteen to a directory, the same for
// the same seed. Of each directory one file is a program. Beside them are two more:
// the ignore rules, and a link where there can be one.
func generate(ctx context.Context, dir string, o Options) error {
	leaves := workers(func(leaf int) error {
		return firstError(ctx.Err(), generateLeaf(dir, leaf, o))
	})
	for leaf := range (o.Files + inLeaf - 1) / inLeaf {
		leaves.give(leaf)
	}
	err := firstError(leaves.wait(), os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*.o\n/out/\n"), 0o644))
	if runtime.GOOS == "windows" { // links need a right there
		return err
	}
	return firstError(err, os.Symlink("part00/dir0000/file00000.go", filepath.Join(dir, "link")))
}

// generateLeaf writes one directory. Its bytes depend on the seed and its number alone:
// the directories are written side by side.
func generateLeaf(dir string, leaf int, o Options) error {
	random := rand.New(rand.NewPCG(o.Seed, uint64(leaf)))
	sub := filepath.Join(dir, fmt.Sprintf("part%02d", leaf%40), fmt.Sprintf("dir%04d", leaf))
	if err := os.MkdirAll(sub, 0o755); err != nil {
		return err
	}
	for i := range min(inLeaf, o.Files-leaf*inLeaf) {
		mode := fs.FileMode(0o644)
		if i == 0 {
			mode = 0o755
		}
		name := fmt.Sprintf("file%05d.go", leaf*inLeaf+i)
		if err := os.WriteFile(filepath.Join(sub, name), text(random, min(200<<random.IntN(7), o.Bytes)), mode); err != nil {
			return err
		}
	}
	return nil
}

// corpusBytes is about how much room a copy needs: of a generated file 6.3 KB in
// blocks of 4, its object in git's pack, and as much in a store.
func corpusBytes(o Options) int64 {
	if o.Corpus == "" {
		return int64(o.Files) * min(10_000, 6_000+int64(o.Bytes))
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
