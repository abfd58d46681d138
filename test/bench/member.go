package main

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/plane"
)

const podsPath = "/api/v1/namespaces/" + namespace + "/pods"

// member is a kubelet that has joined the cluster.
type member struct {
	*column
	control *control
	node    plane.User
	seen    *sightings
}

// newMember starts a kubelet in the cluster and returns when its node is ready.
func newMember(
	ctx context.Context, t testing.TB, control *control, name string, bin binaries, extra ...string,
) (*member, error) {
	m := &member{control: control, node: plane.Node}
	if name == peerColumn {
		m.node = plane.Local
	}
	way, err := control.Kubeconfig(m.node)
	if err != nil {
		return nil, err
	}
	flags := append([]string{"--kubeconfig", way, "--hostname-override", string(m.node)}, extra...)
	if name == peerColumn {
		m.column, err = newPeer(t, bin.peer, flags...)
	} else {
		m.column, err = newNodal(t, bin.nodal, append(flags, "--kernel-tunables=leave")...)
	}
	if err != nil {
		return nil, err
	}
	if err := m.pull(ctx, "probe"); err != nil {
		return nil, err
	}
	err = poll(ctx, 50*time.Millisecond, func() (bool, error) {
		return m.conditionIs(ctx, corev1.NodeReady, corev1.ConditionTrue), m.process.Alive()
	})
	if err != nil {
		return nil, fmt.Errorf("wait for the node: %w", err)
	}
	return m, nil
}

// conditionIs reports whether the cluster knows a condition of the node with a status.
func (m *member) conditionIs(ctx context.Context, kind corev1.NodeConditionType, status corev1.ConditionStatus) bool {
	var node corev1.Node
	if m.control.ask(ctx, http.MethodGet, "/api/v1/nodes/"+string(m.node), "", &node) != nil {
		return false // the node is not registered yet
	}
	for _, c := range node.Status.Conditions {
		if c.Type == kind {
			return c.Status == status
		}
	}
	return false
}

// bind creates pods bound to the node, and returns how long it took until a watch showed each as
// running.
func (m *member) bind(ctx context.Context, pods []pod) ([]time.Duration, error) {
	began := make([]time.Time, len(pods))
	for i, p := range pods {
		began[i] = time.Now()
		if err := m.post(ctx, p); err != nil {
			return nil, err
		}
	}
	took := make([]time.Duration, len(pods))
	err := poll(ctx, 5*time.Millisecond, func() (bool, error) {
		m.seen.mu.Lock()
		defer m.seen.mu.Unlock()
		for i, p := range pods {
			at, ok := m.seen.running[p.name]
			if !ok {
				return false, m.process.Alive()
			}
			took[i] = at.Sub(began[i])
		}
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("wait for %d pods of the cluster to run: %w", len(pods), err)
	}
	return took, nil
}

// post creates a pod that is bound to the node.
func (m *member) post(ctx context.Context, p pod) error {
	manifest := p.manifest() + "  automountServiceAccountToken: false\n  nodeName: " + string(m.node) + "\n"
	return m.control.ask(ctx, http.MethodPost, podsPath, manifest, nil)
}

// unbind deletes pods and waits until they are gone.
func (m *member) unbind(ctx context.Context, pods []pod) error {
	for _, p := range pods {
		if err := m.control.ask(ctx, http.MethodDelete, podsPath+"/"+p.name, "", nil); err != nil {
			return err
		}
	}
	err := poll(ctx, 5*time.Millisecond, func() (bool, error) {
		m.seen.mu.Lock()
		defer m.seen.mu.Unlock()
		for _, p := range pods {
			if !m.seen.gone[p.name] {
				return false, m.process.Alive()
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %d pods of the cluster to go: %w", len(pods), err)
	}
	return nil
}

func (m *member) requests() (requests, error) {
	return m.control.requestsOf("system:node:" + string(m.node))
}
