package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/hunk"
)

// meanings says what the answers to the question about a part do.
var meanings = map[rune]string{
	'y': "restore this",
	'n': "do not restore this",
	'q': "restore neither this nor anything that follows",
	'a': "restore this and what follows in this file",
	'd': "restore neither this nor what follows in this file",
	's': "split this hunk into smaller ones",
	'e': "edit this hunk, and restore what it is then",
	'?': "tell what the answers mean",
}

// ask puts a question until one of the letters is the answer, which is not '?'. The
// end of the answers is 'q'.
func (k *picker) ask(ctx context.Context, question, letters string) (byte, error) {
	for {
		prompt := fmt.Sprintf("%s [%s]? ", question, strings.Join(strings.Split(letters, ""), ","))
		paint(k.err, []byte(prompt), bold, k.how.color)
		line, err := k.answer(ctx)
		if err != nil {
			return 0, err
		}
		if !strings.HasSuffix(line, "\n") {
			fmt.Fprintln(k.err) // nobody has ended the line
		}
		word := strings.ToLower(strings.TrimSpace(line))
		switch {
		case line == "":
			word = "q"
		case word == "":
			continue
		}
		if word[0] != '?' && strings.ContainsRune(letters, rune(word[0])) {
			k.quit = word[0] == 'q'
			return word[0], nil
		}
		for _, letter := range letters {
			say(k.err, "%c - %s\n", letter, meanings[letter])
		}
	}
}

// answer reads a line; "" is the end.
func (k *picker) answer(ctx context.Context) (string, error) {
	type read struct {
		line string
		err  error
	}
	came := make(chan read, 1)
	go func() {
		line, err := k.answers.ReadString('\n')
		came <- read{line, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(k.err) // the question has no end of line
		return "", errNotAnswered
	case r := <-came:
		if r.err != nil && !errors.Is(r.err, io.EOF) {
			return "", fmt.Errorf("the answer cannot be read: %w", r.err)
		}
		return r.line, nil
	}
}

// guide stands below a hunk that is to be edited.
const guide = `# ---
# What this hunk is when you leave the editor is restored.
# To keep a line that begins with "-", make the "-" a blank.
# To leave out a line that begins with "+", delete it.
# Without any line left, nothing of the hunk is restored. Lines that begin with # do not count.
`

// edit lets somebody edit a hunk.
func (k *picker) edit(ctx context.Context, h hunk.Hunk) (hunk.Hunk, error) {
	f, err := os.CreateTemp("", "rewind-hunk-*.diff")
	if err != nil {
		return h, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(h.Append(nil), guide...))
	if err = errors.Join(err, f.Close()); err != nil {
		return h, err
	}
	command := editorCommand()
	editor := exec.CommandContext(ctx, "sh", "-c", command+` "$@"`, command, f.Name())
	editor.Stdout, editor.Stderr = behindWriter(k.err), behindWriter(k.err)
	if isTerminal(k.in) {
		editor.Stdin = k.in
	}
	if err := editor.Run(); err != nil {
		return h, fmt.Errorf("the editor %q failed, and the hunk is as it was: %w; set VISUAL or EDITOR to another one", command, err)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		return h, err
	}
	return h.Edited(text)
}

// editorCommand is what the user edits texts with.
func editorCommand() string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if command := strings.TrimSpace(os.Getenv(name)); command != "" {
			return command
		}
	}
	return "vi"
}

// printHunks prints hunks in the unified format.
func printHunks(w io.Writer, hunks []byte, how look) {
	for line := range bytes.Lines(hunks) {
		if how.bare {
			line = plainLine(line)
		}
		paint(w, line, lineColor(line[0]), how.color)
	}
}
