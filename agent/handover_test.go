package agent

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/assign"
	"nodal/node/store"
)

func TestUpstreamsKubeletIsToldWhatContainersHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handover{
			root: t.TempDir(), store: emptyStore(t), devices: store.NewDevices(), log: slog.New(slog.DiscardHandler),
			before: map[types.UID]node.Held{"awaited": {Shares: node.Shares{"main": {CPUs: "3"}}}, "gone": {Shares: node.Shares{"main": {CPUs: "2"}}}},
			rules: func() *assign.Rules {
				return &assign.Rules{Static: true, Topology: assign.Topology{{ID: 0}, {ID: 1, Core: 1}, {ID: 2, Core: 2}, {ID: 3, Core: 3}}, Reserved: cpuset.New(0)}
			},
		}
		h.store.Saw(store.Running{{Name: "awaited"}: {"awaited": time.Now()}})
		says := func() string {
			text, err := os.ReadFile(filepath.Join(h.root, "cpu_manager_state"))
			if err != nil {
				t.Fatal(err)
			}
			said, _, _ := strings.Cut(string(text), `,"checksum"`)
			return said
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); h.run(ctx) }()
		synctest.Wait()
		if got, want := says(), `{"policyName":"static","defaultCpuSet":"0-2","entries":{"awaited":{"main":"3"}}`; got != want {
			t.Errorf("before any pod has come: got %s, want %s", got, want)
		}
		object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "web"}}
		_, err := h.store.Transact(func(tx *store.Tx) error {
			tx.Put(node.Key{Name: "web"}, &node.Slot{Pod: &node.Pod{Object: object, Shares: node.Shares{"main": {CPUs: "1"}}}})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		cancel() // within the pause
		<-done
		if got, want := says(), `{"policyName":"static","defaultCpuSet":"0,2","entries":{"awaited":{"main":"3"},"web":{"main":"1"}}`; got != want {
			t.Errorf("at the end: got %s, want %s", got, want)
		}
	})
}
