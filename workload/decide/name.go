package decide

import (
	"fmt"
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// Kubernetes ends the names that it makes with five of these letters, and cuts what stands before them.
const (
	letters    = "bcdfghjklmnpqrstvwxz2456789"
	suffix     = 5
	longestPod = 63 - suffix
)

// podName returns the first name for a pod of an owner that is not taken, and takes it. The names of an owner follow from its
// UID, so that a repeated decision finds the same one.
func (c *circle) podName(of metav1.Object, base string) string {
	if len(base) > longestPod {
		base = base[:longestPod]
	}
	for n := 0; ; n++ {
		name := types.NamespacedName{Namespace: of.GetNamespace(), Name: base + word(fmt.Sprintf("%s/%d", of.GetUID(), n), suffix)}
		if !c.Taken[name] {
			c.Taken[name] = true
			return name.Name
		}
	}
}

// word makes letters of a text, always the same.
func word(of string, length int) string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(of)) // never fails
	sum := hash.Sum64()
	var made strings.Builder
	for range length {
		made.WriteByte(letters[sum%uint64(len(letters))])
		sum /= uint64(len(letters))
	}
	return made.String()
}

// podOf returns a pod of a workload. Its name begins as the base does.
func (c *circle) podOf(of node.Value, base string) *corev1.Pod {
	object := node.NewObject(of)
	pod := object.Copy()
	pod.Name, pod.GenerateName = c.podName(of, base), ""
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, gvkOf(object.Kind))}
	return pod
}

func (c *circle) makePod(of node.Value, pod *corev1.Pod) {
	c.plan.add(Change{Do: MakePod, Pod: pod, For: of.GetUID()})
}
