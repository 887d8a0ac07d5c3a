package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An editing is an editor that has an agent, which is a script of the shell, under
// rewind acp.
type editing struct {
	t         *testing.T
	base, dir string // the directory of the program and its agent
	env       []string
	cmd       *exec.Cmd
	to        io.WriteCloser
	from      io.ReadCloser
	stderr    bytes.Buffer
}

// toy is an agent that writes a file in its session's directory for each prompt, and
// does what the words of the prompt are.
const toy = `
n=0
while IFS= read -r line; do
	case $line in
	*'"initialize"'*) echo '{"id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"toy"}}}' ;;
	*'"session/new"'*)
		n=$((n+1)); dir=${line#*'"cwd":"'}; eval "dir_$n=\${dir%%\\\"*}"
		echo '{"id":'$n',"result":{"sessionId":"s'$n'"}}' ;;
	*'"session/prompt"'*)
		s=${line#*'"sessionId":"s'}; s=${s%%'"'*}; eval "cd \"\$dir_$s\""
		words=${line#*'"text":"'}; words=${words%%'"'*}
		echo "$words" >>notes.txt
		eval "$words"
		id=${line#*'"id":'}; echo '{"id":'${id%%,*}',"result":{"stopReason":"end_turn"}}' ;;
	esac
done
`

func edits(t *testing.T, script string) *editing {
	t.Helper()
	base := t.TempDir()
	e := &editing{t: t, base: base, dir: filepath.Join(base, "one")}
	for _, name := range []string{"one", "other"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	e.env = append(os.Environ(), "HOME="+base+"/home", "XDG_STATE_HOME="+base+"/state", "XDG_CONFIG_HOME="+base+"/config")
	e.cmd = e.rewind("acp", "--", "sh", "-c", script)
	var err error
	if e.to, err = e.cmd.StdinPipe(); err == nil {
		e.from, err = e.cmd.StdoutPipe()
	}
	e.cmd.Stderr = &e.stderr
	if err == nil {
		err = e.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.cmd.Process.Kill() })
	return e
}

func (e *editing) rewind(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		e.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args, cmd.Dir, cmd.Env = append([]string{"program"}, args...), e.dir, e.env
	return cmd
}

// says sends a line, and returns the answer.
func (e *editing) says(format string, args ...any) string {
	e.t.Helper()
	if _, err := fmt.Fprintf(e.to, format+"\n", args...); err != nil {
		e.t.Fatalf("%v, %s", err, e.stderr.String())
	}
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := e.from.Read(b); err != nil || b[0] == '\n' {
			return string(line)
		}
		line = append(line, b[0])
	}
}

// begins makes n sessions, the second of them in another directory.
func (e *editing) begins(n int) {
	e.t.Helper()
	e.says(`{"id":0,"method":"initialize","params":{"protocolVersion":1}}`)
	for i := range n {
		dir := []string{e.dir, filepath.Join(e.base, "other")}[i]
		if got := e.says(`{"id":%d,"method":"session/new","params":{"cwd":"%s"}}`, i+1, dir); !strings.Contains(got, fmt.Sprintf("s%d", i+1)) {
			e.t.Fatalf("%q, %s", got, e.stderr.String())
		}
	}
}

func (e *editing) prompts(session int, id int, words string) string {
	e.t.Helper()
	return e.says(`{"id":%d,"method":"session/prompt","params":{"sessionId":"s%d","prompt":[{"type":"text","text":"%s"}]}}`, id, session, words)
}

// ends closes what the editor writes to, and returns how rewind ended.
func (e *editing) ends() syscall.WaitStatus {
	e.t.Helper()
	e.to.Close()
	if _, err := io.Copy(io.Discard, e.from); err != nil {
		e.t.Error(err)
	}
	err := e.cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		e.t.Fatal(err)
	}
	status, _ := e.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status
}

// points lists what a directory's history tells of turns, oldest first.
func (e *editing) points(name string) (list []string) {
	e.t.Helper()
	out, err := e.rewind("-C", filepath.Join(e.base, name), "list", "--json").Output()
	var all struct {
		Snapshots []struct {
			Points []struct{ Trigger, Prompt, Session, Agent, Time string }
		}
	}
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		e.t.Fatalf("%v: %s", err, out)
	}
	for _, s := range slices.Backward(all.Snapshots) {
		for _, p := range s.Points {
			list = append(list, fmt.Sprintf("%s %s %s %s %q", p.Time, p.Agent, p.Trigger, p.Session, p.Prompt))
		}
	}
	slices.Sort(list)
	for i := range list {
		_, list[i], _ = strings.Cut(list[i], " ")
	}
	return list
}

func (e *editing) wants(name string, want ...string) {
	e.t.Helper()
	if got := e.points(name); !slices.Equal(got, want) {
		e.t.Errorf("%s: points %q, want %q; %s", name, got, want, e.stderr.String())
	}
}

