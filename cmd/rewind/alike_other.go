//go:build !unix

package main

func powers() map[string]string { return nil }
