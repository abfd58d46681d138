package podnet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// Sandboxes lists the sandboxes of the node's runtime, and whether each is ready.
type Sandboxes = func(context.Context) (map[string]bool, error)

// clearTries bounds how often rules are read again because the plugin removed some of them meanwhile.
const clearTries = 3

// clearPorts removes rules that lead to pods that are gone: a kill of the agent or of containerd leaves them, and they
// take the packets of later pods with the same port. It returns the events to report.
func (n *Network) clearPorts(ctx context.Context, sandboxes Sandboxes) (events []node.Event, err error) {
	firewall := n.places.portFirewall()
	var seen []portRule
	var view portView
	for range clearTries {
		if seen, err = firewall.list(ctx); err != nil {
			return nil, fmt.Errorf("look for rules of host ports: %w", err)
		}
		if view, err = n.portView(ctx, seen, sandboxes); err != nil {
			return nil, err
		}
		remove, mended, foreign := view.judge(seen)
		if err = firewall.remove(context.WithoutCancel(ctx), remove); err != nil {
			continue
		}
		n.ports.miss(view, seen)
		return n.finishPorts(ctx, remove, mended, foreign), nil
	}
	return nil, err
}

// portView reads what rules are compared with. The rules have to be read before: a pod that is made meanwhile has its
// address before its rules.
func (n *Network) portView(ctx context.Context, rules []portRule, sandboxes Sandboxes) (portView, error) {
	v := portView{network: n.places.bridge(), subnets: n.Subnets()}
	var err error
	if v.holders, err = n.places.holders(); err != nil {
		return v, fmt.Errorf("read the addresses of pods: %w", err)
	}
	for _, r := range rules {
		if !v.ours(r) {
			continue
		}
		if v.ready, err = sandboxes(ctx); err != nil {
			v.ready = nil // the addresses tell enough until the runtime answers again
		}
		v.gone = n.ports.gone(v.ready)
		break
	}
	return v, nil
}

// finishPorts returns the events for the rules that clearPorts has removed or found. If the network reopens ports, it
// also renews the UDP ports of mended pods: a flow of packets goes on to the wrong pod until the plugin ends it, which it
// does when it opens a port.
func (n *Network) finishPorts(ctx context.Context, removed []portRule, mended, foreign []shadow) (events []node.Event) {
	if len(removed) > 0 {
		events = append(events, node.Event{Reason: Repaired,
			Message: fmt.Sprintf("removed host port rules of pods that are gone (rules: %d)", len(removed))})
	}
	told := map[string]bool{}
	tell := func(s shadow, reason, message string) {
		r := n.recordOf(s.of.sandbox)
		key := node.Key{Namespace: r.argument("K8S_POD_NAMESPACE"), Name: r.argument("K8S_POD_NAME")}
		text := fmt.Sprintf("host port %s of pod %s %s", s.of.port, key, fmt.Sprintf(message, s.by.pod))
		if told[text] {
			return
		}
		told[text] = true
		if n.ports.told[text] && reason == Lost {
			return // nothing has changed since the last look
		}
		events = append(events, node.Event{
			Key: key, UID: types.UID(r.argument("K8S_POD_UID")), Reason: reason, Warning: true, Message: text,
		})
	}
	for _, s := range mended {
		tell(s, Repaired, "led to %s, the address of a pod that is gone; the port is open again")
		if s.of.port.protocol == "udp" && n.reopens {
			if err := n.places.renewPort(ctx, n.recordOf(s.of.sandbox)); err != nil {
				n.ports.doubt()
			}
		}
	}
	for _, s := range foreign {
		tell(s, Lost, "leads to %s by a rule of another program, not to this pod; remove that rule, or change the port")
	}
	n.ports.told = told
	return events
}

func (p hostPort) String() string { return fmt.Sprintf("%d/%s", p.number, p.protocol) }

// recordOf returns the CNI library's record of a sandbox; it is empty if there is none.
func (n *Network) recordOf(sandbox string) record {
	r, _ := n.places.readRecord(filepath.Join(n.cache, "results", n.places.bridge()+"-"+sandbox+"-eth0"))
	return r
}

// holders maps each address of the network to the sandbox that has it.
func (p Places) holders() (map[netip.Addr]string, error) {
	addressed, err := p.addressed()
	if err != nil {
		return nil, err
	}
	holders := map[netip.Addr]string{}
	for id, files := range addressed {
		for _, file := range files {
			if addr, err := netip.ParseAddr(filepath.Base(file)); err == nil {
				holders[addr] = id
			}
		}
	}
	return holders, nil
}

// gone lists the sandboxes that the runtime did not know at the last look, and still does not. One that is being made
// is not known yet; a look later it is.
func (o *openPorts) gone(ready map[string]bool) map[string]bool {
	if ready == nil {
		return nil
	}
	gone := map[string]bool{}
	for id := range o.unknown {
		if _, known := ready[id]; !known {
			gone[id] = true
		}
	}
	return gone
}

// miss remembers the sandboxes with rules that the runtime does not know.
func (o *openPorts) miss(v portView, rules []portRule) {
	o.unknown = map[string]bool{}
	for _, r := range rules {
		if _, known := v.ready[r.sandbox]; !known && v.ready != nil && r.sandbox != "" && v.ours(r) {
			o.unknown[r.sandbox] = true
		}
	}
}

// renewPort has the plugin close and open the ports of a pod.
func (p Places) renewPort(ctx context.Context, r record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), portWait)
	defer cancel()
	return errors.Join(p.askPortmap(ctx, "DEL", r), p.askPortmap(ctx, "ADD", r))
}
