// The program host asks this machine, built for Windows and called git.exe or sh.exe, to
// run git and sh; it serves those of a directory, built for this system and called with
// "serve" and the directory.
package main

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/seed-82afce7a/rewind/internal/gittest/winehost"
)

func main() {
	exit := 127
	var err error
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		err = winehost.Serve(os.Args[2])
	} else {
		exit, err = ask()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		exit = 127
	}
	os.Exit(exit)
}

func ask() (exit int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	return winehost.Ask(&exec.Cmd{Path: self, Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
}
