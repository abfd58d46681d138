package cri

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
	"nodal/node/limit"
)

// Config is what the adapter has to know besides the pod.
type Config struct {
	Endpoint       string        // "unix:///run/containerd/containerd.sock" or a bare path
	ImageEndpoint  string        // where images are pulled; empty: Endpoint
	RequestTimeout time.Duration // of an ordinary call; zero: two minutes

	PodLogsDir     string            // such as /var/log/pods
	SeccompDefault bool              // containers that ask for nothing get the runtime's profile
	SeccompDir     string            // where Localhost profiles lie
	Sysctls        map[string]string // that pods get which ask for no others
	DNS            DNS
	Machine        Machine

	// CgroupParent is where a pod's sandbox and containers belong; nil, or empty: the
	// runtime's own choice.
	CgroupParent func(*corev1.Pod) string
	// Objects finds the ConfigMaps and Secrets that pods use; nil: there are none.
	Objects Objects
	// Hash is the fingerprint of a container's spec that is kept with it.
	Hash func(*corev1.Container) string
	// Mounts tells what to mount into a container; nil: nothing.
	Mounts func(Run) ([]*runtimeapi.Mount, error)
	// Devices tells which devices of the machine a container gets; nil: none.
	Devices func(*node.Pod, *corev1.Container) ([]*runtimeapi.Device, error)
	// LastWords reads what a run that has ended left to be told; nil: nothing.
	LastWords func(context.Context, Ending) (string, error)
	// Called is told of each call that has ended, by its CRI method and, of one that
	// makes a sandbox, the handler that is to run it; nil: nobody.
	Called func(method, handler string, took time.Duration, err error)
	// Trace begins a call for those who follow it, and returns what is called when it
	// has ended; nil: nobody does.
	Trace func(ctx context.Context, method string) (context.Context, func(error))
	// Event tells what a pod's owner should know; nil: nobody.
	Event func(node.Event)
}

// Run is a run of a container that is about to be made.
type Run struct {
	Pod          *node.Pod
	Container    *corev1.Container // with every choice in its mounts made
	Attempt      uint32
	Name         PodName
	IPs          []string          // of the pod
	VolumeImages map[string]string // ids of the images that are volumes, by volume
}

// Ending is a run that has ended.
type Ending struct {
	Container   node.Container
	MessageFile bool // it had a file for its last words
	LogInstead  bool // without any, the end of its log says why it failed
}

// DNS is what pods get to resolve names with.
type DNS struct {
	ResolvConf string   // the host's resolv.conf; empty: pods inherit nothing
	Servers    []string // of the cluster; empty: ClusterFirst means Default
	Domain     string   // of the cluster
}

// Machine is the part of the machine that containers are told about.
type Machine struct {
	Name          string              // of the node
	IPs           []string            // of the node, the primary one first
	Memory        int64               // bytes
	Allocatable   corev1.ResourceList // stands in for a limit that is not set
	HugePageSizes []string            // as the kernel has them: "2MB", "1GB"
	Swap          limit.Swap          // that containers may use
	SwapLimits    func() bool         // whether the kernel can hold them to that; nil: it cannot
	OOMGroup      bool                // out of memory ends a container as a whole; needs cgroup v2
	Throttles     []string            // where its processors tell how hot they were, which is not for containers
}

const defaultRequestTimeout = 2 * time.Minute

func (c Config) withDefaults() Config {
	if c.RequestTimeout == 0 {
		c.RequestTimeout = defaultRequestTimeout
	}
	if c.ImageEndpoint == "" {
		c.ImageEndpoint = c.Endpoint
	}
	if c.Hash == nil {
		c.Hash = func(*corev1.Container) string { return "" }
	}
	if c.Objects == nil {
		c.Objects = func(node.ObjectRef) (*node.Object, bool) { return nil, false }
	}
	if c.CgroupParent == nil {
		c.CgroupParent = func(*corev1.Pod) string { return "" }
	}
	if c.Mounts == nil {
		c.Mounts = func(Run) ([]*runtimeapi.Mount, error) { return nil, nil }
	}
	if c.Devices == nil {
		c.Devices = func(*node.Pod, *corev1.Container) ([]*runtimeapi.Device, error) { return nil, nil }
	}
	if c.LastWords == nil {
		c.LastWords = func(context.Context, Ending) (string, error) { return "", nil }
	}
	if c.Event == nil {
		c.Event = func(node.Event) {}
	}
	return c
}
