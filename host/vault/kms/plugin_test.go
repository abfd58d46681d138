package kms

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	kmsapi "k8s.io/kms/apis/v2"

	"nodal/test/kms"
)

func serve(t *testing.T) (*kms.Plugin, Plugin) {
	t.Helper()
	served := kms.New(filepath.Join(t.TempDir(), "s"), "seed", "one")
	if err := served.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(served.Stop)
	return served, Plugin{Socket: served.Socket}
}

func TestAWrappedKeyIsUnwrappedAlsoAfterAnotherKeyCame(t *testing.T) {
	served, client := serve(t)
	ctx := context.Background()
	if id, err := client.Status(ctx); err != nil || id != "one" {
		t.Fatalf("status: got %q, %v", id, err)
	}
	key := []byte("a data key of thirty-two bytes..")
	wrapped, err := client.Wrap(ctx, key)
	if err != nil || wrapped.KeyID != "one" || bytes.Contains(wrapped.Data, key) {
		t.Fatalf("wrap: got %+v, %v", wrapped, err)
	}
	served.Use("two")
	if got, err := client.Unwrap(ctx, wrapped); err != nil || !bytes.Equal(got, key) {
		t.Errorf("unwrap: got %q, %v", got, err)
	}
	served.Retire("one")
	if _, err := client.Unwrap(ctx, wrapped); err == nil || !strings.Contains(err.Error(), `key "one" is not known`) {
		t.Errorf("unwrap with a retired key: got %v", err)
	}
}

func TestAPluginThatIsAwayIsNamedAndFoundWhenItIsBack(t *testing.T) {
	served, client := serve(t)
	served.Stop()
	if _, err := client.Status(context.Background()); err == nil || !strings.Contains(err.Error(), served.Socket) {
		t.Fatalf("got %v, want an error with the socket", err)
	}
	if err := served.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Status(context.Background()); err != nil {
		t.Errorf("at once after it is back: %v", err)
	}
}

func TestASilentPluginIsWaitedForOnlySoLong(t *testing.T) {
	served, client := serve(t)
	defer served.Hold()()
	client.Timeout = 10 * time.Millisecond
	if _, err := client.Wrap(context.Background(), []byte("key")); err == nil || !strings.Contains(err.Error(), "DeadlineExceeded") {
		t.Errorf("got %v, want the end of its time", err)
	}
}

func TestAStatusIsHeldToTheInterface(t *testing.T) {
	served, client := serve(t)
	for name, c := range map[string]struct {
		change func(*kmsapi.StatusResponse)
		want   string
	}{
		"an older version":       {func(s *kmsapi.StatusResponse) { s.Version = "v1beta1" }, `version "v1beta1"`},
		"not healthy":            {func(s *kmsapi.StatusResponse) { s.Healthz = "the HSM is away" }, "the HSM is away"},
		"no key":                 {func(s *kmsapi.StatusResponse) { s.KeyId = "" }, "no key_id"},
		"a key ID too long":      {func(s *kmsapi.StatusResponse) { s.KeyId = strings.Repeat("k", 1025) }, "1025 bytes"},
		"the name before it was": {func(s *kmsapi.StatusResponse) { s.Version = "v2beta1" }, ""},
	} {
		served.Answer(c.change)
		_, err := client.Status(context.Background())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestAWrappedKeyIsHeldToTheInterface(t *testing.T) {
	sound := WrappedKey{KeyID: "one", Data: []byte("x"), Annotations: map[string][]byte{"a.example.com": nil}}
	for want, change := range map[string]func(*WrappedKey){
		"":                  func(*WrappedKey) {},
		"no key_id":         func(k *WrappedKey) { k.KeyID = "" },
		"no ciphertext":     func(k *WrappedKey) { k.Data = nil },
		"1025 bytes":        func(k *WrappedKey) { k.Data = make([]byte, 1025) },
		"named by a domain": func(k *WrappedKey) { k.Annotations = map[string][]byte{"not a domain": nil} },
		"annotations have":  func(k *WrappedKey) { k.Annotations = map[string][]byte{"a.example.com": make([]byte, 32<<10)} },
	} {
		k := sound
		change(&k)
		err := checkWrapped(k)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
