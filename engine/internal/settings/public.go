package settings

import (
	"bytes"
	"slices"
)

// certificates is how a file of public certificates or keys begins, or a part
// of it; and what is in none that holds a private key too.
var (
	certificates = [][]byte{[]byte("-----BEGIN CERTIFICATE-----"), []byte("-----BEGIN PUBLIC KEY-----"), []byte("-----BEGIN TRUSTED CERTIFICATE-----")}
	private      = []byte("PRIVATE KEY")
)

// PublicMax is how much of a file is looked at: twice what the world's certificates
// need.
const PublicMax = 1 << 20

// Public reports whether a content is known to be certificates or public keys and
// nothing that has to be kept secret.
func Public(content []byte) bool {
	has := func(word []byte) bool { return bytes.Contains(content, word) }
	return slices.ContainsFunc(certificates, has) && !has(private)
}