func TestEachSessionOfAConnectionHasItsPointsWhereItWorks(t *testing.T) {
	t.Parallel()
	e := edits(t, toy+"exit 7")
	e.begins(2)
	e.prompts(2, 10, "true")
	e.prompts(1, 11, "cd ..; pwd >/dev/null")
	e.prompts(2, 12, "true")
	if status := e.ends(); status.ExitStatus() != 7 {
		t.Errorf("ended with %v", status)
	}
	e.wants("one", `toy prompt s1 "cd ..; pwd >/dev/null"`, `toy turn s1 "cd ..; pwd >/dev/null"`)
	e.wants("other", `toy prompt s2 "true"`, `toy turn s2 "true"`, `toy prompt s2 "true"`, `toy turn s2 "true"`)
}

func TestAnAgentThatDiesInATurnLeavesAPointAndItsSignal(t *testing.T) {
	t.Parallel()
	e := edits(t, toy)
	e.begins(1)
	if got := e.prompts(1, 10, "echo more >more.txt; kill -KILL $$"); got != "" {
		t.Errorf("a dead agent said %q", got)
	}
	if status := e.ends(); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Errorf("ended with %v", status)
	}
	e.wants("one", `toy prompt s1 "echo more >more.txt; kill -KILL $$"`, `toy turn s1 "echo more >more.txt; kill -KILL $$"`)
	if out, err := e.rewind("cat", "@:more.txt").Output(); err != nil || string(out) != "more\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestASignalIsTheAgents(t *testing.T) {
	t.Parallel()
	e := edits(t, "trap 'echo heard; exit 5' TERM\n"+toy)
	e.begins(1)
	if err := e.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// A shell handles it when what it reads comes or ends.
	if got := e.says(""); got != "heard" {
		t.Errorf("the agent said %q", got)
	}
	if status := e.ends(); status.ExitStatus() != 5 {
		t.Errorf("ended with %v", status)
	}
}

// A snapshot that fails is said once, and nothing waits for it.
func TestAnAgentWorksOnWhereNothingCanBeRecorded(t *testing.T) {
	t.Parallel()
	e := edits(t, toy)
	if err := os.WriteFile(filepath.Join(e.base, "state"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e.begins(1)
	for i := range 3 {
		if got := e.prompts(1, 10+i, "true"); got != fmt.Sprintf(`{"id":%d,"result":{"stopReason":"end_turn"}}`, 10+i) {
			t.Errorf("%q", got)
		}
	}
	if status := e.ends(); status.ExitStatus() != 0 {
		t.Errorf("ended with %v", status)
	}
	if n := strings.Count(e.stderr.String(), "nothing was recorded"); n != 1 {
		t.Errorf("said %d times: %s", n, e.stderr.String())
	}
}

// An editor and an agent hear of each other's closed ends as if nobody stood between.
func TestAnEndThatIsClosedIsHeardOnTheOtherSide(t *testing.T) {
	t.Parallel()
	e := edits(t, "exec 0<&-; echo closed; while test ! -e go-on; do sleep 0.05; done; exit 3")
	if got := e.says("first"); got != "closed" {
		t.Errorf("%q", got)
	}
	heard := make(chan error, 1)
	go func() {
		_, err := e.to.Write(bytes.Repeat([]byte("line\n"), 1<<20))
		heard <- err
	}()
	select {
	case err := <-heard:
		if !errors.Is(err, syscall.EPIPE) {
			t.Errorf("the editor heard %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the editor waits for somebody who reads")
	}
	if err := os.WriteFile(filepath.Join(e.dir, "go-on"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if status := e.ends(); status.ExitStatus() != 3 {
		t.Errorf("ended with %v", status)
	}

	gone := edits(t, `trap "" PIPE; until ! echo line; do :; done 2>/dev/null; exit 4`)
	gone.from.Close()
	if err := gone.cmd.Wait(); gone.cmd.ProcessState.ExitCode() != 4 {
		t.Errorf("ended with %v", err)
	}
}

// What makes the points ends for good: a connection may live for days.
func TestNoProcessIsLeftBehindByATurn(t *testing.T) {
	t.Parallel()
	e := edits(t, toy)
	e.begins(1)
	for i := range 4 {
		e.prompts(1, 10+i, "true")
	}
	left := func() (names []string) {
		out, _ := exec.Command("ps", "-o", "pid=,stat=,args=", "--ppid", fmt.Sprint(e.cmd.Process.Pid)).Output()
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "Z") || strings.Contains(line, "--task") {
				names = append(names, line)
			}
		}
		return names
	}
	for range 100 {
		if len(left()) == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if names := left(); len(names) > 0 {
		t.Errorf("left: %q", names)
	}
	e.ends()
}
