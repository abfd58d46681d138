package cri_test

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/host/cri"
	"nodal/host/cri/spec"
	"nodal/node"
	sim "nodal/sim/cri"
)

const (
	testImage   = "app:1"
	testTimeout = 10 * time.Second
)

// fixture drives one pod on a runtime.
type fixture struct {
	*testing.T
	cri client
	pod *node.Pod
}

// client has all parts of the adapter, over one connection.
type client struct {
	*cri.Pods
	*cri.Images
	*cri.Streams
	*cri.Stats
	*cri.Health
}

func newClient(conn *cri.Conn, config cri.PodConfig) client {
	health := cri.NewHealth(conn)
	pods := cri.NewPods(conn, health, config, slog.New(slog.DiscardHandler))
	return client{pods, cri.NewImages(conn), cri.NewStreams(conn, slog.New(slog.DiscardHandler)), cri.NewStats(conn), health}
}

func testConfig(t *testing.T) cri.PodConfig {
	return cri.PodConfig{
		LogsDir: t.TempDir(),
		Node: func() spec.Node {
			return spec.Node{Machine: spec.Machine{Name: "here", IPs: []string{"192.0.2.1"}, Memory: 1 << 30}}
		},
	}
}

// onSim runs a test against a simulated runtime on a fake clock.
func onSim(t *testing.T, world sim.Config, test func(f *fixture, server *sim.Server)) {
	t.Helper()
	onSimWith(t, world, testConfig(t), test)
}

func onSimWith(t *testing.T, world sim.Config, config cri.PodConfig, test func(f *fixture, server *sim.Server)) {
	t.Helper()
	world.Images = append(world.Images, sim.Image{Ref: testImage, Local: true})
	synctest.Test(t, func(t *testing.T) {
		server := sim.NewServer(world)
		link := server.Link()
		calls := cri.Config{RequestTimeout: testTimeout}
		conn, err := link.Dial(cri.DialOptions(calls)...)
		if err != nil {
			t.Fatal(err)
		}
		test(&fixture{T: t, cri: newClient(cri.New(conn, conn, calls), config), pod: testPod(testImage, "run")}, server)
		if err := conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := link.Close(); err != nil {
			t.Error(err)
		}
	})
}

func testPod(image string, args ...string) *node.Pod {
	return &node.Pod{Source: node.SourceAPI, Object: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "web", UID: "uid-1",
			Labels:      map[string]string{"app": "web", "io.kubernetes.pod.name": "another"},
			Annotations: map[string]string{"note": "kept"},
		},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(7)),
			Containers:                    []corev1.Container{{Name: "main", Image: image, Args: args}},
		},
	}}
}

// do performs an action that has to succeed.
func (f *fixture) do(a node.Action) node.Result {
	f.Helper()
	result, err := f.cri.Do(f.Context(), f.pod, f.list(), a)
	if err != nil {
		f.Fatalf("%s: %v", a, err)
	}
	return result
}

// try performs an action that may fail.
func (f *fixture) try(a node.Action) error {
	_, err := f.cri.Do(f.Context(), f.pod, nil, a)
	return err
}

func (f *fixture) list() *node.Observed {
	f.Helper()
	key := f.pod.Key()
	found, err := f.cri.List(f.Context(), &key)
	if err != nil {
		f.Fatalf("list: %v", err)
	}
	return found[key]
}

// create makes the pod's sandbox and container.
func (f *fixture) create() (sandbox, container string) {
	f.Helper()
	image := f.pull(f.pod.Object.Spec.Containers[0].Image)
	sandbox = f.do(node.RunSandbox{}).ID
	f.do(node.InspectSandbox{ID: sandbox})
	container = f.do(node.CreateContainer{Container: "main", SandboxID: sandbox, ImageID: image.ID}).ID
	return sandbox, container
}

// pull pulls an image that has to be there.
func (f *fixture) pull(ref string) node.LocalImage {
	f.Helper()
	image, err := f.cri.Pull(f.Context(), ref, nil)
	if err != nil {
		f.Fatalf("pull %s: %v", ref, err)
	}
	return image
}

func (f *fixture) start() (sandbox, container string) {
	f.Helper()
	sandbox, container = f.create()
	f.do(node.StartContainer{Container: "main", ID: container})
	return sandbox, container
}

func (f *fixture) inspect(id string) node.Container {
	f.Helper()
	return *f.do(node.InspectContainer{Container: "main", ID: id}).Container
}

// wantFailure expects a definite failure with a reason.
func (f *fixture) wantFailure(err error, reason string) {
	f.Helper()
	var failure *node.Failure
	switch {
	case !errors.As(err, &failure) || errors.Is(err, node.ErrUnknown):
		f.Errorf("error is %v, want a definite failure %s", err, reason)
	case failure.Reason != reason:
		f.Errorf("reason is %s (%v), want %s", failure.Reason, err, reason)
	}
}

// wantUnknown expects an error that leaves the outcome open.
func (f *fixture) wantUnknown(err error) {
	f.Helper()
	var failure *node.Failure
	if !errors.Is(err, node.ErrUnknown) || errors.As(err, &failure) {
		f.Errorf("error is %v, want an unknown outcome", err)
	}
}
