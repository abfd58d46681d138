package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// errUnknownToken answers a secret that belongs to no record.
var errUnknownToken = errors.New("unknown or revoked token")

// tokenList holds the tokens as their files had them at one moment.
type tokenList struct {
	byHash map[[sha256.Size]byte]*knownToken
	byName map[string]*knownToken
}

// identify returns the owner of a token. It looks for the hash of the secret: the duration may tell something about
// hashes, but no caller can choose a hash, nor find the secret of one.
func (l *tokenList) identify(token string, now time.Time) (*knownToken, error) {
	hash := sha256.Sum256([]byte(token))
	known := l.byHash[hash]
	if known == nil || subtle.ConstantTimeCompare(hash[:], known.hash[:]) != 1 {
		return nil, errUnknownToken
	}
	return known, known.valid(now)
}

// named returns the token called name, if it is still the one with that hash.
func (l *tokenList) named(name, hash string, now time.Time) (*knownToken, error) {
	known := l.byName[name]
	if known == nil || hex.EncodeToString(known.hash[:]) != hash {
		return nil, errUnknownToken
	}
	return known, known.valid(now)
}

// valid returns an error if the token has expired, and otherwise counts as its use.
func (t *knownToken) valid(now time.Time) error {
	if t.expired(now) {
		return &expiredError{t.id.Name, t.record.Expires}
	}
	t.use.mark(now)
	return nil
}

// tokenDir reads records. It reads one again only if its file has changed, as there may be thousands.
type tokenDir struct {
	path  string
	uses  *uses
	files map[string]tokenFile // by the token's name
	list  *tokenList
}

type tokenFile struct {
	stamp stamp
	known *knownToken // nil if the record is bad
	err   error
}

// stamp tells whether a file is the one that was read.
type stamp struct {
	inode    uint64
	size     int64
	modified time.Time
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), modified: info.ModTime()}
	if system, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = system.Ino
	}
	return s
}

// load returns the tokens. A record that does not parse is skipped and reported; the others count.
func (d *tokenDir) load() (*tokenList, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // no directory means no token, not the last tokens
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	files, now, changed := make(map[string]tokenFile, len(entries)), time.Now(), d.list == nil
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue // revoked a moment ago
		}
		file, read := d.files[name]
		if err != nil || !read || file.err != nil || file.stamp != stampOf(info) {
			changed, file = true, d.read(name, info, now, err)
		}
		files[name] = file
	}
	if changed || len(files) != len(d.files) {
		d.files, d.list = files, listOf(files)
	}
	var bad []error
	for _, f := range d.files {
		bad = append(bad, f.err)
	}
	return d.list, errors.Join(bad...)
}

func (d *tokenDir) read(name string, info fs.FileInfo, now time.Time, err error) tokenFile {
	if err != nil {
		return tokenFile{err: fmt.Errorf("read token record %q: %w", name, err)}
	}
	file := tokenFile{stamp: stampOf(info)}
	if file.known, file.err = loadToken(filepath.Join(d.path, name+".json"), name, now); file.known != nil {
		file.known.use = d.uses.of(file.known.id.Credential)
	}
	return file
}

func listOf(files map[string]tokenFile) *tokenList {
	l := &tokenList{byHash: map[[sha256.Size]byte]*knownToken{}, byName: map[string]*knownToken{}}
	for name, f := range files {
		if f.known == nil {
			continue
		}
		l.byName[name] = f.known
		// Of two records of one secret, the last by name counts, whatever the order of the map.
		if other := l.byHash[f.known.hash]; other == nil || other.id.Name < name {
			l.byHash[f.known.hash] = f.known
		}
	}
	return l
}
