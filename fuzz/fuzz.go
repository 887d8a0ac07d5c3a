// Package fuzz holds the whole-engine tests and nothing else: random
// repository states compared with git, random operations compared with a
// model, processes killed at every durable step, many processes at once, and
// stores of earlier versions read for ever. docs/testing.md says how to run
// each of them longer.
package fuzz
