package intake

import (
	"fmt"
	"slices"
	"strings"

	"nodal/node"
	"nodal/node/store"
)

// orderField is the path of the annotation that says which pods a pod starts after.
const orderField = "metadata.annotations[" + node.AnnotationAfter + "]"

// ordered checks which pods the delivered ones start after, beside all others of the node. It returns what is wrong, and
// adds a warning to the outcome of a pod that waits for one which the node does not have.
func ordered(tx *store.Tx, deliveries []Delivery, outcomes []Outcome) (wrong []node.Violation) {
	var after map[node.Key][]node.Key
	for i, d := range deliveries {
		if d.Pod == nil || !hasOrder(d) {
			continue
		}
		if after == nil {
			after = orderOf(tx)
		}
		rule := misordered(d, after)
		if rule != "" {
			wrong = append(wrong, node.Violation{Document: d.Document, Object: d.String(), Field: orderField, Rule: rule})
			continue
		}
		for _, before := range after[node.KeyOf(d.Pod)] {
			if tx.Get(before) == nil {
				outcomes[i].Warnings = append(outcomes[i].Warnings,
					fmt.Sprintf("%s: the pod waits for %s, which this node does not have", orderField, before))
			}
		}
	}
	return wrong
}

func hasOrder(d Delivery) bool {
	_, ok := d.Pod.Annotations[node.AnnotationAfter]
	return ok
}

// orderOf returns what each pod of the node starts after. Of a name with a successor that one counts.
func orderOf(tx *store.Tx) map[node.Key][]node.Key {
	after := map[node.Key][]node.Key{}
	for key, slot := range tx.All() {
		if owner := heir(slot); owner.Deletion == nil {
			after[key], _ = node.Before(owner.Object)
		}
	}
	return after
}

// misordered returns what is wrong with the order that a delivered pod asks for, or "".
func misordered(d Delivery, after map[node.Key][]node.Key) string {
	if _, err := node.Before(d.Pod); err != nil {
		return err.Error()
	}
	ring := circle(node.KeyOf(d.Pod), after)
	switch len(ring) {
	case 0:
		return ""
	case 1:
		return "a pod cannot start after itself; take its own name out"
	}
	var names []string
	for _, key := range append(ring, ring[0]) {
		names = append(names, key.String())
	}
	return fmt.Sprintf("these pods would wait for each other: %s; take one of the names out", strings.Join(names, " after "))
}

// circle returns the pods from a key back to it, each after the next, or nil if none of them is after itself.
func circle(from node.Key, after map[node.Key][]node.Key) []node.Key {
	seen := map[node.Key]bool{}
	var walk func(path []node.Key) []node.Key
	walk = func(path []node.Key) []node.Key {
		for _, before := range after[path[len(path)-1]] {
			if before == from {
				return path
			}
			if seen[before] {
				continue
			}
			seen[before] = true
			if ring := walk(append(slices.Clip(path), before)); ring != nil {
				return ring
			}
		}
		return nil
	}
	return walk([]node.Key{from})
}
