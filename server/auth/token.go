package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nodal/host/replace"
	"nodal/node"
)

// tokenPrefix lets a secret scanner, or a reader, see what a leaked string is.
const tokenPrefix = "nodal_"

// tokenRecord is all that the server keeps of a token. Its name is that of its file.
type tokenRecord struct {
	Role       Role      `json:"role"`
	SHA256     string    `json:"sha256"`
	Created    time.Time `json:"created"`
	CreatedBy  string    `json:"createdBy,omitempty"`
	Expires    time.Time `json:"expires,omitzero"` // zero: never
	Namespaces []string  `json:"namespaces,omitempty"`
}

// knownToken is a token as the agent has read it.
type knownToken struct {
	id     Identity
	hash   [sha256.Size]byte
	record tokenRecord
	read   time.Time
	use    *use
}

// loadToken reads the record of the token called name.
func loadToken(path, name string, now time.Time) (*knownToken, error) {
	var record tokenRecord
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &record)
	}
	if err != nil {
		return nil, fmt.Errorf("read token record %s: %w", path, err)
	}
	hash, err := hex.DecodeString(record.SHA256)
	if err != nil || len(hash) != sha256.Size {
		return nil, fmt.Errorf("read token record %s: sha256 is not 64 hexadecimal digits", path)
	}
	if !Allow(record.Role, Read) {
		return nil, fmt.Errorf("read token record %s: unknown role %q", path, record.Role)
	}
	if err := checkNarrowed(record.Role, record.Namespaces); err != nil {
		return nil, fmt.Errorf("read token record %s: %w", path, err)
	}
	return &knownToken{
		id: Identity{
			Name:       name,
			Role:       record.Role,
			Groups:     []string{organisationPrefix + string(record.Role), authenticatedGroup},
			Via:        viaToken,
			Credential: tokenID(hash),
			Namespaces: record.Namespaces,
		},
		hash:   [sha256.Size]byte(hash),
		record: record,
		read:   now,
	}, nil
}

// tokenID returns the id of a token for logs and listings. Its name may be given to another one later.
// The digits of the hash reveal nothing: a secret has 256 random bits.
func tokenID(hash []byte) string { return hex.EncodeToString(hash[:6]) }

// expired reports whether the token has come to its end.
func (t *knownToken) expired(now time.Time) bool { return t.over(now, now.Sub(t.read)) }

// over judges by the clock, and by the time that has passed since the record was read: a clock that is set back
// prolongs no token that the agent already counts down.
func (t *knownToken) over(now time.Time, passed time.Duration) bool {
	if t.record.Expires.IsZero() {
		return false
	}
	left := t.record.Expires.Sub(t.read.Round(0))
	return !now.Round(0).Before(t.record.Expires) || left > 0 && passed >= left
}

// expiredError answers a caller that shows the secret of an expired token, and no other caller.
type expiredError struct {
	name string
	at   time.Time
}

func (e *expiredError) Error() string {
	return fmt.Sprintf("token %q has expired at %s; ask an admin for another", e.name, e.at.UTC().Format(time.RFC3339))
}

// Issue makes a token for role under name and records its hash in dir; an earlier token
// of that name is void. The token is returned and kept nowhere.
func Issue(dir, name string, role Role, now time.Time) (string, error) {
	return issueToken(dir, name, tokenRecord{Role: role, Created: now.UTC()})
}

// issueToken makes a token and records it, with its hash.
func issueToken(dir, name string, record tokenRecord) (string, error) {
	path, err := recordPath(dir, name)
	if err != nil {
		return "", fmt.Errorf("issue token: %w", err)
	}
	if !Allow(record.Role, Read) {
		return "", fmt.Errorf("issue token %q: role %q: %w", name, record.Role, node.ErrInvalid)
	}
	secret := make([]byte, 32)
	rand.Read(secret) // never fails: the runtime ends the process first
	token := tokenPrefix + base64.RawURLEncoding.EncodeToString(secret)
	record.SHA256 = hashOf(token)
	data, err := json.Marshal(record)
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

// checkName holds the names of new tokens to what is easy to type, to read in a log and to put into a path.
func checkName(name string) error {
	plain := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
	inside := func(r rune) bool { return plain(r) || strings.ContainsRune("-_.@", r) }
	if letters := []rune(name); len(name) > 63 || len(letters) == 0 || !plain(letters[0]) ||
		slices.ContainsFunc(letters, func(r rune) bool { return !inside(r) }) {
		return fmt.Errorf("token %q: a name has 1 to 63 of a-z, 0-9, '-', '_', '.' and '@', and begins with a letter or digit: %w",
			name, node.ErrInvalid)
	}
	return nil
}
