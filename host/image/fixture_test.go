package image

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// machine is a runtime whose registry answers as the test says.
type machine struct {
	mu    sync.Mutex
	local map[string]node.LocalImage
	pulls []string

	pull    func(ctx context.Context, ref string, as *node.Credential) error // nil: it succeeds
	inspect error
}

var _ Runtime = (*machine)(nil)

func newMachine(refs ...string) *machine {
	m := &machine{local: map[string]node.LocalImage{}}
	for _, ref := range refs {
		m.local[ref] = testImage(ref)
	}
	return m
}

func testImage(ref string) node.LocalImage {
	return node.LocalImage{ID: "id of " + ref, References: []string{ref}, Size: 5}
}

func (m *machine) Image(_ context.Context, ref string) (*node.LocalImage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if image, ok := m.local[ref]; ok && m.inspect == nil {
		return &image, nil
	}
	return nil, m.inspect
}

func (m *machine) Pull(ctx context.Context, ref string, as *node.Credential) (node.LocalImage, error) {
	m.mu.Lock()
	m.pulls = append(m.pulls, ref)
	m.mu.Unlock()
	if m.pull != nil {
		if err := m.pull(ctx, ref, as); err != nil {
			return node.LocalImage{}, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.local[ref] = testImage(ref)
	return m.local[ref], nil
}

func (m *machine) pulled() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.pulls)
}

// fails is a registry that refuses.
func fails(context.Context, string, *node.Credential) error {
	return &node.Failure{Reason: node.ErrImagePull, Err: errors.New("no such image")}
}

// takes is a registry that takes its time.
func takes(d time.Duration) func(context.Context, string, *node.Credential) error {
	return func(ctx context.Context, _ string, _ *node.Credential) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// owner records its events.
type owner struct {
	mu     sync.Mutex
	events []string
}

func (o *owner) tell(e node.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	line := e.Reason + ": " + e.Message
	if e.Warning {
		line = "warning " + line
	}
	o.events = append(o.events, line)
}

func (o *owner) want(t *testing.T, events ...string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Equal(o.events, events) {
		t.Errorf("events are\n%q\nwant\n%q", o.events, events)
	}
	o.events = nil
}

func testPod(uid string) *node.Pod {
	return &node.Pod{Source: node.SourceAPI, Object: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-" + uid, UID: types.UID(uid)},
	}}
}

func need(ref string, policy corev1.PullPolicy) node.EnsureImage {
	return node.EnsureImage{Container: "main", Ref: ref, Policy: policy}
}
