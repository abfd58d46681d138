package users

import (
	"fmt"
	"strconv"
	"strings"
)

// owner is the name under which /etc/subuid sets ids aside for any kubelet.
const owner = "kubelet"

// Assigned returns the pool that a machine's /etc/subuid and /etc/subgid set aside; ok is false if
// they name none. Users and groups have to be the same ids.
func Assigned(subuid, subgid string, each uint32) (pool Pool, ok bool, err error) {
	uids, gids := linesOf(subuid), linesOf(subgid)
	if len(uids)+len(gids) == 0 {
		return Pool{}, false, nil
	}
	if len(uids) != 1 || len(gids) != 1 || uids[0] != gids[0] {
		return Pool{}, false, fmt.Errorf("user %s has the users %q and the groups %q, want one range that is the same in both", owner, uids, gids)
	}
	first, count, _ := strings.Cut(uids[0], ":")
	from, err := strconv.ParseUint(first, 10, 32)
	if err != nil {
		return Pool{}, false, fmt.Errorf("the first id of user %s: %w", owner, err)
	}
	number, err := strconv.ParseUint(count, 10, 32)
	if err != nil {
		return Pool{}, false, fmt.Errorf("the number of ids of user %s: %w", owner, err)
	}
	return Pool{Range{uint32(from), uint32(number)}, each}, true, nil
}

// linesOf returns the owner's lines of a file, as "first:count".
func linesOf(file string) []string {
	var found []string
	for line := range strings.Lines(file) {
		if ids, ok := strings.CutPrefix(strings.TrimSpace(line), owner+":"); ok {
			found = append(found, ids)
		}
	}
	return found
}
