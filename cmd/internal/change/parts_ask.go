package change

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
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
		show.Paint(k.Err, []byte(prompt), show.Bold, k.how.Color)
		line, err := k.answer(ctx)
		if err != nil {
			return 0, err
		}
		if !strings.HasSuffix(line, "\n") {
			fmt.Fprintln(k.Err) // nobody has ended the line
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
			show.Say(k.Err, "%c - %s\n", letter, meanings[letter])
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
		fmt.Fprintln(k.Err) // the question has no end of line
		return "", cli.ErrNotAnswered
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
	editor.Stdout, editor.Stderr = show.BehindWriter(k.Err), show.BehindWriter(k.Err)
	if show.IsTerminal(k.In) {
		editor.Stdin = k.In
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
