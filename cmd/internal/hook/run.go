package hook

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Caller is the half of a hook that the agent waits for. It reads the event, has
// the work done by another process, and tells the user what went wrong.
type Caller struct {
	Agent, Event string
	Dir          string        // where the hook was called
	Input        io.Reader     // what the agent says; nil: nothing
	Patience     time.Duration // how long the agent may be kept waiting
	Getenv       func(string) string
	Tell         func(line string) // says one line where the user sees it

	// Start begins the work in a process of its own, which the end of this one does
	// not stop. Lines that it writes are for the user; it has ended when there are no
	// more of them.
	Start func(task []byte) (io.ReadCloser, error)
}

// Call does what the hook was called for, and returns when that is done or the
// agent's patience is at its end. Nothing makes it fail.
func (c *Caller) Call(ctx context.Context) {
	ends := time.Now().Add(c.Patience)
	called, end := context.WithCancel(ctx)
	defer end()
	e, err := c.read(called)
	ctx, cancel := context.WithDeadline(ctx, ends)
	defer cancel()
	var lines []string
	if err != nil {
		lines = append(lines, err.Error())
	}
	switch perTool := c.perTool() || e.Unread; e.Act {
	case Nothing:
	case BeforeTool:
		if !perTool {
			c.await(ctx, &e)
			break
		}
		fallthrough
	default:
		if e.Act != AfterTool || perTool {
			lines = append(lines, c.work(ctx, &e)...)
		}
	}
	if len(lines) > 0 {
		c.say(&e, lines)
	}
}

// An agent may take a part of its patience to say what happened, and a second in any
// case: it has all of it before it calls, but that may be megabytes, on a busy machine.
const (
	inputPart = 5
	inputWait = time.Second
)

// read returns what the agent said, also of one that leaves the input open.
func (c *Caller) read(called context.Context) (Event, error) {
	ctx, cancel := context.WithTimeout(called, max(inputWait, c.Patience/inputPart))
	defer cancel()
	type outcome struct {
		event Event
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		input := c.Input
		if input == nil {
			input = strings.NewReader(c.Getenv("PI_HOOK_EVENT")) // tallow
		}
		e, err := readEvent(c.Agent, c.Event, input)
		done <- outcome{e, err}
		if err != nil {
			drain(called, input)
		}
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		o.event, _ = readEvent(c.Agent, c.Event, strings.NewReader("{"))
		o.err = errors.New(c.Agent + " did not say in time what happened")
	}
	if err := o.event.place(c.Dir, c.Getenv); o.err == nil {
		o.err = err
	}
	return o.event, o.err
}

// drain reads and forgets what an agent still writes, while its hook works: it is not to
// fail because nobody reads.
func drain(ctx context.Context, input io.Reader) {
	for rest := make([]byte, 64<<10); ctx.Err() == nil; {
		if _, err := input.Read(rest); err != nil {
			return
		}
	}
}

// toolsVariable says whether single tools make points: ToolsChanges, ToolsAll.
const toolsVariable = "REWIND_HOOK_TOOLS"

func (c *Caller) perTool() bool {
	v := c.Getenv(toolsVariable)
	return v == ToolsChanges || v == ToolsAll
}

// await waits for the work of an earlier hook that is not done yet.
func (c *Caller) await(ctx context.Context, e *Event) {
	dir, err := sessionsDir(c.Getenv)
	if err != nil {
		return
	}
	awaitSession(ctx, sessionFile(dir, e))
}

// work has the event carried out, and returns what it has to say.
func (c *Caller) work(ctx context.Context, e *Event) (lines []string) {
	task, err := json.Marshal(e)
	if err != nil {
		return []string{err.Error()}
	}
	from, err := c.Start(task)
	if err != nil {
		return []string{"nothing was recorded: " + err.Error()}
	}
	said := make(chan string)
	end := make(chan struct{})
	defer close(end)
	go func() {
		defer close(said)
		for all := bufio.NewScanner(from); all.Scan(); {
			select {
			case said <- all.Text():
			case <-end:
			}
		}
	}()
	defer from.Close()           // from then on the worker remembers what it has to say
	var patience <-chan struct{} // nothing counts before the worker has begun
	late := time.After(beginWait)
	for ; ; patience, late = ctx.Done(), nil {
		select {
		case line, more := <-said:
			switch {
			case line == whole:
				return lines
			case line == begun:
			case more:
				lines = append(lines, line)
			default:
				return append(lines, "nothing may have been recorded: the process that was to do it came to an early end")
			}
			continue
		case <-late:
			continue
		case <-patience:
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return lines // the agent stopped the hook
		}
		return append(lines, "recording takes longer than "+c.Patience.String()+"; it goes on by itself, and the next hook waits for it")
	}
}

