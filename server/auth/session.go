package auth

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"nodal/host/replace"
	"nodal/node"
)

const (
	sessionLife = 12 * time.Hour
	codeLife    = 10 * time.Minute

	// A user who opens more loses the oldest of their own sessions, never another's.
	sessionsEach = 16
	codesEach    = 8
	sessionsAll  = 1024
)

// pass is a code or a session, with its owner and its end. Only the hash of its secret is
// kept.
type pass struct {
	Identity Identity  `json:"identity"`
	Token    string    `json:"token,omitempty"`  // the hash of the token that it hangs on
	Serial   string    `json:"serial,omitempty"` // of the certificate of the node that it hangs on
	Host     string    `json:"host,omitempty"`   // that the browser knows the node by
	Expires  time.Time `json:"expires"`
}

// sessions holds the browsers that are signed in. A file keeps them, so that a restart
// signs none out.
type sessions struct {
	file string // empty: they do not
	log  *slog.Logger

	mu    sync.Mutex
	codes map[string]pass // by the secret's hash
	open  map[string]pass
}

// newSessions reads what the last agent left. A file that does not parse only signs out its
// users; the agent still starts.
func newSessions(file string, log *slog.Logger) *sessions {
	s := &sessions{file: file, log: log, codes: map[string]pass{}, open: map[string]pass{}}
	if file == "" {
		return s
	}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &s.open)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		log.Warn("cannot read browser sessions; browsers have to sign in again", "err", err)
		s.open = map[string]pass{}
	}
	return s
}

// issueCode makes a code that opens one session.
func (s *sessions) issueCode(p pass, now time.Time) (code string, expires time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Expires = now.Add(codeLife)
	code, hash := newSecret()
	makeRoom(s.codes, p.Identity, codesEach, now)
	s.codes[hash] = p
	return code, p.Expires
}

// redeem returns the pass of a code, and deletes the code: it can be used once. It reports
// false if the code is unknown or has expired.
func (s *sessions) redeem(code string, now time.Time) (pass, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := hashOf(code)
	p, ok := s.codes[hash]
	delete(s.codes, hash)
	return p, ok && now.Before(p.Expires)
}

// begin opens a session.
func (s *sessions) begin(p pass, now time.Time) (secret string, _ pass, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	makeRoom(s.open, p.Identity, sessionsEach, now)
	if len(s.open) >= sessionsAll {
		return "", p, refuse(codes.ResourceExhausted, node.ErrNotReady, "%d browsers are signed in already", len(s.open))
	}
	secret, hash := newSecret()
	p.Expires = now.Add(sessionLife)
	s.open[hash] = p
	return secret, p, s.save()
}

// find returns the session with this secret. It reports false if the session has expired, or
// if the host name is not that of the sign-in: browsers send a cookie only to the host that set
// it, so the secret has leaked.
func (s *sessions) find(secret, host string, now time.Time) (pass, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.open[hashOf(secret)]
	return p, ok && now.Before(p.Expires) && p.Host == host
}

// end closes a session, if it is open.
func (s *sessions) end(secret string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := hashOf(secret)
	if _, ok := s.open[hash]; !ok {
		return nil
	}
	delete(s.open, hash)
	return s.save()
}

func (s *sessions) save() error {
	if s.file == "" {
		return nil
	}
	data, err := json.Marshal(s.open)
	if err == nil {
		err = replace.File(s.file, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep sessions: %w", err)
	}
	return nil
}

// makeRoom drops expired passes, and the oldest of an owner that has too many.
func makeRoom(passes map[string]pass, owner Identity, each int, now time.Time) {
	maps.DeleteFunc(passes, func(_ string, p pass) bool { return !now.Before(p.Expires) })
	var own []string
	for hash, p := range passes {
		if p.Identity.Name == owner.Name && p.Identity.Via == owner.Via {
			own = append(own, hash)
		}
	}
	slices.SortFunc(own, func(a, b string) int {
		return cmp.Or(passes[a].Expires.Compare(passes[b].Expires), cmp.Compare(a, b))
	})
	for _, hash := range own[:max(0, len(own)-each+1)] {
		delete(passes, hash)
	}
}

func newSecret() (secret, hash string) {
	random := make([]byte, 32)
	rand.Read(random) // never fails: the runtime ends the process first
	secret = base64.RawURLEncoding.EncodeToString(random)
	return secret, hashOf(secret)
}

func hashOf(secret string) string {
	hash := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(hash[:])
}
