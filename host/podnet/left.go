package podnet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"nodal/node"
)

const (
	// leftAge is the age from which on the connection of an unknown sandbox is removed. A sandbox that is being made is
	// connected before the runtime shows it, but not for so long.
	leftAge = 10 * time.Minute
	// leftEvery is the interval between two looks for such connections.
	leftEvery = 5 * time.Minute
)

var errAway = errors.New("the runtime does not show its sandboxes")

// left remembers the connections of sandboxes that the runtime did not know at the last look. Only those that it still
// does not know at the next one are removed: a sandbox that is being removed is not known either.
type left struct {
	mu      sync.Mutex
	looked  time.Time
	unknown map[string]bool
}

// leftover is a connection without a sandbox, as a loss of the runtime's state leaves it. It holds addresses.
type leftover struct {
	sandbox string
	connection
	made time.Time // its newest file
}

// leftovers lists the connections of sandboxes that the runtime does not know, by sandbox.
func (n *Network) leftovers(ctx context.Context, sandboxes Sandboxes) ([]leftover, error) {
	connections, err := n.connections() // first: a sandbox that is made meanwhile is no surprise
	if err != nil {
		return nil, fmt.Errorf("look for addresses of pods that are gone: %w", err)
	}
	known, err := sandboxes(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAway, err)
	}
	var all []leftover
	for _, id := range slices.Sorted(maps.Keys(connections)) {
		if _, ok := known[id]; ok || id == "" {
			continue
		}
		l := leftover{sandbox: id, connection: connections[id]}
		for _, file := range l.files {
			if info, err := os.Lstat(file); err == nil && info.ModTime().After(l.made) {
				l.made = info.ModTime()
			}
		}
		if !l.made.IsZero() { // it went meanwhile
			all = append(all, l)
		}
	}
	return all, nil
}

// clearLeft removes the connections of sandboxes that are gone, if a look is due. It returns the event to report.
func (n *Network) clearLeft(ctx context.Context, sandboxes Sandboxes, now time.Time) (events []node.Event, err error) {
	n.left.mu.Lock()
	defer n.left.mu.Unlock()
	if now.Sub(n.left.looked) < leftEvery && !n.left.looked.After(now) {
		return nil, nil
	}
	found, err := n.leftovers(ctx, sandboxes)
	if errors.Is(err, errAway) {
		return nil, nil // the look stays due, and others tell of the runtime
	}
	if err != nil {
		return nil, err
	}
	before := n.left.unknown
	n.left.looked, n.left.unknown = now, map[string]bool{}
	removed := 0
	var errs []error
	for _, l := range found {
		n.left.unknown[l.sandbox] = true
		if !before[l.sandbox] || now.Sub(l.made) < leftAge {
			continue
		}
		if err := n.disconnect(context.WithoutCancel(ctx), l.sandbox, l.connection); err != nil {
			errs = append(errs, fmt.Errorf("give back the addresses of sandbox %s: %w", l.sandbox, err))
			continue
		}
		removed++
	}
	if removed > 0 {
		events = append(events, node.Event{Reason: Repaired,
			Message: fmt.Sprintf("gave back the addresses of pods that are gone (pods: %d)", removed)})
	}
	return events, errors.Join(errs...)
}

// disconnect closes the ports of a sandbox and removes its files. The files stay for another try if the ports do.
func (n *Network) disconnect(ctx context.Context, sandbox string, c connection) error {
	if c.ports {
		if err := n.places.undoPort(ctx, sandbox); err != nil {
			return err
		}
	}
	var errs []error
	for _, file := range c.files {
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Garbage lists the connections that a coming look removes.
func (n *Network) Garbage(ctx context.Context, sandboxes Sandboxes) ([]node.Garbage, error) {
	found, err := n.leftovers(ctx, sandboxes)
	if err != nil {
		return nil, err
	}
	n.left.mu.Lock()
	defer n.left.mu.Unlock()
	var all []node.Garbage
	for _, l := range found {
		g := node.Garbage{Kind: node.GarbageAddress, Name: l.name(), Why: "the runtime has no sandbox of this connection"}
		r := n.recordOf(l.sandbox)
		g.Key = node.Key{Namespace: r.argument("K8S_POD_NAMESPACE"), Name: r.argument("K8S_POD_NAME")}
		next := n.left.looked.Add(leftEvery)
		if g.Goes = l.made.Add(leftAge); g.Goes.Before(next) {
			g.Goes = next
		} else {
			g.Kept = fmt.Sprintf("it is younger than %s: its sandbox may be in the making", leftAge)
		}
		all = append(all, g)
	}
	return all, nil
}

// name returns the addresses of a connection, or its sandbox if it has none.
func (l leftover) name() string {
	var addresses []string
	for _, file := range l.files {
		if base := filepath.Base(file); !strings.Contains(base, l.sandbox) {
			addresses = append(addresses, base)
		}
	}
	if len(addresses) == 0 {
		return "sandbox " + l.sandbox
	}
	return strings.Join(addresses, ", ")
}
