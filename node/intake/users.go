package intake

import (
	"nodal/node"
	"nodal/node/store"
	"nodal/node/users"
)

// ownUsers sets ids of the host aside for a new pod. Every other pod keeps its own until all of it
// is gone.
func (in Intake) ownUsers(tx *store.Tx) (*users.Range, *node.Refusal) {
	var taken []users.Range
	for _, slot := range tx.All() {
		for _, pod := range []*node.Pod{slot.Pod, slot.Next} {
			if pod != nil && pod.Users != nil {
				taken = append(taken, *pod.Users)
			}
		}
	}
	free, ok := in.offered().Users.Free(taken)
	if !ok {
		return nil, &node.Refusal{
			Reason:  "OutOfUserNamespaces",
			Message: "Pod was rejected: Node has no user IDs left for a user namespace (hostUsers: false)",
		}
	}
	return &free, nil
}
