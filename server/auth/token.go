package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nodal/host/replace"
	"nodal/node"
)

// tokenPrefix lets a secret scanner, or a reader, see what a leaked string is.
const tokenPrefix = "nodal_"

// tokenRecord is all that the server keeps of a token.
type tokenRecord struct {
	Role    Role      `json:"role"`
	SHA256  string    `json:"sha256"`
	Created time.Time `json:"created"`
}

type knownToken struct {
	id   Identity
	hash [sha256.Size]byte
}

type tokenList struct{ known []knownToken }

// identify compares with every token, each in constant time, so that the duration reveals
// nothing about any hash.
func (l *tokenList) identify(token string) (Identity, bool) {
	hash := sha256.Sum256([]byte(token))
	found := -1
	for i := range l.known {
		if subtle.ConstantTimeCompare(hash[:], l.known[i].hash[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Identity{}, false
	}
	return l.known[found].id, true
}

// hashOf is the hash of the token called name, in hexadecimal.
func (l *tokenList) hashOf(name string) string {
	for i := range l.known {
		if l.known[i].id.Name == name {
			return hex.EncodeToString(l.known[i].hash[:])
		}
	}
	return ""
}

// named returns the identity of the token called name, if it is still the one
// with that hash.
func (l *tokenList) named(name, hash string) (Identity, bool) {
	for i := range l.known {
		if l.known[i].id.Name == name && hex.EncodeToString(l.known[i].hash[:]) == hash {
			return l.known[i].id, true
		}
	}
	return Identity{}, false
}

// loadTokens reads every record of dir. A record that does not parse is skipped and
// reported; the others count.
func loadTokens(dir string) (*tokenList, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return &tokenList{}, nil // no directory means no token, not the last tokens
	}
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	list := &tokenList{}
	var bad []error
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		known, err := loadToken(filepath.Join(dir, e.Name()), name)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		list.known = append(list.known, known)
	}
	return list, errors.Join(bad...)
}

func loadToken(path, name string) (knownToken, error) {
	var record tokenRecord
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &record)
	}
	if err != nil {
		return knownToken{}, fmt.Errorf("read token record %s: %w", path, err)
	}
	hash, err := hex.DecodeString(record.SHA256)
	if err != nil || len(hash) != sha256.Size {
		return knownToken{}, fmt.Errorf("read token record %s: sha256 is not 64 hexadecimal digits", path)
	}
	if !Allow(record.Role, Read) {
		return knownToken{}, fmt.Errorf("read token record %s: unknown role %q", path, record.Role)
	}
	return knownToken{
		id: Identity{
			Name:   name,
			Role:   record.Role,
			Groups: []string{organisationPrefix + string(record.Role), authenticatedGroup},
			Via:    viaToken,
		},
		hash: [sha256.Size]byte(hash),
	}, nil
}

// Issue makes a token for role under name and records its hash in dir; an earlier token
// of that name is void. The token is returned and kept nowhere.
func Issue(dir, name string, role Role, now time.Time) (string, error) {
	path, err := recordPath(dir, name)
	if err != nil {
		return "", fmt.Errorf("issue token: %w", err)
	}
	if !Allow(role, Read) {
		return "", fmt.Errorf("issue token %q: role %q: %w", name, role, node.ErrInvalid)
	}
	secret := make([]byte, 32)
	rand.Read(secret) // never fails: the runtime ends the process first
	token := tokenPrefix + base64.RawURLEncoding.EncodeToString(secret)
	hash := sha256.Sum256([]byte(token))
	data, err := json.Marshal(tokenRecord{Role: role, SHA256: hex.EncodeToString(hash[:]), Created: now.UTC()})
	if err != nil {
		return "", fmt.Errorf("issue token %q: %w", name, err)
	}
	if err := replace.File(path, append(data, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("issue token %q: %w", name, err)
	}
	return token, nil
}

// recordPath keeps a name from reaching out of dir.
func recordPath(dir, name string) (string, error) {
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\x00") {
		return "", fmt.Errorf("name %q: %w", name, node.ErrInvalid)
	}
	return filepath.Join(dir, name+".json"), nil
}
