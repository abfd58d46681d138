package cri

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/host/cri/spec"
	"nodal/node"
)

// Config describes a connection to a runtime.
type Config struct {
	Endpoint       string        // "unix:///run/containerd/containerd.sock" or a bare path
	ImageEndpoint  string        // of image pulls; empty means Endpoint
	RequestTimeout time.Duration // of an ordinary call; zero means two minutes

	// Registries is the directory of hosts.toml of the image's own registries. A runtime that is led to other hosts
	// before those takes their "not found" for the reason of a pull that failed: the reason is looked up here. Empty
	// stands for a runtime whose word is final.
	Registries string

	// Called reports each call that has ended, by its CRI method. The handler is that of a sandbox which the call
	// makes, and empty for other calls. nil disables it.
	Called func(method, handler string, took time.Duration, err error)
	// Trace reports that a call begins, and its result is called when the call ends; nil disables it.
	Trace func(ctx context.Context, method string) (context.Context, func(error))
}

// PodConfig holds what Pods need besides the pod.
type PodConfig struct {
	LogsDir    string // such as /var/log/pods
	ResolvConf string // the host's resolv.conf, which pods inherit; empty leaves them nothing

	// Node returns the node as it is now, for the translation of pods. It is called for each sandbox and container.
	// nil stands for a node without settings and a machine without facts.
	Node func() spec.Node
	// CgroupParent returns the parent cgroup of a pod's sandbox and containers. nil or an empty result leaves
	// that to the runtime.
	CgroupParent func(*corev1.Pod) string
	// Objects finds the ConfigMaps and Secrets that pods use; nil finds none.
	Objects spec.Objects
	// Files opens the files in volumes that variables are taken from; nil opens none.
	Files spec.Files
	// Extras are asked in turn what a container gets beside its own spec.
	Extras []spec.Contributor
	// LastWords reads the termination message of a run that has ended; nil reads none.
	LastWords func(context.Context, Ending) (string, error)
	// Connect lets a ready sandbox onto the network of pods, before anything in it begins. Done again it does nothing. nil
	// leaves that to the runtime.
	Connect func(sandbox string) error
	// Making is called before a sandbox of the pods' network is made, and its result afterwards: that network stays as it is
	// meanwhile. nil stands for a network that never changes.
	Making func() (made func())
	// Event reports what a pod's owner should know; nil disables it.
	Event func(node.Event)
}

// Ending is a run that has ended.
type Ending struct {
	Container   node.Container
	MessageFile bool // it had a file for its termination message
	LogInstead  bool // without a message, the end of its log says why it failed
}

const defaultRequestTimeout = 2 * time.Minute

func (c Config) withDefaults() Config {
	if c.RequestTimeout == 0 {
		c.RequestTimeout = defaultRequestTimeout
	}
	if c.ImageEndpoint == "" {
		c.ImageEndpoint = c.Endpoint
	}
	return c
}

func (c PodConfig) withDefaults() PodConfig {
	if c.Node == nil {
		c.Node = func() spec.Node { return spec.Node{} }
	}
	if c.CgroupParent == nil {
		c.CgroupParent = func(*corev1.Pod) string { return "" }
	}
	if c.Objects == nil {
		c.Objects = func(node.ObjectRef) (*node.Object, bool) { return nil, false }
	}
	if c.LastWords == nil {
		c.LastWords = func(context.Context, Ending) (string, error) { return "", nil }
	}
	if c.Making == nil {
		c.Making = func() func() { return func() {} }
	}
	if c.Event == nil {
		c.Event = func(node.Event) {}
	}
	return c
}

// warn reports a notice about a pod.
func (c PodConfig) warn(pod *node.Pod, n spec.Notice) {
	c.Event(node.Event{
		Time: time.Now(), Key: pod.Key(), UID: pod.UID(), Warning: true, Reason: n.Reason, Message: n.Message,
	})
}
