package agent

import (
	"fmt"

	"nodal/node/users"
)

// userPool returns the users of pods with user namespaces: those that the machine's owner has set aside, or else all
// that the host does not need.
func userPool(subuid, subgid string, each uint32, pods int) (users.Pool, error) {
	pool, ok, err := users.Assigned(subuid, subgid, each)
	if err == nil && ok {
		err = pool.Check(pods)
	}
	switch {
	case err != nil:
		return users.Pool{}, fmt.Errorf("look for pods' users in /etc/subuid and /etc/subgid: %w", err)
	case !ok:
		return users.Rest(each), nil
	}
	return pool, nil
}
