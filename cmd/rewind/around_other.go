//go:build !unix

package main

import "os"

// passedOn lists the signals that must not end rewind while a command runs. A console
// sends them to the command as well.
func passedOn() []os.Signal { return []os.Signal{os.Interrupt} }

func passOn(*os.Process, os.Signal, bool) {}

func endAs(*os.ProcessState) int { return exitFailed }
