package cri

import (
	"sync"

	"nodal/node"
)

// keyIndex maps the ids of sandboxes and containers to pods' keys, for events that carry only an id. It is a
// shortcut: an unknown id costs a list.
type keyIndex struct {
	mu   sync.Mutex
	byID map[string]node.Key
}

func newKeyIndex() *keyIndex { return &keyIndex{byID: map[string]node.Key{}} }

func (x *keyIndex) put(id string, key node.Key) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.byID[id] = key
}

func (x *keyIndex) remove(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.byID, id)
}

func (x *keyIndex) find(id string) (node.Key, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	key, ok := x.byID[id]
	return key, ok
}

// replace takes the result of a list of all pods.
func (x *keyIndex) replace(found map[node.Key]*node.Observed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.byID)
	for key, o := range found {
		x.fill(key, o)
	}
}

func (x *keyIndex) add(key node.Key, o *node.Observed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fill(key, o)
}

func (x *keyIndex) fill(key node.Key, o *node.Observed) {
	for i := range o.Sandboxes {
		x.byID[o.Sandboxes[i].ID] = key
	}
	for i := range o.Containers {
		x.byID[o.Containers[i].ID] = key
	}
}
