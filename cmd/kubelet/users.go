package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"nodal/agent/config"
	"nodal/node/users"
)

// userPool is what pods that do not share the host's users get theirs from: what the
// machine's owner has set aside for that, or else all that the host does not need.
func userPool(cfg *config.Config) (users.Pool, error) {
	var files [2]string
	for i, path := range [...]string{"/etc/subuid", "/etc/subgid"} {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return users.Pool{}, fmt.Errorf("look for pods' users: %w", err)
		}
		files[i] = string(text)
	}
	pool, ok, err := users.Assigned(files[0], files[1], cfg.IDsPerPod)
	if err == nil && ok {
		err = pool.Check(cfg.MaxPods)
	}
	switch {
	case err != nil:
		return users.Pool{}, fmt.Errorf("look for pods' users in /etc/subuid and /etc/subgid: %w", err)
	case !ok:
		return users.Rest(cfg.IDsPerPod), nil
	}
	return pool, nil
}
