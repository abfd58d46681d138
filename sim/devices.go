package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
	"nodal/node/assign"
	"nodal/node/offer"
	"nodal/reconciler"
)

// OfferTwice offers each device under two names.
const OfferTwice Bug = "offering a device twice"

// HastyDevices makes containers before their devices are ready.
const HastyDevices Bug = "taking devices for ready before their plugin has answered"

// BlindWish has the plugin choose also from devices that other pods have.
const BlindWish Bug = "giving a pod the devices that a plugin prefers, free or not"

// gadget is the resource of the machine's devices.
const gadget corev1.ResourceName = "sim.example/gadget"

// gadgets are the devices of the machine, and the plugin that offers them. They have a random source of their own.
type gadgets struct {
	*world
	rand  *rand.Rand
	taste *rand.Rand // of the plugin
	keen  bool       // the plugin wants to choose devices itself
	on    bool       // pods ask for devices in this run
	bug   Bug
	away  bool            // the plugin
	sick  map[string]bool // devices
	told  map[string]bool // the devices that the plugin has prepared for a start since their container last started
}

var _ reconciler.Devices = (*gadgets)(nil)

func newGadgets(w *world, o Options) *gadgets {
	r, taste := rand.New(rand.NewPCG(o.Seed, 8)), rand.New(rand.NewPCG(o.Seed, 9))
	return &gadgets{
		world: w, rand: r, taste: taste, keen: taste.IntN(3) > 0, on: r.IntN(3) == 0 && !o.Guarded, bug: o.Bug,
		sick: map[string]bool{}, told: map[string]bool{},
	}
}

// gadgetIDs returns the devices of the machine.
func gadgetIDs() [3]string { return [...]string{"g0", "g1", "g2"} }

// asking has some of a pod's containers ask for devices.
func (g *gadgets) asking(pod *corev1.Pod) {
	if !g.on {
		return
	}
	for c := range specs(pod) {
		if g.rand.IntN(3) > 0 {
			continue
		}
		amount := *resource.NewQuantity(int64(1+g.rand.IntN(2)), resource.DecimalSI)
		for _, list := range []*corev1.ResourceList{&c.Resources.Limits, &c.Resources.Requests} {
			if *list == nil {
				*list = corev1.ResourceList{}
			}
			(*list)[gadget] = amount
		}
	}
}

// offered adds the devices to an offer of the node.
func (g *gadgets) offered(o offer.Offer) offer.Offer {
	if !g.on {
		return o
	}
	list := []node.Device{}
	for _, id := range gadgetIDs() {
		list = append(list, node.Device{ID: id, Healthy: !g.sick[id] && !g.away})
		if g.bug == OfferTwice {
			list = append(list, node.Device{ID: id + "'", Healthy: !g.sick[id] && !g.away})
		}
	}
	rules := *o.Assign
	rules.Devices = assign.Devices{gadget: list}
	o.Assign, o.Assigned = &rules, map[corev1.ResourceName]bool{gadget: true}
	return o
}

// strive has devices fall ill and the plugin go and come, until the time for faults is over.
func (g *gadgets) strive() {
	if !g.on {
		return
	}
	g.after(time.Duration(g.rand.ExpFloat64()*float64(10*time.Second)), func() {
		if g.now >= strife {
			return
		}
		ids := gadgetIDs()
		if id := ids[g.rand.IntN(len(ids))]; g.rand.IntN(2) == 0 {
			g.sick[id] = !g.sick[id]
			g.trace.addf("world: device %s is ill: %t", id, g.sick[id])
		} else {
			g.away = !g.away
			g.trace.addf("world: the plugin of devices is away: %t", g.away)
		}
		g.strive()
	})
}

// calm brings the plugin back, and heals the devices.
func (g *gadgets) calm() {
	g.away = false
	clear(g.sick)
}

