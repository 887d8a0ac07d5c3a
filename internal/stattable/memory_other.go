//go:build !linux

package stattable

const mapWhole = 0