// say tells what was not told before in this session. If nobody can remember that,
// it is told again.
func (c *Caller) say(e *Event, lines []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if dir, err := sessionsDir(c.Getenv); err == nil {
		if s, err := openSession(ctx, sessionFile(dir, e), func() {}); err == nil {
			lines = s.unsaid(append(s.Tell, lines...))
			s.Tell = nil
			_ = s.close()
		}
	}
	if len(lines) > 0 {
		c.Tell(strings.Join(lines, "; "))
	}
}

// The values of [toolsVariable].
const (
	ToolsChanges = "changes" // a point before the first change of each file, and every fifth write
	ToolsAll     = "all"     // also after each tool that changes files or runs commands
)

// everyWrites is after how many writes there is a point, whatever they wrote.
const everyWrites = 5

// A Worker is the other half of a hook: it carries the event out, however long that
// takes.
type Worker struct {
	Getenv func(string) string
	Output io.Writer // where lines for the user go; when nobody reads them they are kept for the next hook

	// Take records the state of the directory for an event. It returns what the user
	// has to know.
	Take func(context.Context, *Event) (lines []string, err error)
}

// The lines by which a worker says that it has its place in the row, before any other
// hook that is called later, and that it has come to its end.
const (
	begun = "+"
	whole = "."
)

// beginWait is how long a worker may take to begin, whatever the agent's patience.
const beginWait = 2 * time.Second

// Work carries out the task that a [Caller] made.
func (w *Worker) Work(ctx context.Context, task []byte) error {
	var e Event
	if err := json.Unmarshal(task, &e); err != nil {
		return err
	}
	s := &session{}
	dir, err := sessionsDir(w.Getenv)
	if err == nil {
		s, err = openSession(ctx, sessionFile(dir, &e), func() { _, _ = io.WriteString(w.Output, begun+"\n") })
	}
	if err != nil { // a point that remembers less is better than none
		s = &session{}
	}
	lines := s.Tell
	s.Tell, s.Last = nil, &Seen{Time: time.Now(), Dir: e.Dir}
	if s.wants(&e, w.Getenv(toolsVariable)) {
		done, failed := w.Take(ctx, &e)
		for _, line := range done {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		if failed != nil {
			s.Last.Fail = strings.Join(strings.Fields(failed.Error()), " ")
			lines = append(lines, "nothing was recorded: "+s.Last.Fail)
		}
	}
	for i, line := range lines {
		if _, err := io.WriteString(w.Output, line+"\n"); err != nil {
			s.Tell = append(s.Tell, lines[i:]...)
			break
		}
	}
	if s.held != nil {
		err = s.close()
	}
	// The end is told last: when the hook returns, what came of it is remembered.
	_, _ = io.WriteString(w.Output, whole+"\n")
	return err
}

// wants completes an event by what is known of its session, and reports whether it
// is worth a point.
func (s *session) wants(e *Event, tools string) bool {
	switch e.Act {
	case Before:
		if e.Prompt == "" {
			e.Prompt = strconv.FormatInt(time.Now().UnixNano(), 36)
		}
		s.Prompt, s.Text = e.Prompt, e.Text
		return true
	case BeforeTool:
		if s.remember(e) && tools != "" {
			return true
		}
		if e.Unread {
			e.Label = "before a tool"
		}
		return e.Unread
	}
	if e.Prompt == "" || e.Prompt == s.Prompt {
		e.Prompt, e.Text = s.Prompt, s.Text
	}
	return e.Act != AfterTool || tools == ToolsAll || e.Unread
}

// remember counts a write, and reports whether there is to be a point before it.
func (s *session) remember(e *Event) bool {
	if e.Prompt == "" || e.Prompt == s.Prompt {
		e.Prompt, e.Text = s.Prompt, s.Text
	}
	if !isWriter(e.Tool) {
		return false
	}
	s.Writes++
	first := ""
	for _, file := range e.Files {
		if !filepath.IsAbs(file) {
			file = filepath.Join(e.Dir, file)
		}
		if file = filepath.Clean(file); !slices.Contains(s.Files, file) {
			s.Files = append(s.Files, file)
			if first == "" {
				first = file
			}
		}
	}
	if first == "" && s.Writes%everyWrites != 0 {
		return false
	}
	if first == "" && len(e.Files) > 0 {
		first = e.Files[0]
	}
	if inner, err := filepath.Rel(e.Dir, first); err == nil && filepath.IsLocal(inner) {
		first = inner
	}
	e.Label = "before modifying " + filepath.ToSlash(first)
	return true
}
