package wildmatch

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"iter"
)

// WeightMax is what the rules in force in a directory may take in memory: some
// 300,000 names, or 100,000 patterns with wildcards. git has no such bound.
const WeightMax = 64 << 20

// Of is the way to compare letters where case counts, or where it does not
// (core.ignoreCase).
func Of(fold bool) Case {
	if fold {
		return Fold
	}
	return Exact
}

// Lines yields the lines of a file of rules without their newlines, and whether they
// ended with one.
func Lines(data []byte) iter.Seq2[[]byte, bool] {
	return func(yield func([]byte, bool) bool) {
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		for len(data) > 0 {
			line, rest, ended := bytes.Cut(data, []byte{'\n'})
			if !yield(line, ended) {
				return
			}
			data = rest
		}
	}
}

// A Sum is the digest of the rules of a file.
type Sum struct{ hash.Hash }

// NewSum returns the digest of no rules.
func NewSum(c Case) Sum {
	s := Sum{sha256.New()}
	s.Write([]byte{byte(c)})
	return s
}

// Add adds a rule.
func (s Sum) Add(rule string) {
	s.Write(binary.AppendUvarint(nil, uint64(len(rule))))
	s.Write([]byte(rule))
}

// Digest returns the digest of what was added; it is never 0.
func (s Sum) Digest() uint64 { return binary.BigEndian.Uint64(s.Sum(nil)) | 1 }

// Mix folds the digest of a file, or the name of a directory, into that of the rules in
// force there (FNV-1a over their bytes).
func Mix(digest, n uint64, name string) uint64 {
	const prime = 1099511628211
	if digest == 0 {
		digest = 14695981039346656037
	}
	for shift := 0; shift < 64; shift += 8 {
		digest = (digest ^ n>>shift&0xff) * prime
	}
	for i := 0; i < len(name); i++ {
		digest = (digest ^ uint64(name[i])) * prime
	}
	return (digest ^ uint64(len(name))) * prime
}
