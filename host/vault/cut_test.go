package vault

import (
	"context"
	"maps"
	"os"
	"slices"
	"testing"

	"nodal/node/seal"
	"nodal/node/store"
)

// change is one way in which the key of a node changes.
type change struct {
	name   string
	from   func(*world) seal.Source
	before func(*world) // done by the owner of the node before the change
	to     func(*world) seal.Source
	rotate bool     // kubelet key rotate
	gone   []string // files that are gone afterwards
}

func noneBefore(*world) {}

func changes() []change {
	usb := func(w *world) { w.put("usb/key", newKey()) }
	credential := func(w *world) { w.put("credentials/secrets", newKey()) }
	return []change{
		{"rotate beside the journal", (*world).beside, noneBefore, (*world).beside, true, []string{"secrets.key.next"}},
		{"rotate a file elsewhere", (*world).file, noneBefore, (*world).file, true, []string{"usb/key.next"}},
		{"rotate a plugin's data key", (*world).kms, noneBefore, (*world).kms, true, nil},
		{"the plugin has another key", (*world).kms, func(w *world) { w.plugin.Use("two") }, (*world).kms, false, nil},
		{"the next key is put beside the file", (*world).file, func(w *world) { w.put("usb/key.next", newKey()) },
			(*world).file, false, []string{"usb/key.next"}},
		{"the file is replaced, the old key kept", (*world).file, func(w *world) {
			w.put("usb/key.old", w.read("usb/key"))
			usb(w)
		}, (*world).file, false, []string{"usb/key.old"}},
		{"a new credential, the old one kept", (*world).credential, func(w *world) {
			w.put("credentials/secrets.old", w.read("credentials/secrets"))
			credential(w)
		}, (*world).credential, false, nil},
		{"from beside the journal to a file", (*world).beside, noneBefore, (*world).file, false, []string{"secrets.key"}},
		{"from beside the journal to a credential", (*world).beside, noneBefore, (*world).credential, false, []string{"secrets.key"}},
		{"from beside the journal to a plugin", (*world).beside, noneBefore, (*world).kms, false, []string{"secrets.key"}},
		{"from a plugin to beside the journal", (*world).kms, noneBefore, (*world).beside, false, nil},
		{"from a file to a plugin", (*world).file, noneBefore, (*world).kms, false, nil},
		{"from a plugin to a file", (*world).kms, noneBefore, (*world).file, false, nil},
	}
}

// keysOnDisk returns the keys that open records now: those of all files, and the data keys that the plugin opens.
func (w *world) keysOnDisk() (all []*key) {
	w.Helper()
	for _, name := range []string{"secrets.key", "usb/key", "credentials/secrets"} {
		if raw, err := os.ReadFile(w.path(name)); err == nil {
			all = append(all, keyOf(w.T, raw))
		}
	}
	p, known := newProvider(w.kms(), Config{}), map[generation]*key{}
	for name, data := range w.disk.current {
		if e, err := parse(store.Record{Name: name, Data: data}); err == nil && e.header != nil {
			keys, err := p.opening(context.Background(), [][]byte{e.header})
			if err != nil {
				w.Fatal(err)
			}
			for _, k := range keys {
				known[k.generation()] = k
			}
		}
	}
	all = slices.AppendSeq(all, maps.Values(known))
	return slices.DeleteFunc(all, func(k *key) bool { return len(w.opens(k)) == 0 })
}

// TestEveryCutOfAChangeOfKeysLosesNothing ends the agent before each change that it makes to the disk, while keys change
// and a Secret is posted. The next agent has to know every Secret, and to end the change.
func TestEveryCutOfAChangeOfKeysLosesNothing(t *testing.T) {
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			for cut := 0; ; cut++ {
				if done := c.cutAt(t, cut); t.Failed() {
					t.Fatalf("cut at step %d", cut)
				} else if done {
					return
				}
			}
		})
	}
}