// chosen returns the rules by which the plugin may choose.
func (g *gadgets) chosen() *assign.Rules {
	rules := g.offers().Assign
	if g.bug != BlindWish || !g.on {
		return rules
	}
	twice := *rules
	list := slices.Clone(rules.Devices[gadget])
	for _, d := range rules.Devices[gadget] {
		d.ID += "'"
		list = append(list, d)
	}
	twice.Devices = assign.Devices{gadget: list}
	return &twice
}

// Prefers reports whether the plugin wants to choose devices.
func (g *gadgets) Prefers(corev1.ResourceName) bool { return g.keen && !g.away }

// Prefer answers with some devices: too few or too many, and others than it may choose from.
func (g *gadgets) Prefer(_ context.Context, c assign.Choice) ([]string, error) {
	fate := g.taste.IntN(5)
	if fate == 0 {
		return nil, errors.New("the plugin does not know")
	}
	if g.bug == BlindWish { // of the second of each device, in half of the cases
		return slices.DeleteFunc(slices.Clone(c.Available), func(id string) bool { return fate%2 == 0 || !strings.HasSuffix(id, "'") }), nil
	}
	ids := gadgetIDs()
	wish := slices.Concat(c.Available, ids[:], []string{"g9"})
	g.taste.Shuffle(len(wish), func(i, j int) { wish[i], wish[j] = wish[j], wish[i] })
	g.met.addf("devices: the plugin has chosen some")
	return wish[:g.taste.IntN(len(wish)+1)], nil
}

// Allocate answers with the devices, unless the plugin is away. A plugin answers for what it has given before.
func (g *gadgets) Allocate(_ context.Context, resource corev1.ResourceName, ids []string) (node.Grant, error) {
	if g.away {
		g.met.addf("devices: the plugin is away")
		return node.Grant{}, fmt.Errorf("the plugin of %s is not there", resource)
	}
	g.met.addf("devices: the plugin has granted some")
	return node.Grant{Env: map[string]string{"IDS": strings.Join(ids, " ")}, PreStart: []corev1.ResourceName{resource}}, nil
}

// PreStart prepares devices for a start.
func (g *gadgets) PreStart(_ context.Context, resource corev1.ResourceName, ids []string) error {
	if g.away {
		return fmt.Errorf("the plugin of %s is not there", resource)
	}
	g.told[strings.Join(ids, " ")] = true
	return nil
}

// equips gives a new container the devices that its pod's record grants it, as the adapter does. It checks that they
// are those that belong to it.
func (wi *witness) equips(g *gadgets, pod *node.Pod, c *container) {
	belong := strings.Join(pod.Shares[c.name].Devices[gadget], " ")
	if belong == "" {
		return
	}
	grant := pod.Grants[c.name]
	switch {
	case grant.Sandbox != c.sandbox.id:
		wi.failf("%s is made in sandbox %s, and its devices were made ready for %q", c, c.sandbox.id, grant.Sandbox)
	case grant.Env["IDS"] != belong:
		wi.failf("%s is made with the devices %q, and %q belong to it", c, grant.Env["IDS"], belong)
	}
	c.belong = belong
	for _, id := range strings.Fields(belong) {
		c.devices = append(c.devices, strings.TrimSuffix(id, "'"))
	}
}

// prepared checks that the plugin has been asked before a container with devices starts.
func (wi *witness) prepared(g *gadgets, c *container) {
	if c.belong == "" || c.late {
		return
	}
	if !g.told[c.belong] {
		wi.failf("%s starts, and the plugin has not prepared its devices for that", c)
	}
	g.told[c.belong] = false
}

// apartOn checks that no two pods have the same device. It ignores effects of calls that the agent had given up.
func (wi *witness) apartOn(w *world) {
	for i, one := range w.containers {
		for _, other := range w.containers[:i] {
			if one.uid == other.uid || one.late || other.late || !one.running() || !other.running() {
				continue
			}
			for _, id := range one.devices {
				if slices.Contains(other.devices, id) {
					wi.failf("device %s belongs to %s and to %s", id, one, other)
				}
			}
		}
	}
}
