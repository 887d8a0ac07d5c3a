// Package winehost lets what runs under Wine use git and sh of this machine, for there are
// none for Windows. Arguments, directory, the variables of git, input, outputs and the
// exit code go over a connection on loopback. Its program asks for programs under test; a
// test asks by itself, for under Wine each process costs a fifth of a second.
package winehost

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// A call is what the client asks for.
type call struct {
	Token, Program, Dir string
	Args, Env           []string
}

// An address says where calls go, and where this machine has the drives of Wine. It lies
// beside the programs that ask: tests begin those with an environment of their own.
type address struct{ Server, Token, Drives string }

const addressFile = "address"

// The kinds of parts of an answer: a byte, the length, the bytes.
const (
	toOut byte = iota
	toErr
	exited
)

// Ask has this machine do what a command says, and returns how that exited. What it asks
// is beside the command's program; [os.ErrNotExist]: there is nobody to ask.
func Ask(cmd *exec.Cmd) (exit int, err error) {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(cmd.Path), addressFile))
	if err != nil {
		return 0, err
	}
	var at address
	if err := json.Unmarshal(text, &at); err != nil {
		return 0, err
	}
	conn, err := net.Dial("tcp", at.Server)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	c := call{Token: at.Token, Program: strings.TrimSuffix(filepath.Base(cmd.Path), ".exe")}
	dir := cmd.Dir
	if dir == "" {
		if dir, err = os.Getwd(); err != nil {
			return 0, err
		}
	}
	c.Dir = at.here(dir)
	for _, a := range cmd.Args[1:] {
		c.Args = append(c.Args, at.here(a))
	}
	for _, v := range cmd.Environ() {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GIT_") || name == "HOME" || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "REWIND_") {
			c.Env = append(c.Env, name+"="+at.here(value))
		}
	}
	c.Env = append(c.Env, at.borrowed(cmd.Args)...)
	if err := json.NewEncoder(conn).Encode(c); err != nil {
		return 0, err
	}
	go func() {
		if cmd.Stdin != nil {
			_, _ = io.Copy(conn, cmd.Stdin)
		}
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	return answer(conn, cmd.Stdout, cmd.Stderr)
}

// borrowed is a variable that says to git where the directory lies whose objects the repository
// borrows: in its file of them git would not understand a path of Windows.
func (at *address) borrowed(args []string) []string {
	for _, a := range args {
		if dir, ok := strings.CutPrefix(a, "--git-dir="); ok {
			text, _ := os.ReadFile(filepath.Join(dir, "objects", "info", "alternates"))
			if path := strings.TrimSpace(string(text)); aPath.MatchString(path) {
				return []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + at.here(path)}
			}
		}
	}
	return nil
}

// answer takes in what the program writes, until it exits.
func answer(from io.Reader, out, complaint io.Writer) (exit int, err error) {
	to := map[byte]io.Writer{toOut: out, toErr: complaint}
	for {
		var head [5]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return 0, err
		}
		n := binary.LittleEndian.Uint32(head[1:])
		if head[0] == exited {
			return int(n), nil
		}
		w := to[head[0]]
		if w == nil {
			w = io.Discard
		}
		if _, err := io.CopyN(w, from, int64(n)); err != nil {
			return 0, err
		}
	}
}

var aPath = regexp.MustCompile(`^((?:--?[A-Za-z-]+=|file:///)?)(?:\\\\\?\\)?([A-Za-z]):([\\/].*)?$`)

// here is a path of Windows as this machine has it, with or without an option before it.
func (at *address) here(arg string) string {
	if arg == "NUL" {
		return "/dev/null"
	}
	m := aPath.FindStringSubmatch(arg)
	if m == nil {
		return arg
	}
	drive := ""
	if m[2] != "Z" && m[2] != "z" {
		drive = at.Drives + "/" + strings.ToLower(m[2]) + ":"
	}
	return m[1] + drive + strings.ReplaceAll(m[3], `\`, "/")
}

// Serve serves the git.exe and sh.exe of a directory.
func Serve(dir string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	at := address{l.Addr().String(), rand.Text(), filepath.Join(os.Getenv("WINEPREFIX"), "dosdevices")}
	text, err := json.Marshal(at)
	file := filepath.Join(dir, addressFile)
	if err == nil {
		err = os.WriteFile(file+".new", text, 0o600)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go run(conn, at.Token)
	}
}

// run runs one program, and ends it when the client is gone.
func run(conn net.Conn, token string) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	line, err := in.ReadBytes('\n')
	var c call
	if err != nil || json.Unmarshal(line, &c) != nil || c.Token != token || c.Program != "git" && c.Program != "sh" {
		return
	}
	var mu sync.Mutex
	send := func(kind byte, n int, p []byte) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := conn.Write(append(binary.LittleEndian.AppendUint32([]byte{kind}, uint32(n)), p...))
		return err
	}
	out := func(kind byte) io.Writer {
		return writer(func(p []byte) error { return send(kind, len(p), p) })
	}
	cmd := exec.Command(c.Program, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = out(toOut), out(toErr)
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		go func() {
			_, err := io.Copy(pipe, in)
			_ = pipe.Close()
			if err != nil {
				_ = cmd.Process.Kill()
			}
		}()
		err = cmd.Wait()
	}
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = max(exit.ExitCode(), 0)
		if code == 0 {
			code = 128
		}
	} else if err != nil {
		code = 127
		_ = send(toErr, len(err.Error()), []byte(err.Error()))
	}
	_ = send(exited, code, nil)
}

type writer func([]byte) error

func (w writer) Write(p []byte) (int, error) { return len(p), w(p) }
