package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// joined holds the figures of kubelets in a cluster.
type joined struct {
	one, many                   samples
	writes, requests, anonymous map[string]float64
}

// cluster joins each kubelet to a control plane in turn, and binds pods to it. It comes last,
// because the standalone kubelets end for it.
func (b *suite) cluster(ctx context.Context) error {
	if err := b.eachAgent(func(c *column) error { return c.process.Stop(syscall.SIGTERM, stopTimeout) }); err != nil {
		return err
	}
	control, err := newControl(ctx, b.t, b.binaries.parts)
	if err != nil {
		return err
	}
	f := joined{samples{}, samples{}, map[string]float64{}, map[string]float64{}, map[string]float64{}}
	if err := b.eachAgent(func(c *column) error { return b.member(ctx, control, c.name, f) }); err != nil {
		return err
	}
	const running = "in a cluster: pod bound to Running seen by a watcher, "
	b.add(running+"p50", "ms", f.one.p50(), timesPeer(0.9))
	b.add(running+"p99", "ms", f.one.p99(), timesPeer(0.9))
	b.add(fmt.Sprintf("%s%d at once, p50", running, b.sizes.bound), "ms", f.many.p50(), timesPeer(0.9))
	b.add(fmt.Sprintf("%s%d at once, p99", running, b.sizes.bound), "ms", f.many.p99(), timesPeer(0.9))
	b.add("in a cluster: statuses written for a pod's start", "", f.writes, timesPeer(1))
	b.add("in a cluster: requests to the API server a minute, idle", "", f.requests, timesPeer(1))
	b.addMemory(f.anonymous)
	return b.pressure(ctx, control)
}

// addMemory adds a row that compares the memory with a node outside a cluster, if that was
// measured.
func (b *suite) addMemory(anonymous map[string]float64) {
	for _, r := range b.rows {
		if alone, known := r.values[nodalColumn]; known && r.what == crowdMemory(b.most()) {
			anonymous[rawColumn] = alone
		}
	}
	b.add(fmt.Sprintf("in a cluster: anonymous memory with %d pods (raw: ours without a cluster)", b.most()), "MiB", anonymous, moreThanRaw(15, "MiB"))
}

// most returns the number of pods in the greatest crowd.
func (b *suite) most() int { return b.sizes.crowds[len(b.sizes.crowds)-1] }

// member measures one kubelet in the cluster, from its start to its end.
func (b *suite) member(ctx context.Context, control *control, name string, f joined) (err error) {
	m, err := newMember(ctx, b.t, control, name, b.binaries)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.process.Stop(syscall.SIGTERM, stopTimeout)) }()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if m.seen, err = control.watch(watching); err != nil {
		return err
	}
	for i := range 1 + b.sizes.singles {
		pods := b.newPods(m.column, 1)
		took, err := m.bind(ctx, pods)
		if err != nil {
			return err
		}
		if i > 0 { // the first start finds cold caches
			f.one[name] = append(f.one[name], took...)
		}
		if err := m.unbind(ctx, pods); err != nil {
			return err
		}
	}
	before, err := m.requests()
	if err != nil {
		return err
	}
	if f.many[name], err = m.bind(ctx, b.newPods(m.column, b.sizes.bound)); err != nil {
		return err
	}
	if err := pause(ctx, b.sizes.settle); err != nil {
		return err
	}
	after, err := m.requests()
	if err != nil {
		return err
	}
	f.writes[name] = float64(after.statuses-before.statuses) / float64(b.sizes.bound)
	return b.idleMember(ctx, m, f)
}

// idleMember measures a kubelet that has many pods and no work.
func (b *suite) idleMember(ctx context.Context, m *member, f joined) error {
	if _, err := m.bind(ctx, b.newPods(m.column, b.most()-b.sizes.bound)); err != nil {
		return err
	}
	if err := pause(ctx, b.sizes.settle); err != nil {
		return err
	}
	before, err := m.requests()
	if err != nil {
		return err
	}
	if err := pause(ctx, b.sizes.minute); err != nil {
		return err
	}
	after, err := m.requests()
	if err != nil {
		return err
	}
	f.requests[m.name] = float64(after.all-before.all) * float64(time.Minute) / float64(b.sizes.minute)
	_, f.anonymous[m.name], err = memory(m.process.Pid())
	return err
}
