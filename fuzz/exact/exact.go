// Package exact proves that a restore is exact, and that nothing is lost on the
// way to it. Its tests use the whole program from outside: the public engine
// and the command line, with real git, on real file systems.
//
// Their oracle is a picture of a directory: every path with its type, its
// permissions and its bytes. It knows nothing of how rewind works.
package exact
