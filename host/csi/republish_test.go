package csi

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func (b *bench) republish() error { return b.Republish(b.t.Context(), b.pub) }

// age has the last publication be long ago.
func (b *bench) age() time.Time {
	b.t.Helper()
	past := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(filepath.Join(filepath.Dir(b.pub.Path), tagName), past, past); err != nil {
		b.t.Fatal(err)
	}
	return past
}

func (b *bench) publishedAt() time.Time {
	b.t.Helper()
	at, err := b.Published(b.pub.Path)
	if err != nil {
		b.t.Fatal(err)
	}
	return at
}

func TestAVolumeIsPublishedAgainWhileItsPodHasIt(t *testing.T) {
	b := newBench(t)
	if err := b.republish(); err != nil || !b.publishedAt().IsZero() || len(b.called) > 0 {
		t.Fatalf("before its pod has it: got %v after %q", err, b.called)
	}
	if err := errors.Join(b.stage(), b.publish()); err != nil || time.Since(b.publishedAt()) > time.Minute || b.Publications().Revision() != 1 {
		t.Fatalf("got %v; it was published at %s", err, b.publishedAt())
	}
	b.do = nil // its mounts are there
	b.age()
	b.again()
	if err := b.republish(); err != nil || time.Since(b.publishedAt()) > time.Minute {
		t.Errorf("got %v; it was published at %s", err, b.publishedAt())
	}
	past := b.age()
	b.fails["publish"] = errors.New("bad")
	if err := b.republish(); err == nil || !b.publishedAt().Equal(past) {
		t.Errorf("a failure: got %v; it was published at %s, want %s", err, b.publishedAt(), past)
	}
	delete(b.fails, "publish")
	b.again()
	if err := b.publish(); err != nil { // the pod has it all the time
		t.Error(err)
	}
	if want := []string{"stage", "publish", "publish", "publish"}; !slices.Equal(b.called, want) {
		t.Errorf("the driver has heard %q, want %q", b.called, want)
	}
}

// A pod that ends while its volume is published again gives it back afterwards, and nothing is published after that.
func TestAVolumeThatIsGivenBackIsNotPublishedAgain(t *testing.T) {
	b := newBench(t)
	if err := errors.Join(b.stage(), b.publish()); err != nil {
		t.Fatal(err)
	}
	began, goOn, mounts := make(chan struct{}), make(chan struct{}), b.do
	b.do = func(call, path string) {
		if call == "publish" {
			close(began)
			<-goOn
			return
		}
		mounts(call, path)
	}
	ended := make(chan error, 2)
	go func() { ended <- b.republish() }()
	<-began
	go func() { ended <- b.unpublish() }()
	late, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := b.Unpublish(late, b.pub.Path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("meanwhile it is given back: %v", err)
	}
	close(goOn)
	if err := errors.Join(<-ended, <-ended, b.republish()); err != nil {
		t.Error(err)
	}
	if want := []string{"stage", "publish", "publish", "unpublish"}; !slices.Equal(b.called, want) {
		t.Errorf("the driver has heard %q, want %q", b.called, want)
	}
}

func TestADriverGetsTheTokensThatItWants(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u1"}}
	pv := &corev1.PersistentVolume{}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disk", VolumeHandle: "h", VolumeAttributes: map[string]string{"color": "red"}}
	token := func(audience string, seconds *int64) *node.Object {
		ref := node.NewAccountToken("ns", "u1", audience, seconds).Secret()
		return node.NewObject(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: ref.Name}, Data: map[string][]byte{
			node.TokenKey: []byte("secret of " + audience), node.TokenExpiresKey: []byte("2030-01-02T03:04:05Z"),
		}})
	}
	have := []*node.Object{token("vault", new(int64(600))), token("", nil)}
	v := New(Config{Secret: func(ref node.ObjectRef) (*node.Object, bool) {
		i := slices.IndexFunc(have, func(o *node.Object) bool { return o.Ref() == ref })
		if i < 0 {
			return nil, false
		}
		return have[i], true
	}})
	expires := metav1.NewTime(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))
	for _, c := range []struct {
		name      string
		requests  []storagev1.TokenRequest
		inSecrets bool
		want      map[string]string // token by audience
		err       string
	}{
		{"none", nil, false, nil, ""},
		{"two", []storagev1.TokenRequest{{Audience: "vault", ExpirationSeconds: new(int64(600))}, {}}, false, map[string]string{"vault": "secret of vault", "": "secret of "}, ""},
		{"one among the Secrets", []storagev1.TokenRequest{{Audience: "vault", ExpirationSeconds: new(int64(600))}}, true, map[string]string{"vault": "secret of vault"}, ""},
		{"one that has not come", []storagev1.TokenRequest{{Audience: "late"}}, false, nil, `failed to get service account token attributes: the token for audience "late": secret `},
	} {
		request, err := v.request(node.Publication{Volume: pv, Pod: pod, Terms: &storagev1.CSIDriverSpec{TokenRequests: c.requests, ServiceAccountTokenInSecrets: &c.inSecrets}}, nil)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret of") {
				t.Errorf("%s: got %v, want %q", c.name, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text, other := request.VolumeContext[tokensKey], request.Secrets[tokensKey]
		if c.inSecrets {
			text, other = other, text
		}
		var got map[string]authenticationv1.TokenRequestStatus
		if text != "" {
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
		}
		if len(got) != len(c.want) || other != "" || request.VolumeContext["color"] != "red" || len(pv.Spec.CSI.VolumeAttributes) != 1 {
			t.Errorf("%s: the driver gets %q and %q", c.name, text, other)
		}
		for audience, want := range c.want {
			if s := got[audience]; s.Token != want || !s.ExpirationTimestamp.Equal(&expires) {
				t.Errorf("%s: for %q it gets %+v", c.name, audience, s)
			}
		}
	}
}
