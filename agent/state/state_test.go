package state

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/agent/config"
	"nodal/host/volume"
	"nodal/node"
	"nodal/node/seal"
	"nodal/node/store"
)

func TestPodsThatWaitForLostRecordsLookAgain(t *testing.T) {
	opened, err := Open(t.Context(), config.Dirs{Root: t.TempDir()}, seal.Source{Kind: seal.Beside}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	web := &corev1.Pod{}
	web.Namespace, web.Name, web.UID = "default", "web", "u"
	key := node.KeyOf(web)
	if _, err := opened.Store.Transact(func(tx *store.Tx) error {
		tx.Put(key, node.NewSlot(&node.Pod{
			Object: web, Source: node.SourceAPI, Accepted: time.Now(),
			Awaits: []node.Life{{UID: "lost"}}, Resize: &node.Resize{Reason: corev1.PodReasonDeferred},
		}))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	opened.ClearWay()
	view, _ := opened.Store.View(key)
	if got := view.Slot.Pod.Awaits; len(got) > 0 {
		t.Errorf("the pod waits for %v, of which the record was lost", got)
	}
	if view.Slot.Pod.Resize == nil {
		t.Error("the pod was resized before it was known which of its containers run, and have to restart for that")
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
}

func TestTheDirectoriesOfPodsThatTheNodeHasAreItsOwn(t *testing.T) {
	root := t.TempDir()
	opened, err := Open(t.Context(), config.Dirs{Root: root}, seal.Source{Kind: seal.Beside}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	volumes := volume.New(volume.Config{Pods: filepath.Join(root, "pods")})
	for _, uid := range []string{"known", "theirs"} {
		if err := os.MkdirAll(filepath.Join(root, "pods", uid), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	web := &corev1.Pod{}
	web.Namespace, web.Name, web.UID = "default", "web", "known"
	if _, err := opened.Store.Transact(func(tx *store.Tx) error {
		tx.Put(node.KeyOf(web), node.NewSlot(&node.Pod{Object: web, Source: node.SourceAPI, Accepted: time.Now()}))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	opened.Adopt(volumes.Adopt)
	if got, err := volumes.Own(); err != nil || !slices.Equal(got, []string{"known"}) {
		t.Errorf("the node's own are %q (%v), want that of the pod that it knows", got, err)
	}
}
