package member

import (
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

func podWithTokens(uid types.UID) *corev1.Pod {
	source := func(audience, path string) corev1.VolumeProjection {
		return corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: audience, Path: path, ExpirationSeconds: new(int64(600))}}
	}
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID, pod.Spec.ServiceAccountName = "d", "p", uid, "robot"
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "none"},
		{Name: "tokens", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			source("", "token"), source("vault", "vault/token"), source("", "again"),
		}}}},
	}
	return pod
}

func TestTokensAreSecretsToTheNode(t *testing.T) {
	pod := podWithTokens("1")
	tokens := tokensOf(pod)
	if len(tokens) != 2 {
		t.Fatalf("got %d tokens, want one for each audience", len(tokens))
	}
	sent := manifestOf(pod, nil)
	for i, path := range []string{"token", "vault/token", "again"} {
		source := sent.Spec.Volumes[1].Projected.Sources[i]
		if source.ServiceAccountToken != nil || source.Secret == nil || source.Secret.Items[0].Path != path {
			t.Fatalf("source %d became %+v", i, source)
		}
		found := false
		for ref := range tokens {
			found = found || ref.Name == source.Secret.Name
		}
		if !found {
			t.Errorf("Secret %s has no token", source.Secret.Name)
		}
	}
	if pod.Spec.Volumes[1].Projected.Sources[0].ServiceAccountToken == nil {
		t.Error("the cluster's pod was changed")
	}
}

func TestATokenIsOneForOnePod(t *testing.T) {
	for ref, token := range tokensOf(podWithTokens("1")) {
		if _, shared := tokensOf(podWithTokens("2"))[ref]; shared {
			t.Errorf("two pods share %s", ref)
		}
		asked := token.request().Spec
		if bound := asked.BoundObjectRef; bound == nil || bound.Kind != "Pod" || bound.UID != "1" || *asked.ExpirationSeconds != 600 || token.account != "robot" {
			t.Errorf("asked for %+v of %s", asked, token.account)
		}
		if (token.Audience == "") != (len(asked.Audiences) == 0) {
			t.Errorf("audience %q asks for %q", token.Audience, asked.Audiences)
		}
	}
}

func TestAPodUsesTheTokensThatDriversOfItsVolumesWant(t *testing.T) {
	driver := node.ObjectRef{Kind: node.CSIDriverObject, Name: "disk"}
	pod := podWithTokens("1")
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "disk"}}}}
	pod.Spec.Containers = []corev1.Container{{VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}}}
	looked := 0
	o := &objects{
		used:  map[node.ObjectRef]*usage{driver: {pods: map[types.NamespacedName]bool{{Namespace: pod.Namespace, Name: pod.Name}: true}, there: true}},
		ready: func(types.NamespacedName) { looked++ },
	}
	token := node.NewAccountToken(pod.Namespace, "1", "vault", new(int64(600))).Secret()
	for _, c := range []struct {
		name     string
		requests []storagev1.TokenRequest
		want     bool
		looked   int // so far
	}{
		{"one that wants none", nil, false, 0},
		{"one that wants one", []storagev1.TokenRequest{{Audience: "vault", ExpirationSeconds: new(int64(600))}}, true, 1},
		{"the same again", []storagev1.TokenRequest{{Audience: "vault", ExpirationSeconds: new(int64(600))}}, true, 1},
		{"none any more", nil, false, 2},
	} {
		o.learn(driver, &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{TokenRequests: c.requests}})
		if _, uses := o.uses(pod)[token]; uses != c.want || looked != c.looked {
			t.Errorf("%s: the pod uses it: %t, and was looked at again %d times", c.name, uses, looked)
		}
		if wait := o.lacking(pod); c.want && wait == nil {
			t.Errorf("%s: the pod does not wait for its token", c.name)
		}
	}
}

func TestATokenLastsNoLongerWhereTheClockIsBehind(t *testing.T) {
	made := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	given := &authenticationv1.TokenRequest{
		Spec:   authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))},
		Status: authenticationv1.TokenRequestStatus{ExpirationTimestamp: metav1.NewTime(made.Add(time.Hour))},
	}
	for _, c := range []struct {
		name string
		now  time.Time
		want time.Duration
	}{
		{"the clock goes well", made, time.Hour},
		{"it is behind", made.Add(-5 * time.Hour), time.Hour},
		{"it is ahead", made.Add(30 * time.Minute), 30 * time.Minute},
	} {
		if got := goodFor(given, c.now); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
