package spec

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/limit"
	"nodal/node/manifest"
)

// Run is a run of a container that is about to be made.
type Run struct {
	Pod          *node.Pod
	Allocated    *corev1.Pod       // the pod with the resources that it has been allocated
	Container    *corev1.Container // of Allocated; ChooseMounts replaces it
	Hash         string            // of the container as its spec has it
	Attempt      uint32
	Limits       limit.Limits
	Name         PodName
	IPs          []string          // of the pod
	Image        string            // id
	ImageUser    *ImageUser        // nil unless NeedsImageUser
	VolumeImages map[string]string // ids of the images that are volumes, by volume
	Joins        string            // id of the container whose processes it sees
}

// ImageUser is the user that an image wants to run as, by number or else by name.
type ImageUser struct {
	UID  int64
	Name string
}

// Run begins the description of a run. The caller adds what it has to ask the runtime for: IPs, ImageUser and
// VolumeImages.
func (n Node) Run(pod *node.Pod, a node.CreateContainer) (Run, error) {
	allocated := pod.Allocated()
	c, err := findContainer(allocated, a.Container)
	if err != nil {
		return Run{}, err
	}
	return Run{
		Pod: pod, Allocated: allocated, Container: c, Hash: manifest.HashIn(pod, c),
		Attempt: a.Attempt, Limits: a.Limits, Name: nameOf(allocated, n.DNS.Domain), Image: a.ImageID, Joins: a.Joins,
	}, nil
}

func findContainer(pod *corev1.Pod, name string) (*corev1.Container, error) {
	for c := range node.EveryContainer(&pod.Spec) {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, errors.New("the pod has no container " + name)
}
