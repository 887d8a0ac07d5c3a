package restic

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"time"

	//lint:ignore SA1019 the format has it; chacha20poly1305 is another construction
	"golang.org/x/crypto/poly1305"
	"golang.org/x/crypto/scrypt"
)

// overhead is how much longer sealed bytes are: 16 bytes before them, 16 behind.
const overhead = aes.BlockSize + poly1305.TagSize

// A master key seals everything in a repository but the files of keys.
type master struct {
	encrypt    [32]byte
	macK, macR [16]byte
}

// mask clears the bits of r that Poly1305 does not use.
func (m *master) mask() {
	for _, i := range []int{3, 7, 11, 15} {
		m.macR[i] &= 15
	}
	for _, i := range []int{4, 8, 12} {
		m.macR[i] &= 252
	}
}

func (m *master) tagKey(nonce []byte) *[32]byte {
	var key [32]byte
	block, err := aes.NewCipher(m.macK[:])
	if err != nil {
		panic(err) // only of a key of another length
	}
	copy(key[:16], m.macR[:])
	block.Encrypt(key[16:], nonce)
	return &key
}

func (m *master) stream(iv, dst, src []byte) {
	block, err := aes.NewCipher(m.encrypt[:])
	if err != nil {
		panic(err) // only of a key of another length
	}
	cipher.NewCTR(block, iv).XORKeyStream(dst, src)
}

// seal appends the sealed form of plain to dst.
func (m *master) seal(dst, plain []byte) []byte {
	at := len(dst)
	dst = slices.Grow(dst, len(plain)+overhead)[:at+aes.BlockSize]
	iv := dst[at : at+aes.BlockSize]
	_, _ = rand.Read(iv)
	dst = append(dst, plain...)
	text := dst[at+aes.BlockSize:]
	m.stream(iv, text, text)
	var tag [poly1305.TagSize]byte
	poly1305.Sum(&tag, text, m.tagKey(iv))
	return append(dst, tag[:]...)
}

// errSeal is reported of bytes that this key did not seal.
var errSeal = errors.New("the seal is broken: it was changed, or sealed with another key")

// open returns what was sealed, in buf if there is room.
func (m *master) open(buf, sealed []byte) ([]byte, error) {
	if len(sealed) < overhead {
		return nil, errSeal
	}
	iv, text := sealed[:aes.BlockSize], sealed[aes.BlockSize:len(sealed)-poly1305.TagSize]
	var tag [poly1305.TagSize]byte
	copy(tag[:], sealed[len(sealed)-poly1305.TagSize:])
	if !poly1305.Verify(&tag, text, m.tagKey(iv)) {
		return nil, errSeal
	}
	plain := slices.Grow(buf[:0], len(text))[:len(text)]
	m.stream(iv, plain, text)
	return plain, nil
}

// A keyFile is a file in keys/: the master key, sealed with one that follows from a password.
type keyFile struct {
	Created  time.Time `json:"created"`
	Username string    `json:"username"`
	Hostname string    `json:"hostname"`
	KDF      string    `json:"kdf"`
	N        int       `json:"N"`
	R        int       `json:"r"`
	P        int       `json:"p"`
	Salt     []byte    `json:"salt"`
	Data     []byte    `json:"data"`
}

// A masterFile is the master key as it lies in a keyFile.
type masterFile struct {
	MAC struct {
		K []byte `json:"k"`
		R []byte `json:"r"`
	} `json:"mac"`
	Encrypt []byte `json:"encrypt"`
}

// The bounds of what a file of keys may ask for: anybody who can write there could else
// let a program run out of memory.
const (
	scryptNMax = 1 << 20
	scryptRMax = 32
	scryptPMax = 64
)

func (k *keyFile) derive(password string) (*master, error) {
	if k.KDF != "scrypt" || k.N < 2 || k.N > scryptNMax || k.R < 1 || k.R > scryptRMax || k.P < 1 || k.P > scryptPMax || len(k.Salt) < 16 || len(k.Salt) > 1<<10 {
		return nil, fmt.Errorf("a key of another kind (%q, N %d, r %d, p %d)", k.KDF, k.N, k.R, k.P)
	}
	sum, err := scrypt.Key([]byte(password), k.Salt, k.N, k.R, k.P, 64)
	if err != nil {
		return nil, err
	}
	m := &master{}
	copy(m.encrypt[:], sum[:32])
	copy(m.macK[:], sum[32:48])
	copy(m.macR[:], sum[48:])
	m.mask()
	return m, nil
}

// unlock returns the master key; errSeal where the password is another one.
func (k *keyFile) unlock(password string) (*master, error) {
	own, err := k.derive(password)
	if err != nil {
		return nil, err
	}
	plain, err := own.open(nil, k.Data)
	if err != nil {
		return nil, err
	}
	var f masterFile
	if err := json.Unmarshal(plain, &f); err != nil || len(f.Encrypt) != 32 || len(f.MAC.K) != 16 || len(f.MAC.R) != 16 {
		return nil, errors.New("a malformed master key")
	}
	m := &master{encrypt: [32]byte(f.Encrypt), macK: [16]byte(f.MAC.K), macR: [16]byte(f.MAC.R)}
	m.mask()
	return m, nil
}

// newKey makes a master key, and the file that opens it by a password. One that was made
// at random needs no work to be hard to guess.
func newKey(password string, random bool) (*master, []byte, error) {
	m := &master{}
	for _, p := range [][]byte{m.encrypt[:], m.macK[:], m.macR[:]} {
		_, _ = rand.Read(p)
	}
	m.mask()
	k := keyFile{Created: time.Now(), KDF: "scrypt", N: 1 << 15, R: 8, P: 8, Salt: make([]byte, 64)}
	if random {
		k.N, k.P = 1<<10, 1
	}
	k.Username, k.Hostname, _, _ = whoami()
	_, _ = rand.Read(k.Salt)
	own, err := k.derive(password)
	if err != nil {
		return nil, nil, err
	}
	var f masterFile
	f.Encrypt, f.MAC.K, f.MAC.R = m.encrypt[:], m.macK[:], m.macR[:]
	plain, err := json.Marshal(f)
	if err != nil {
		return nil, nil, err
	}
	k.Data = own.seal(nil, plain)
	file, err := json.Marshal(k)
	return m, file, err
}

// NewPassword makes a password that nobody can guess.
func NewPassword() string {
	var p [30]byte
	_, _ = rand.Read(p[:])
	return base64.RawURLEncoding.EncodeToString(p[:])
}

// whoami tells who writes.
func whoami() (name, host string, uid, gid uint32) {
	host, _ = os.Hostname()
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return name, host, uint32(max(os.Getuid(), 0)), uint32(max(os.Getgid(), 0))
}
