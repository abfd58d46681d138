package registry

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatTheUserChangesIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &Hosts{User: t.TempDir(), Effective: t.TempDir(), Mirror: Mirror{URL: "http://127.0.0.1:1", Token: "token"}}
		if err := h.Write(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		told := make(chan error, 10)
		go h.Follow(ctx, func(err error) { told <- err })
		later := func() {
			<-time.After(followEvery + time.Second)
			synctest.Wait()
		}
		later()
		if len(told) != 0 {
			t.Errorf("nothing has changed, and it told %v", <-told)
		}
		dir := filepath.Join(h.User, "registry.example")
		put(t, dir, "server = \"https://mirror.example\"\n")
		later()
		text, err := os.ReadFile(filepath.Join(h.Effective, "registry.example", hostsFile))
		if err != nil || !strings.Contains(string(text), "mirror.example") {
			t.Errorf("the runtime has %q, %v", text, err)
		}
		put(t, dir, "server = \n")
		later()
		if len(told) != 2 || <-told != nil || <-told == nil {
			t.Error("want it told of both changes, and that the second is broken")
		}
		later()
		if len(told) != 0 {
			t.Errorf("a broken file is told again: %v", <-told)
		}
		cancel()
		synctest.Wait()
	})
}

func TestWhatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inTheWay := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		h := &Hosts{User: t.TempDir(), Effective: filepath.Join(inTheWay, "registries"), Mirror: Mirror{URL: "http://127.0.0.1:1", Token: "token"}}
		if err := h.Write(); err == nil {
			t.Fatal("it was written into a file")
		}
		ctx, cancel := context.WithCancel(t.Context())
		told := make(chan error, 10)
		go h.Follow(ctx, func(err error) { told <- err })
		later := func() {
			<-time.After(2 * followEvery)
			synctest.Wait()
		}
		later()
		if len(told) != 0 {
			t.Errorf("the fault that was reported is told again: %v", <-told)
		}
		if err := os.Remove(inTheWay); err != nil {
			t.Fatal(err)
		}
		later()
		text, err := os.ReadFile(filepath.Join(h.Effective, defaultHost, hostsFile))
		if err != nil || !strings.Contains(string(text), "127.0.0.1:1") || len(told) != 1 || <-told != nil {
			t.Errorf("the runtime has %q, %v; told %d times more, want once that it is written", text, err, len(told))
		}
		cancel()
		synctest.Wait()
	})
}

func put(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, hostsFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
