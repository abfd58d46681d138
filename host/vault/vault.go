package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"nodal/host/replace"
	"nodal/node/store"
)

// Journal seals records on their way into another journal.
type Journal struct {
	inner  store.Journal
	prefix string // of the names of the records that are sealed
	sealer cipher.AEAD
}

var _ store.Journal = (*Journal)(nil)

const (
	keySize = 32
	version = 1 // the first byte of a sealed record
)

// New makes a Journal that seals the records whose names begin with the prefix. It makes the key file if that is
// missing.
func New(inner store.Journal, prefix, keyFile string) (*Journal, error) {
	key, err := readKey(keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = makeKey(keyFile)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare the key %s: %w", keyFile, err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("prepare the key %s: %w", keyFile, err)
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("prepare the key %s: %w", keyFile, err)
	}
	return &Journal{inner: inner, prefix: prefix, sealer: sealer}, nil
}

func readKey(file string) ([]byte, error) {
	key, err := os.ReadFile(file)
	if err == nil && len(key) != keySize {
		return nil, fmt.Errorf("it holds %d bytes, not %d: put the right one back, or remove it and lose what it sealed", len(key), keySize)
	}
	return key, err
}

// makeKey writes a key whole or not at all: records sealed with half a key could never be
// opened again.
func makeKey(file string) ([]byte, error) {
	key := make([]byte, keySize)
	rand.Read(key)
	return key, replace.File(file, key, 0o600)
}

// Commit seals the records that need it, and commits all.
func (j *Journal) Commit(records ...store.Record) error {
	return j.inner.Commit(j.seal(records)...)
}

// CommitReserved is Commit with leave to use the reserved space.
func (j *Journal) CommitReserved(records ...store.Record) error {
	return j.inner.CommitReserved(j.seal(records)...)
}

func (j *Journal) seal(records []store.Record) []store.Record {
	sealed := slices.Clone(records)
	for i, r := range sealed {
		if j.seals(r) {
			sealed[i].Data = j.sealer.Seal([]byte{version}, nil, r.Data, []byte(r.Name))
		}
	}
	return sealed
}

func (j *Journal) seals(r store.Record) bool {
	return r.Data != nil && strings.HasPrefix(r.Name, j.prefix)
}

// Open returns the records as they were committed. A record that does not open is left out
// and reported.
func (j *Journal) Open(records []store.Record) (opened []store.Record, problems []error) {
	for _, r := range records {
		if j.seals(r) {
			data, err := j.open(r)
			if err != nil {
				problems = append(problems, fmt.Errorf("open record %s: %w", r.Name, err))
				continue
			}
			r.Data = data
		}
		opened = append(opened, r)
	}
	return opened, problems
}

func (j *Journal) open(r store.Record) ([]byte, error) {
	if r.Data[0] != version {
		return nil, errors.New("it was not sealed by this version")
	}
	data, err := j.sealer.Open(nil, nil, r.Data[1:], []byte(r.Name))
	if err != nil {
		return nil, errors.New("it was sealed by another key, or changed since")
	}
	return data, nil
}
