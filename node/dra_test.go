package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestClaimsThatAManifestBringsAreChecked(t *testing.T) {
	const sound = `{"Name": "a", "Claim": "x", "UID": "1", "Devices": [{"Driver": "d"}]}`
	for _, c := range []struct{ name, text, fault string }{
		{"none", "", "<nil>"},
		{"an empty list", "[]", "<nil>"},
		{"a sound one", "[" + sound + "]", "<nil>"},
		{"no list", "{}", "read what was allocated"},
		{"one that the pod does not name", `[{"Name": "b", "Claim": "x", "UID": "1"}]`, "the pod has no claim of that name"},
		{"no UID", `[{"Name": "a", "Claim": "x"}]`, "has no name or no UID"},
		{"a long name", `[{"Name": "a", "UID": "1", "Claim": "` + strings.Repeat("x", 300) + `"}]`, "of more than 253 bytes"},
		{"no driver", `[{"Name": "a", "Claim": "x", "UID": "1", "Devices": [{}]}]`, "a device has no driver"},
		{"many devices", `[{"Name": "a", "Claim": "x", "UID": "1", "Devices": [{}` + strings.Repeat(",{}", 64) + `]}]`, "more than 64 devices"},
		{"many claims", "[" + sound + strings.Repeat(","+sound, 256) + "]", "more than 256 claims"},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationClaims: c.text}}}
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "a"}}
		if _, err := ClaimsIn(pod); !strings.Contains(fmt.Sprint(err), c.fault) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.fault)
		}
		if got := BringsClaims(pod); got != (c.text != "") {
			t.Errorf("%s: it brings claims: %t", c.name, got)
		}
	}
}

func TestAManifestDoesNotSayWhatDriversWereAsked(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		AnnotationClaims: `[{"Name": "a", "Claim": "x", "UID": "1", "Devices": [{"Driver": "d"}], "Drivers": {"d": {"Done": true}}}]`,
	}}}
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "a"}}
	claims, err := ClaimsIn(pod)
	if held := (&Pod{Claims: claims}).HoldsClaims(); err != nil || len(claims) != 1 || held {
		t.Errorf("got %+v, %v; want a claim for which no driver was asked", claims, err)
	}
}

func TestContainersGetTheDevicesThatTheyName(t *testing.T) {
	device := func(name string, requests ...string) PreparedDevice {
		return PreparedDevice{Requests: requests, CDI: []string{"v/c=" + name}}
	}
	pod := &Pod{Claims: []DeviceClaim{
		{Name: "a", Drivers: map[string]PreparedClaim{
			"e": {Devices: []PreparedDevice{device("e")}}, "d": {Devices: []PreparedDevice{device("one", "one"), device("two", "two")}},
		}},
		{Name: "b", Drivers: map[string]PreparedClaim{"d": {Devices: []PreparedDevice{device("b")}}}},
	}}
	for _, c := range []struct {
		name   string
		claims []corev1.ResourceClaim
		want   string
	}{
		{"nothing", nil, ""},
		{"a whole claim", []corev1.ResourceClaim{{Name: "a"}}, "v/c=one v/c=two v/c=e"},
		{"one request", []corev1.ResourceClaim{{Name: "a", Request: "two"}}, "v/c=two v/c=e"},
		{"two claims", []corev1.ResourceClaim{{Name: "b"}, {Name: "a", Request: "one"}}, "v/c=b v/c=one v/c=e"},
		{"one that the pod does not have", []corev1.ResourceClaim{{Name: "z"}}, ""},
	} {
		got := pod.ClaimedCDI(&corev1.Container{Resources: corev1.ResourceRequirements{Claims: c.claims}})
		if !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
