package node

import (
	"errors"
	"strings"
	"testing"
)

func TestNormalReference(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	for ref, want := range map[string]string{
		"busybox":                      "busybox:latest",
		"busybox:1.36":                 "busybox:1.36",
		"a":                            "a:latest",
		"localhost:5000/a":             "localhost:5000/a:latest",
		"localhost:5000/a:b":           "localhost:5000/a:b",
		"registry.example/x/y_z/a--b":  "registry.example/x/y_z/a--b:latest",
		"[fd00::1]:5000/app":           "[fd00::1]:5000/app:latest",
		"app" + digest:                 "app" + digest,
		"app:1" + digest:               "app:1" + digest,
		"Registry.Example:443/app:Tag": "Registry.Example:443/app:Tag",
	} {
		if got, err := NormalReference(ref); got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", ref, got, err, want)
		}
	}
	for _, ref := range []string{
		"", " busybox", "busybox ", "BusyBox", "a//b", "/a", "a/", "app:", "app:-tag", "app@sha256:abc",
		"app:" + strings.Repeat("t", 129), "a..b", "a/" + strings.Repeat("b", 300), strings.Repeat("a", 64),
	} {
		if got, err := NormalReference(ref); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: got %q, %v, want it refused", ref, got, err)
		}
	}
}

func TestASlipInAReferenceIsNamed(t *testing.T) {
	for ref, want := range map[string]string{
		"Nginx:latest stable":    "holds a space",
		"https://registry/nginx": "before ://",
		"registry.test/Nginx:1":  "capital letters",
		"nginx:":                 "[:tag][@digest]: invalid",
	} {
		if _, err := NormalReference(ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", ref, err, want)
		}
	}
}
