// Command rewind is a time machine for the working directory of coding agents:
// it records the state of all files, and puts any recorded state back.
// docs/cli.md is its contract.
package main

import "github.com/seed-82afce7a/rewind/cmd/internal/command"

func main() { command.Main() }
