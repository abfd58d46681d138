package reconciler_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
	"nodal/node/intake"
	"nodal/node/manifest"
	"nodal/node/store"
)

// drop has a file deliver a pod without a UID, which other kubelets know by an alias.
func (b *bench) drop(derived types.UID, aliases ...types.UID) {
	b.Helper()
	object := probed("web")
	object.UID = derived
	object.Annotations = map[string]string{manifest.AnnotationSource: manifest.FromFile, manifest.AnnotationHash: string(derived)}
	in := b.intake
	in.Source = node.SourceFile
	for _, err := range in.Sync([]intake.Delivery{{Pod: object, Origin: "/pods/web.yaml", Aliases: aliases}}, nil, time.Now()) {
		b.Fatal(err)
	}
	b.rest(time.Second)
}

// TestStaticPodOfAnotherKubeletIsAdopted: it may have been made under another UID, and after this kubelet's last record.
func TestStaticPodOfAnotherKubeletIsAdopted(t *testing.T) {
	for name, record := range map[string]types.UID{"without a record": "", "beside an older record": "derived"} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(b *bench) {
				b.drop("other")
				b.wantUndisturbed()
				b.stop()
				b.forget("web")
				if record != "" {
					b.record(record)
				}
				b.sources = store.NewSources(map[node.Source]string{node.SourceFile: "/pods", node.SourceCluster: "a cluster"})
				b.start()
				b.rest(time.Second)
				b.drop("derived", "other")
				b.sources.Delivered(node.SourceFile, time.Now(), nil)
				b.rest(time.Second)
				b.hear()
				b.rest(time.Hour)
				b.wantState("web", "Running running restarts=0 ready=true")
				b.wantUndisturbed()
				b.says("web", node.ReadinessProbe, false)
				b.wantState("web", "Running running restarts=0 ready=false")
			})
		})
	}
}

// record has the journal hold a static pod that was accepted under a UID.
func (b *bench) record(uid types.UID) {
	b.Helper()
	clock, err := store.OpenClock(b.journal, b.journal.all())
	if err != nil {
		b.Fatal(err)
	}
	object := probed("web")
	object.UID = uid
	if _, err := store.New(b.journal, clock).Transact(func(tx *store.Tx) error {
		tx.Put(key("web"), node.NewSlot(&node.Pod{
			Object: object, Source: node.SourceFile, Origin: "/pods/web.yaml", Accepted: time.Now(),
		}))
		return nil
	}); err != nil {
		b.Fatal(err)
	}
}
