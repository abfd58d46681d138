package agent

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"

	"nodal/host/checkpoint"
	"nodal/node"
	"nodal/node/assign"
	"nodal/node/store"
)

// handover has the files of upstream's kubelet say which CPUs, memory and devices containers have, for a node of a cluster: there
// upstream's kubelet may take over.
type handover struct {
	root    string
	before  map[types.UID]node.Held // what the files said at the start
	rules   func() *assign.Rules
	store   *store.Store
	devices *store.Devices
	log     *slog.Logger
}

// handoverPause bounds how often the files are written.
const handoverPause = time.Second

// heldBefore returns what upstream's files say at the start.
func heldBefore(root string, log *slog.Logger) map[types.UID]node.Held {
	held, err := checkpoint.Read(root)
	if err != nil {
		log.Warn("pods that another kubelet has started may get other CPUs, memory and devices", "err", err)
	}
	return held
}

// run writes until the context ends, and once more then. It begins after the first look at what runs.
func (h *handover) run(ctx context.Context) {
	writer := &checkpoint.Writer{Root: h.root}
	failing := false
	write := func() {
		writer.CPUs = h.cpus()
		writer.Memory, writer.Kept = h.memory()
		err := writer.Write(h.pods(), h.devices.List())
		if err != nil && !failing {
			h.log.Warn("upstream's kubelet would give containers other CPUs, memory and devices", "err", err)
		}
		failing = err != nil
	}
	defer write()
	for {
		changed, listed := h.store.Changed(), h.devices.Changed()
		write()
		select {
		case <-changed:
		case <-listed:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(handoverPause):
		case <-ctx.Done():
			return
		}
	}
}

// cpus returns the CPUs that are handed out or shared; none if the policy is not static.
func (h *handover) cpus() cpuset.CPUSet {
	rules := h.rules()
	if rules == nil || !rules.Static {
		return cpuset.New()
	}
	all := rules.Topology.All()
	if rules.Options.KeepReserved {
		return all.Difference(rules.Reserved)
	}
	return all
}

// memory returns what is handed out of NUMA nodes, and what is kept from pods; nil if the policy is not Static.
func (h *handover) memory() (free, kept assign.Memory) {
	rules := h.rules()
	if rules == nil {
		return nil, nil
	}
	return rules.Memory, rules.Kept
}

// pods returns those that have something, and those that run and have no record yet.
func (h *handover) pods() (pods []*node.Pod) {
	views, _ := h.store.Views()
	for _, v := range views {
		pods = append(pods, v.Slot.Holders()...)
	}
	for uid, held := range h.before {
		if h.store.Runs(uid) && !h.store.Holds(uid) {
			object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}
			pods = append(pods, &node.Pod{Object: object, Shares: held.Shares, Grants: held.Grants})
		}
	}
	return pods
}
