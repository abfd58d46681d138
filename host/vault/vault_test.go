package vault

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"nodal/node"
	"nodal/node/seal"
	"nodal/node/store"
)

func TestSecretsAreSealedAndOpenedAgain(t *testing.T) {
	w := newWorld(t)
	w.put("usb/key", newKey())
	w.put("credentials/secrets", newKey())
	for _, source := range []seal.Source{w.beside(), w.file(), w.credential(), w.kms()} {
		w.disk.current = map[string][]byte{}
		j := w.start(source)
		given := []store.Record{{Name: "pods/a", Data: []byte("plain")}, {Name: "secrets/s", Data: []byte("hidden")}, {Name: "secrets/gone"}}
		if err := j.Commit(given...); err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if got := w.disk.current["secrets/s"]; bytes.Contains(got, []byte("hidden")) {
			t.Errorf("%s: the secret lies open on the disk: %q", source, got)
		}
		if got := string(w.disk.current["pods/a"]); got != "plain" {
			t.Errorf("%s: got %q, want the others as they were", source, got)
		}
		w.start(source)
		if w.known["secrets/s"] != "hidden" || w.known["pods/a"] != "plain" || len(w.locked) > 0 {
			t.Errorf("%s: after a restart known are %q, locked %v", source, w.known, w.locked)
		}
	}
}

func TestANodeOfItsOwnHasAKeyForItsUserAloneAndNoOtherRecord(t *testing.T) {
	w := newWorld(t)
	w.commit(w.start(w.beside()), map[string]string{"secrets/s": "hidden"})
	if info, err := os.Stat(w.path("secrets.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key is %v, %v; want only its owner to read it", info.Mode(), err)
	}
	j := w.start(w.beside())
	j.Look(context.Background())
	if got := keysOf(w.disk.current); len(got) != 1 || w.disk.current["secrets/s"][0] != plainKey {
		t.Errorf("the journal holds %v; want the Secret alone, as agents before this one read it", got)
	}
}

func TestOnlyRecordsThatDoNotOpenAreLeftOut(t *testing.T) {
	w := newWorld(t)
	w.commit(w.start(w.beside()), map[string]string{"secrets/s": "hidden"})
	w.commit(w.start(w.kms()), map[string]string{"secrets/k": "hidden"})
	plain, wrapped := w.disk.current["secrets/s"], w.disk.current["secrets/k"]
	w.put("secrets.key", newKey())
	flipped := func(data []byte, at int) []byte {
		changed := bytes.Clone(data)
		changed[(at+len(data))%len(data)] ^= 1
		return changed
	}
	for name, c := range map[string]struct {
		record store.Record
		want   error
	}{
		"another key":                   {store.Record{Name: "secrets/s", Data: plain}, node.ErrLost},
		"another name":                  {store.Record{Name: "secrets/t", Data: wrapped}, node.ErrLost},
		"a changed byte":                {store.Record{Name: "secrets/k", Data: flipped(wrapped, -1)}, node.ErrLost},
		"a changed header":              {store.Record{Name: "secrets/k", Data: flipped(wrapped, 15)}, node.ErrUnavailable},
		"a header beyond the end":       {store.Record{Name: "secrets/k", Data: []byte{2, 0, 0, 1, 0, 9}}, node.ErrLost},
		"a header of all lengths":       {store.Record{Name: "secrets/k", Data: []byte{2, 255, 255, 255, 255, 9}}, node.ErrLost},
		"nothing but a form":            {store.Record{Name: "secrets/s", Data: []byte{1}}, node.ErrLost},
		"nothing":                       {store.Record{Name: "secrets/s", Data: []byte{}}, node.ErrLost},
		"a form that a later agent has": {store.Record{Name: "secrets/s", Data: []byte{9, 9}}, store.ErrNewer},
	} {
		t.Run(name, func(t *testing.T) {
			w.disk.current = map[string][]byte{c.record.Name: c.record.Data, "pods/a": []byte("x")}
			w.start(w.kms())
			err := w.locked[c.record.Name]
			if len(w.known) != 1 || w.known["pods/a"] != "x" || !errors.Is(err, c.want) {
				t.Errorf("known are %q, locked %v; want the pod alone, and %v", w.known, w.locked, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), c.record.Name) {
				t.Errorf("got %v, want the record by its name", err)
			}
		})
	}
}

func TestARecordOfALaterFormStaysAsItIs(t *testing.T) {
	w := newWorld(t)
	later := []byte{9, 'l', 'a', 't', 'e', 'r'}
	w.commit(w.start(w.beside()), map[string]string{"secrets/s": "hidden"})
	w.disk.current["secrets/later"] = later
	j := w.start(w.beside())
	if err := j.Rotate(context.Background()); err == nil || !strings.Contains(err.Error(), "secrets/later") {
		t.Errorf("got %v; want a rotation that does not end, and says for which record", err)
	}
	if !bytes.Equal(w.disk.current["secrets/later"], later) {
		t.Errorf("it became %q", w.disk.current["secrets/later"])
	}
	if !errors.Is(w.locked["secrets/later"], node.ErrConflict) {
		t.Errorf("got %v, want a conflict", w.locked["secrets/later"])
	}
}
