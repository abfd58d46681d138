package member

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// bringClaims adds to a manifest what the cluster has allocated for the pod's resource claims. A pod that the node has keeps
// what it came with: as long as a claim is reserved for a pod, its allocation stays.
func (p *pods) bringClaims(ctx context.Context, manifest, want, there *corev1.Pod) error {
	switch {
	case there != nil && node.BringsClaims(there):
		metav1.SetMetaDataAnnotation(&manifest.ObjectMeta, node.AnnotationClaims, there.Annotations[node.AnnotationClaims])
		return nil
	case len(want.Spec.ResourceClaims) == 0:
		return nil
	}
	claims := []node.DeviceClaim{}
	for i := range want.Spec.ResourceClaims {
		claim, err := p.cluster.allocated(ctx, want, &want.Spec.ResourceClaims[i])
		if err != nil {
			const words = "Failed to prepare dynamic resources: prepare dynamic resources: "
			return &node.Failure{Reason: node.FailedPrepareClaims, Err: spoken{words, err}}
		}
		if claim != nil {
			claims = append(claims, *claim)
		}
	}
	text, err := json.Marshal(claims)
	if err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&manifest.ObjectMeta, node.AnnotationClaims, string(text))
	return nil
}

// allocated reads what was allocated for a claim of a pod. It returns nil for one that the cluster has found to need none.
func (c *cluster) allocated(ctx context.Context, pod *corev1.Pod, of *corev1.PodResourceClaim) (*node.DeviceClaim, error) {
	name, made, err := claimName(pod, of)
	if name == "" || err != nil {
		return nil, err
	}
	claim, err := into(c.resources.Get().Namespace(pod.Namespace).Resource("resourceclaims").Name(name).Do(ctx), &resourcev1.ResourceClaim{})
	if err != nil {
		return nil, fmt.Errorf("fetch ResourceClaim %s: %w", name, err)
	}
	return granted(pod, of.Name, claim, made)
}

// claimName returns the name of the ResourceClaim that a pod uses, and whether it was made for the pod. The name is empty if
// none is needed.
func claimName(pod *corev1.Pod, of *corev1.PodResourceClaim) (name string, made bool, err error) {
	if of.ResourceClaimName != nil {
		return *of.ResourceClaimName, false, nil
	}
	for _, s := range pod.Status.ResourceClaimStatuses {
		if s.Name == of.Name {
			if s.ResourceClaimName == nil {
				return "", true, nil
			}
			return *s.ResourceClaimName, true, nil
		}
	}
	return "", true, fmt.Errorf("pod %q: ResourceClaim not created yet", pod.Namespace+"/"+pod.Name)
}

// granted returns what a claim of the cluster has for a pod, or why the pod may not use it.
func granted(pod *corev1.Pod, name string, claim *resourcev1.ResourceClaim, made bool) (*node.DeviceClaim, error) {
	reserved := func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID }
	switch {
	case made && !metav1.IsControlledBy(claim, pod):
		return nil, fmt.Errorf("ResourceClaim %s/%s was not created for Pod %s/%s (Pod is not owner)", claim.Namespace, claim.Name, pod.Namespace, pod.Name)
	case !slices.ContainsFunc(claim.Status.ReservedFor, reserved):
		return nil, fmt.Errorf("pod %s (%s) is not allowed to use ResourceClaim %s (%s)", pod.Name, pod.UID, claim.Name, claim.UID)
	case claim.Status.Allocation == nil:
		return nil, fmt.Errorf("ResourceClaim %s: not allocated", claim.Name)
	}
	got := &node.DeviceClaim{Name: name, Claim: claim.Name, UID: claim.UID}
	for _, r := range claim.Status.Allocation.Devices.Results {
		d := node.AllocatedDevice{Request: r.Request, Driver: r.Driver, Pool: r.Pool, Device: r.Device}
		d.AdminAccess = r.AdminAccess != nil && *r.AdminAccess
		if r.ShareID != nil {
			d.ShareID = types.UID(*r.ShareID)
		}
		got.Devices = append(got.Devices, d)
	}
	return got, nil
}
