package credential

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// Key is a credential with where it came from.
type Key struct {
	node.Credential
	Secret *Secret // nil if the key is the node's own, so that every pod may use it
}

// Secret is the Secret that a key came from.
type Secret struct {
	Ref node.ObjectRef
	UID types.UID
}

// entry is a key, with the pattern of its images.
type entry struct {
	pattern pattern
	key     Key
}

// Keyring holds credentials in the order in which they are tried.
type Keyring []entry

// String and GoString keep the content out of messages: unexported fields are printed
// without calling them.
func (k Keyring) String() string   { return fmt.Sprintf("%d credentials", len(k)) }
func (k Keyring) GoString() string { return k.String() }

// sorted returns the keyring with the most specific patterns first.
func (k Keyring) sorted() Keyring {
	slices.SortStableFunc(k, func(a, b entry) int { return cmp.Compare(b.pattern.String(), a.pattern.String()) })
	return k
}

// For returns the credentials for an image, without repetition.
func (k Keyring) For(ref string) []Key {
	name := nameOf(ref)
	var found []Key
	for _, e := range k {
		if e.pattern.matches(name) && !slices.ContainsFunc(found, func(f Key) bool { return f.Credential == e.key.Credential }) {
			found = append(found, e.key)
		}
	}
	return found
}

// Join tries one keyring after the other.
func Join(first, second Keyring) Keyring { return slices.Concat(first, second) }
