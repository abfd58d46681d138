package spec

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestHostname(t *testing.T) {
	long := strings.Repeat("a", 62) + "-b"
	sub := func(p *corev1.Pod) { p.Spec.Subdomain, p.Spec.SetHostnameAsFQDN = "sub", new(true) }
	for _, test := range []struct {
		name   string
		change func(*corev1.Pod)
		want   string
		err    error
	}{
		{"the pod's name by default", nil, "web", nil},
		{"what the spec says instead", func(p *corev1.Pod) { p.Spec.Hostname = "given" }, "given", nil},
		{"nothing on the host's network", func(p *corev1.Pod) { p.Spec.HostNetwork = true }, "", nil},
		{"cut to a label of DNS, which ends in no dash", func(p *corev1.Pod) { p.Name = long }, strings.Repeat("a", 62), nil},
		{"a subdomain alone changes nothing", func(p *corev1.Pod) { p.Spec.Subdomain = "sub" }, "web", nil},
		{"the full name when asked for", sub, "web.sub.default.svc.cluster.local", nil},
		{"the full name below the given one", func(p *corev1.Pod) { sub(p); p.Spec.Hostname = "given" }, "given.sub.default.svc.cluster.local", nil},
		{"without a subdomain there is no full name", func(p *corev1.Pod) { p.Spec.SetHostnameAsFQDN = new(true) }, "web", nil},
		{"a full name that just fits", func(p *corev1.Pod) { sub(p); p.Spec.Hostname = strings.Repeat("h", 34) },
			strings.Repeat("h", 34) + ".sub.default.svc.cluster.local", nil},
		{"a full name that is too long", func(p *corev1.Pod) { sub(p); p.Spec.Hostname = strings.Repeat("h", 35) }, "", node.ErrInvalid},
		{"an override before all else", func(p *corev1.Pod) {
			p.Spec.Hostname, p.Spec.HostnameOverride = "given", new("other.example")
		}, "other.example", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := specPod(test.change)
			got, err := nameOf(pod, "cluster.local").hostname(pod)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %q, %v, want %q, %v", got, err, test.want, test.err)
			}
		})
	}
}

func TestFullNameThatIsTooLongSaysHowLong(t *testing.T) {
	pod := specPod(func(p *corev1.Pod) { p.Spec.Subdomain, p.Spec.SetHostnameAsFQDN = strings.Repeat("s", 60), new(true) })
	_, err := nameOf(pod, "cluster.local").hostname(pod)
	if want := "is too long (64 characters is the max, 90 characters requested)"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want it to say that it %s", err, want)
	}
}

func TestDomainWithoutACluster(t *testing.T) {
	pod := specPod(func(p *corev1.Pod) { p.Spec.Subdomain = "sub" })
	if got := nameOf(pod, ""); got != (PodName{Short: "web", Domain: "sub.default.svc"}) {
		t.Errorf("got %+v, want no dot at its end", got)
	}
}
