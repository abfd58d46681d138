package member

import (
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func TestWhatAClaimHasForAPod(t *testing.T) {
	pod := object("u1")
	claim := func(change func(*resourcev1.ResourceClaim)) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gpu", UID: "c1"}}
		c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{UID: "u0"}, {UID: "u1"}}
		c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
			Results: []resourcev1.DeviceRequestAllocationResult{{Request: "one", Driver: "d", Pool: "p", Device: "0", AdminAccess: new(true)}},
		}}
		change(c)
		return c
	}
	want := &node.DeviceClaim{Name: "a", Claim: "gpu", UID: "c1", Devices: []node.AllocatedDevice{
		{Request: "one", Driver: "d", Pool: "p", Device: "0", AdminAccess: true},
	}}
	same := func(*resourcev1.ResourceClaim) {}
	for _, c := range []struct {
		name  string
		claim *resourcev1.ResourceClaim
		made  bool
		fault string
	}{
		{"one that is reserved for it", claim(same), false, ""},
		{"one that was made for it", claim(func(c *resourcev1.ResourceClaim) {
			c.OwnerReferences = []metav1.OwnerReference{{UID: "u1", Controller: new(true)}}
		}), true, ""},
		{"one that was made for another", claim(same), true, "ResourceClaim default/gpu was not created for Pod default/web (Pod is not owner)"},
		{"one that is reserved for others", claim(func(c *resourcev1.ResourceClaim) { c.Status.ReservedFor = c.Status.ReservedFor[:1] }), false,
			"pod web (u1) is not allowed to use ResourceClaim gpu (c1)"},
		{"one without devices", claim(func(c *resourcev1.ResourceClaim) { c.Status.Allocation = nil }), false, "ResourceClaim gpu: not allocated"},
	} {
		got, err := granted(pod, "a", c.claim, c.made)
		if c.fault == "" && (err != nil || !reflect.DeepEqual(got, want)) || c.fault != "" && fmt.Sprint(err) != c.fault {
			t.Errorf("%s: got %+v, %v; want %q", c.name, got, err, c.fault)
		}
	}
}

func TestTheNamesOfAPodsClaims(t *testing.T) {
	pod := object("u1")
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "a", ResourceClaimName: new("web-a-x")}, {Name: "none"}}
	for _, c := range []struct {
		name string
		of   corev1.PodResourceClaim
		want string
	}{
		{"a claim by its name", corev1.PodResourceClaim{Name: "b", ResourceClaimName: new("gpu")}, "gpu false <nil>"},
		{"one from a template", corev1.PodResourceClaim{Name: "a", ResourceClaimTemplateName: new("t")}, "web-a-x true <nil>"},
		{"one that is not needed", corev1.PodResourceClaim{Name: "none", ResourceClaimTemplateName: new("t")}, " true <nil>"},
		{"one that is not there yet", corev1.PodResourceClaim{Name: "c", ResourceClaimTemplateName: new("t")}, ` true pod "default/web": ResourceClaim not created yet`},
	} {
		name, made, err := claimName(pod, &c.of)
		if got := fmt.Sprint(name, " ", made, " ", err); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAPodKeepsTheClaimsThatItCameWith(t *testing.T) {
	want, there := object("u1"), object("u1")
	want.Annotations = map[string]string{node.AnnotationClaims: "its author's"}
	metav1.SetMetaDataAnnotation(&there.ObjectMeta, node.AnnotationClaims, "[]")
	for name, have := range map[string]*corev1.Pod{"": nil, "[]": there} {
		manifest := manifestOf(want, nil)
		if err := (&pods{}).bringClaims(t.Context(), manifest, want, have); err != nil {
			t.Fatal(err)
		}
		if got := manifest.Annotations[node.AnnotationClaims]; got != name {
			t.Errorf("it brings %q, want %q", got, name)
		}
	}
}