// cutAt changes keys, with the agent ended at one step. It reports true if the change has fewer steps.
func (c change) cutAt(t *testing.T, cut int) (done bool) {
	t.Helper()
	ctx := context.Background()
	w := newWorld(t)
	defer w.plugin.Stop()
	w.put("usb/key", newKey())
	w.put("credentials/secrets", newKey())
	secrets := map[string]string{"secrets/a": "alpha", "secrets/b": "beta"}
	first := w.start(c.from(w))
	w.commit(first, map[string]string{"secrets/a": "older alpha"})
	w.commit(first, secrets)
	old := w.keysOnDisk()
	if len(old) != 1 {
		t.Fatalf("%d keys seal Secrets before the change", len(old))
	}
	c.before(w)

	w.steps.left = cut
	second := w.start(c.to(w))
	w.want(secrets)
	if c.rotate {
		_ = second.Rotate(ctx)
	}
	if err := second.Commit(store.Record{Name: "secrets/new", Data: []byte("gamma")}); err == nil {
		secrets["secrets/new"] = "gamma"
	}
	second.Look(ctx)
	done, w.steps.left, w.steps.stopped = !w.steps.stopped, endless, false

	third := w.start(c.to(w))
	w.want(secrets)
	if c.rotate && len(w.opens(old[0])) > 0 && len(w.keysOnDisk()) == 1 {
		_ = third.Rotate(ctx) // the agent ended before it had begun
	}
	third.Look(ctx)
	c.checkChanged(w, third, old[0])
	w.start(c.to(w))
	w.want(secrets)
	return done
}

// checkChanged expects the change to be over: nothing is left for the old key, or of it.
func (c change) checkChanged(w *world, j *Journal, old *key) {
	w.Helper()
	if s := j.State(); s.Older != 0 || s.Unreadable != 0 || s.Fault != "" || s.Source != c.to(w) {
		w.Errorf("the key is %+v, want a change that has ended", s)
	}
	if left := w.opens(old); len(left) > 0 {
		w.Errorf("the old key still opens %v", left)
	}
	for _, name := range c.gone {
		if there(w.path(name)) {
			w.Errorf("%s is left", name)
		}
	}
	if len(w.keysOnDisk()) != 1 {
		w.Errorf("%d keys open records, want one", len(w.keysOnDisk()))
	}
	if len(j.keys) != 1 && j.Source.Kind != seal.Credential {
		w.Errorf("the agent keeps %d keys in its memory, want the present one", len(j.keys))
	}
	if j.ledger.Changing {
		w.Errorf("the ledger is %+v, want the change ended", j.ledger)
	}
	steps := w.steps.left
	w.steps.left = 0
	j.Look(context.Background())
	if w.steps.stopped {
		w.Error("a change that has ended goes on changing the disk")
	}
	w.steps.left, w.steps.stopped = steps, false
}

// TestARotationOverAnUnfinishedOneLosesNothing ends one rotation at each step, and the next one at each step, too.
func TestARotationOverAnUnfinishedOneLosesNothing(t *testing.T) {
	secrets := map[string]string{"secrets/a": "alpha", "secrets/b": "beta"}
	for first := range 8 {
		for second := range 8 {
			w := newWorld(t)
			w.commit(w.start(w.beside()), secrets)
			for _, cut := range []int{first, second} {
				j := w.start(w.beside())
				w.steps.left = cut
				_ = j.Rotate(context.Background())
				w.steps.left, w.steps.stopped = endless, false
				w.start(w.beside())
				if w.want(secrets); t.Failed() {
					t.Fatalf("cut at steps %d and %d", first, second)
				}
			}
			w.plugin.Stop()
		}
	}
}

func TestAnInterruptedRotationOfADataKeyIsEnded(t *testing.T) {
	w := newWorld(t)
	w.commit(w.start(w.kms()), map[string]string{"secrets/a": "alpha"})
	old := w.keysOnDisk()[0]
	j := w.start(w.kms())
	w.steps.left = 1 // the ledger
	if err := j.Rotate(context.Background()); err == nil {
		t.Fatal("it was not interrupted")
	}
	w.steps.left, w.steps.stopped = endless, false
	w.start(w.kms()).Look(context.Background())
	if left := w.opens(old); len(left) > 0 {
		t.Errorf("the data key before still opens %v", left)
	}
	w.start(w.kms())
	w.want(map[string]string{"secrets/a": "alpha"})
}
