package vault

import (
	"context"
	"os"
	"path/filepath"

	"nodal/host/replace"
	"nodal/host/vault/kms"
	"nodal/node/seal"
)

// provider is a source of keys.
type provider interface {
	source() seal.Source
	// place returns the file or the socket where the key is.
	place() string
	// wraps reports whether the source encrypts data keys, which records carry.
	wraps() bool
	// opening returns the keys of the source that may open records. headers are those of records whose data keys are
	// not known yet. Keys that it returns beside an error are good.
	opening(ctx context.Context, headers [][]byte) ([]*key, error)
	// sealing returns the key to seal with.
	sealing(ctx context.Context, w wish) (*key, error)
	// stage makes a new key, which sealing returns from then on, after a restart too as soon as a record is sealed
	// with it. Those before still open.
	stage(ctx context.Context) error
	// unsettled reports whether settle has something to do beside what records need.
	unsettled() bool
	// settle removes the keys before the present one: no record needs them.
	settle() error
	// retirable reports whether retire has something to do.
	retirable() bool
	// retire removes all keys of a source that is no longer used, if the agent has made them.
	retire() error
}

// wish says which key is good to seal with.
type wish struct {
	mayMake bool // a missing key may be made: no record can be sealed with one
	fresh   bool // a data key that records carry already will not do
}

// files makes changes to files of keys. A test has its own, to stop at any of them.
type files interface {
	write(path string, content []byte) error
	rename(from, to string) error
	remove(path string) error
}

type osFiles struct{}

var _ files = osFiles{}

func (osFiles) write(path string, content []byte) error { return replace.File(path, content, 0o600) }

func (osFiles) rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return replace.SyncDir(filepath.Dir(to))
}

func (osFiles) remove(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return replace.SyncDir(filepath.Dir(path))
}

// newProvider returns the provider of a source.
func newProvider(s seal.Source, c Config) provider {
	switch s.Kind {
	case seal.KMS:
		return &kmsKeys{from: s, plugin: kms.Plugin{Socket: s.Name}, known: map[generation]*key{}}
	case seal.Credential:
		// A missing directory gives a path that does not exist, and an error that says why.
		return &fileKeys{from: s, path: filepath.Join(c.Credentials, s.Name), noUnit: c.Credentials == ""}
	case seal.File:
		return &fileKeys{from: s, path: s.Name, files: c.files}
	}
	return &fileKeys{from: s, path: c.Beside, files: c.files}
}
