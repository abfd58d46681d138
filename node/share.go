package node

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"nodal/node/limit"
)

// Share is the part of the machine that belongs to one container alone.
type Share struct {
	CPUs   string  `json:"CPUs,omitempty"`   // as the kernel lists them: "2-3,8"
	Mems   string  `json:"Mems,omitempty"`   // NUMA nodes whose memory it has; empty for any
	Memory []Piece `json:"Memory,omitempty"` // of them, that it has and no other
	Start  bool    `json:"Start,omitempty"`  // it ends before the application begins
	// Devices are those that it has, by resource: their IDs, as the plugin calls them.
	Devices map[corev1.ResourceName][]string `json:"Devices,omitempty"`
	Near    string                           `json:"Near,omitempty"` // NUMA nodes that its devices should be near to; empty for any
}

// WithDevices returns the share with other devices of a resource.
func (s Share) WithDevices(resource corev1.ResourceName, ids []string) Share {
	s.Devices = maps.Clone(s.Devices)
	s.Devices[resource] = ids
	return s
}

// Empty reports whether a container has nothing for itself.
func (s Share) Empty() bool { return s.CPUs == "" && s.Mems == "" && len(s.Devices) == 0 }

// Piece is a part of the memory, or of the huge pages, of a NUMA node.
type Piece struct {
	Node     int                 `json:"Node"`
	Resource corev1.ResourceName `json:"Resource"`
	Amount   int64               `json:"Amount"` // bytes
}

// Shares are those of a pod, by container.
type Shares map[string]Share

// Held holds what a pod's containers have by the word of another kubelet: their shares, and what plugins have granted.
type Held struct {
	Shares Shares
	Grants Grants
}

// Holders returns the pods of a slot that have shares. A pod that has ended holds nothing.
func (s *Slot) Holders() []*Pod {
	var holders []*Pod
	if s == nil {
		return nil
	}
	if s.Result == nil && len(s.Pod.Shares) > 0 {
		holders = append(holders, s.Pod)
	}
	if s.Next != nil && len(s.Next.Shares) > 0 {
		holders = append(holders, s.Next)
	}
	return holders
}

// Shares returns what the pods of a slot hold.
func (s *Slot) Shares() []Shares {
	var held []Shares
	for _, pod := range s.Holders() {
		held = append(held, pod.Shares)
	}
	return held
}

// LimitsOf returns the limits of a container. A container with exclusive CPUs gets all of their
// time, unless the rules bound it too.
func (s Site) LimitsOf(pod *Pod, object *corev1.Pod, c *corev1.Container) limit.Limits {
	limits := limit.OfContainer(object, c, s.Limits)
	share := pod.Shares[c.Name]
	limits.CPUs, limits.Mems = s.Shared, share.Mems
	if share.CPUs != "" {
		limits.CPUs = share.CPUs
	}
	if share.CPUs != "" && !s.Limits.OwnQuota {
		limits.CPUQuota = 0
	}
	return limits
}

// LimitsOfPod returns the limits of the pod as a whole.
func (s Site) LimitsOfPod(pod *Pod, object *corev1.Pod) limit.Limits {
	limits := limit.OfPod(object, s.Limits)
	for _, share := range pod.Shares {
		if share.CPUs != "" && !s.Limits.OwnQuota {
			limits.CPUQuota = 0
		}
	}
	return limits
}
