package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"

	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// rawDirs holds the log directory of raw's pods and their parent cgroup.
type rawDirs struct{ logs, cgroup string }

// sandboxConfig returns the sandbox that a kubelet would ask for.
func (d rawDirs) sandboxConfig(p pod) *runtimev1.PodSandboxConfig {
	return &runtimev1.PodSandboxConfig{
		Metadata:     &runtimev1.PodSandboxMetadata{Name: p.name, Namespace: namespace, Uid: "uid-" + p.name},
		Hostname:     p.name,
		LogDirectory: filepath.Join(d.logs, namespace+"_"+p.name+"_uid-"+p.name),
		DnsConfig:    &runtimev1.DNSConfig{},
		Labels:       podLabels(p),
		Linux: &runtimev1.LinuxPodSandboxConfig{
			CgroupParent: d.cgroup,
			SecurityContext: &runtimev1.LinuxSandboxSecurityContext{
				NamespaceOptions: ownNamespaces(),
				Seccomp:          &runtimev1.SecurityProfile{ProfileType: runtimev1.SecurityProfile_RuntimeDefault},
			},
		},
	}
}

func containerConfig(p pod, image string, attempt uint32) *runtimev1.ContainerConfig {
	labels := podLabels(p)
	labels[containerLabel] = p.name
	return &runtimev1.ContainerConfig{
		Metadata: &runtimev1.ContainerMetadata{Name: p.name, Attempt: attempt},
		Image:    &runtimev1.ImageSpec{Image: image, UserSpecifiedImage: p.image},
		Command:  p.command,
		Args:     p.args,
		Labels:   labels,
		Annotations: map[string]string{
			"io.kubernetes.container.restartCount":       strconv.FormatUint(uint64(attempt), 10),
			"io.kubernetes.pod.terminationGracePeriod":   strconv.Itoa(grace),
			"io.kubernetes.container.terminationMessage": "/dev/termination-log",
		},
		LogPath: fmt.Sprintf("%s_%d.log", p.name, attempt),
		Linux: &runtimev1.LinuxContainerConfig{
			Resources: &runtimev1.LinuxContainerResources{CpuShares: 2, CpuPeriod: 100_000, OomScoreAdj: 1000},
			SecurityContext: &runtimev1.LinuxContainerSecurityContext{
				NamespaceOptions: ownNamespaces(),
				// The node sets this for pods that ask for no profile. The runtime builds the
				// filter for each process, even for an exec.
				Seccomp: &runtimev1.SecurityProfile{ProfileType: runtimev1.SecurityProfile_RuntimeDefault},
				// Each of these paths is a mount, which costs the runtime time.
				MaskedPaths: []string{
					"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
					"/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys/firmware",
				},
				ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
			},
		},
	}
}

func initConfig(p pod, image, name string) *runtimev1.ContainerConfig {
	config := containerConfig(p, image, 0)
	config.Metadata.Name, config.Args = name, []string{"exit", "0"}
	config.Labels[containerLabel], config.LogPath = name, name+".log"
	return config
}

func podLabels(p pod) map[string]string {
	return map[string]string{
		benchLabel:                    p.name,
		"io.kubernetes.pod.name":      p.name,
		"io.kubernetes.pod.namespace": namespace,
		"io.kubernetes.pod.uid":       "uid-" + p.name,
	}
}

func ownNamespaces() *runtimev1.NamespaceOption {
	return &runtimev1.NamespaceOption{
		Network: runtimev1.NamespaceMode_POD, Pid: runtimev1.NamespaceMode_CONTAINER, Ipc: runtimev1.NamespaceMode_POD,
	}
}

// imageIDs pulls each image once and keeps the runtime's ID of it.
type imageIDs struct {
	client runtimev1.ImageServiceClient
	mu     sync.Mutex
	known  map[string]string
}

func (i *imageIDs) id(ctx context.Context, image string) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if id, ok := i.known[image]; ok {
		return id, nil
	}
	reply, err := i.client.PullImage(ctx, &runtimev1.PullImageRequest{Image: &runtimev1.ImageSpec{Image: image}})
	if err != nil {
		return "", fmt.Errorf("pull %s: %w", image, err)
	}
	if i.known == nil {
		i.known = map[string]string{}
	}
	i.known[image] = reply.ImageRef
	return reply.ImageRef, nil
}
