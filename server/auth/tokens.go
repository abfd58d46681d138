package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"nodal/host/replace"
	"nodal/node"
)

// maxTokens bounds what the agent holds and reads.
const maxTokens = 10000

// Token is a token as an admin sees it. The node does not know its secret.
type Token struct {
	Name       string
	ID         string
	Role       Role
	Namespaces []string // none: the whole node
	Created    time.Time
	CreatedBy  string
	Expires    time.Time // zero: never
	Expired    bool
	LastUsed   time.Time // to the minute; zero if it is not known
}

// Tokens returns the tokens by name, the expired ones too: an admin may have to see why a client is refused.
func (a *Authenticator) Tokens() []Token {
	now := time.Now()
	var all []Token
	for _, known := range a.tokens.get(now).byName {
		all = append(all, known.shown(now))
	}
	slices.SortFunc(all, func(a, b Token) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (t *knownToken) shown(now time.Time) Token {
	return Token{
		Name: t.id.Name, ID: t.id.Credential, Role: t.id.Role, Namespaces: t.id.Namespaces,
		Created: t.record.Created, CreatedBy: t.record.CreatedBy,
		Expires: t.record.Expires, Expired: t.expired(now), LastUsed: t.use.at(),
	}
}

// NewToken describes a token to be made.
type NewToken struct {
	Name       string
	Role       Role
	Namespaces []string      // narrows the role; none: the whole node
	Lifetime   time.Duration // zero: without an end
}

// CreateToken makes a token and returns it with its secret, which is kept nowhere. The name has to be free, or that of
// an expired token. The rights of the caller have to be checked before.
func (a *Authenticator) CreateToken(ctx context.Context, wanted NewToken) (secret string, made Token, err error) {
	if err := wanted.check(); err != nil {
		return "", Token{}, err
	}
	a.issuing.Lock()
	defer a.issuing.Unlock()
	now := time.Now()
	list := a.tokens.renew(now)
	if before := list.byName[wanted.Name]; before != nil && !before.expired(now) {
		return "", Token{}, fmt.Errorf("token %q: there is one already; revoke it, or choose another name: %w", wanted.Name, node.ErrConflict)
	}
	if len(list.byName) >= maxTokens {
		return "", Token{}, refuse(codes.ResourceExhausted, node.ErrNotReady,
			"token %q: the node has %d tokens; revoke those that are not needed", wanted.Name, len(list.byName))
	}
	if before := list.byName[wanted.Name]; before != nil {
		a.uses.forget(before.id.Credential)
	}
	creator, _ := From(ctx)
	record := tokenRecord{Role: wanted.Role, Created: now.UTC(), CreatedBy: creator.Name}
	record.Namespaces = slices.Compact(slices.Sorted(slices.Values(wanted.Namespaces)))
	if wanted.Lifetime > 0 {
		record.Expires = now.Add(wanted.Lifetime).UTC()
	}
	if secret, err = issueToken(a.cfg.TokenDir, wanted.Name, record); err != nil {
		return "", Token{}, err
	}
	known := a.tokens.renew(now).byName[wanted.Name]
	if known == nil {
		return "", Token{}, fmt.Errorf("token %q: its record cannot be read", wanted.Name)
	}
	return secret, known.shown(now), nil
}

func (t NewToken) check() error {
	if err := checkName(t.Name); err != nil {
		return err
	}
	if !Allow(t.Role, Read) {
		return fmt.Errorf("token %q: role %q is none of viewer, operator, admin: %w", t.Name, t.Role, node.ErrInvalid)
	}
	if err := checkNarrowed(t.Role, t.Namespaces); err != nil {
		return fmt.Errorf("token %q: %w", t.Name, err)
	}
	if t.Lifetime < 0 {
		return fmt.Errorf("token %q: lifetime %s: must be greater than 0: %w", t.Name, t.Lifetime, node.ErrInvalid)
	}
	return nil
}

// RevokeToken removes a token. It opens nothing more, and what it has opened ends before RevokeToken returns.
func (a *Authenticator) RevokeToken(name string) error {
	path, err := recordPath(a.cfg.TokenDir, name)
	if err != nil {
		return fmt.Errorf("revoke token: %w", err)
	}
	a.issuing.Lock()
	defer a.issuing.Unlock()
	now := time.Now()
	known := a.tokens.renew(now).byName[name]
	err = os.Remove(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("token %q: %w", name, node.ErrNotFound)
	}
	if err == nil {
		err = replace.SyncDir(a.cfg.TokenDir)
	}
	if known != nil {
		a.uses.forget(known.id.Credential)
	}
	a.tokens.renew(now)
	a.standing.check()
	if err != nil {
		return fmt.Errorf("revoke token %q: %w", name, err)
	}
	return nil
}
