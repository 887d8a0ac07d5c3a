// Package hostile proves that nothing that somebody else prepared on disk makes
// rewind hang, take all memory, or crash.
//
// Each world is a repository in which one thing was made for that purpose: a
// file that never ends, a pipe in place of an index, ten thousand levels of
// directories, trees that contain one another ten times. Every command runs in
// each as a process of its own, which has to end by itself, without a stack
// trace, and within a bound of memory. The bound is an assertion; the time is
// not: it only tells a program that hangs from one that works.
package hostile
