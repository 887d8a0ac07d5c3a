//go:build !unix && !windows

package main

import "syscall"

func alone() *syscall.SysProcAttr { return nil }
