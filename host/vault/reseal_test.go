package vault

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	kmsapi "k8s.io/kms/apis/v2"

	"nodal/host/journal"
	"nodal/node"
	"nodal/node/seal"
)

func TestAKeyFileThatIsReplacedUnderTheAgentIsTakenOver(t *testing.T) {
	w := newWorld(t)
	old := keyOf(t, w.put("usb/key", newKey()))
	j := w.start(w.file())
	w.commit(j, map[string]string{"secrets/a": "alpha"})
	w.put("usb/key", newKey())
	j.Look(context.Background())
	if left := w.opens(old); len(left) > 0 || j.State().Fault != "" {
		t.Errorf("the old key still opens %v; the key is %+v", left, j.State())
	}
	w.start(w.file())
	w.want(map[string]string{"secrets/a": "alpha"})
}

func TestAPluginsNewKeySealsAgainWithoutARestart(t *testing.T) {
	w := newWorld(t)
	j := w.start(w.kms())
	w.commit(j, map[string]string{"secrets/a": "alpha"})
	w.plugin.Use("two")
	j.Look(context.Background())
	if s := j.State(); s.KeyID != "two" || s.Older != 0 {
		t.Fatalf("the key is %+v, want two", s)
	}
	w.plugin.Retire("one")
	w.start(w.kms())
	w.want(map[string]string{"secrets/a": "alpha"})
}

func TestAKeyThatAPluginAnnouncesAndDoesNotUseSealsNothingAgain(t *testing.T) {
	w := newWorld(t)
	j := w.start(w.kms())
	w.commit(j, map[string]string{"secrets/a": "alpha"})
	before := bytes.Clone(w.disk.current["secrets/a"])
	w.plugin.Answer(func(s *kmsapi.StatusResponse) { s.KeyId = "two" })
	j.Look(context.Background())
	j.Look(context.Background())
	if !bytes.Equal(w.disk.current["secrets/a"], before) || j.State().KeyID != "one" {
		t.Errorf("the Secret was sealed again, with %q", j.State().KeyID)
	}
}

func TestAStartSealsNothingAgain(t *testing.T) {
	w := newWorld(t)
	w.put("usb/key", newKey())
	w.put("credentials/secrets", newKey())
	for _, source := range []seal.Source{w.beside(), w.file(), w.credential(), w.kms()} {
		j := w.start(source)
		w.commit(j, map[string]string{"secrets/a": "alpha"})
		j.Look(context.Background())
		before := maps.Clone(w.disk.current)
		calls := w.plugin.Calls("Encrypt")
		w.start(source).Look(context.Background())
		if !maps.EqualFunc(w.disk.current, before, bytes.Equal) || w.plugin.Calls("Encrypt") != calls {
			t.Errorf("%s: a restart has changed the journal", source)
		}
	}
}

func TestAFullDiskKeepsBothKeysUntilThereIsRoom(t *testing.T) {
	w := newWorld(t)
	j := w.start(w.beside())
	secrets := map[string]string{"secrets/a": "alpha", "secrets/b": "beta"}
	w.commit(j, secrets)
	w.disk.full = node.ErrNoSpace
	if err := j.Rotate(context.Background()); !errors.Is(err, node.ErrNoSpace) {
		t.Errorf("got %v, want no space", err)
	}
	if s := j.State(); s.Older != 2 || !strings.Contains(s.Fault, "no space") {
		t.Errorf("the key is %+v, want two records sealed with the older one", s)
	}
	w.start(w.beside())
	w.want(secrets)
	w.disk.full = nil
	j = w.start(w.beside())
	j.Look(context.Background())
	if s := j.State(); s.Older != 0 || s.Fault != "" {
		t.Errorf("once there is room, the key is %+v", s)
	}
}

func TestALostRecordDoesNotHoldUpAChange(t *testing.T) {
	w := newWorld(t)
	j := w.start(w.beside())
	w.commit(j, map[string]string{"secrets/a": "alpha", "secrets/lost": "x"})
	lost := w.disk.current["secrets/lost"]
	lost[len(lost)-1] ^= 1
	j = w.start(w.beside())
	if err := j.Rotate(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s := j.State(); s.Records != 2 || s.Older != 0 || s.Unreadable != 1 {
		t.Errorf("the key is %+v, want one record of two unreadable", s)
	}
	if !bytes.Equal(w.disk.current["secrets/lost"], lost) {
		t.Error("the lost record has changed")
	}
}

func TestAChangeWaitsForAKeyThatIsAway(t *testing.T) {
	w := newWorld(t)
	w.commit(w.start(w.kms()), map[string]string{"secrets/k": "kappa"})
	w.plugin.Stop()
	j := w.start(w.beside())
	if err := w.locked["secrets/k"]; !errors.Is(err, node.ErrUnavailable) || !strings.Contains(err.Error(), w.plugin.Socket) {
		t.Errorf("locked: %v, want an error with the socket", err)
	}
	w.commit(j, map[string]string{"secrets/b": "beta"})
	j.Look(context.Background())
	if s := j.State(); s.Unreadable != 1 || !strings.Contains(s.Fault, w.plugin.Socket) || !strings.Contains(s.Fault, "still needed") {
		t.Errorf("the key is %+v, want a fault that says what is missing", s)
	}
	if err := w.plugin.Start(); err != nil {
		t.Fatal(err)
	}
	j.Look(context.Background())
	w.Helper()
	if w.known["secrets/k"] != "kappa" || len(w.locked) > 0 {
		t.Errorf("known are %q, locked %v", w.known, w.locked)
	}
	if s := j.State(); s.Unreadable != 0 || s.Older != 0 || s.Fault != "" {
		t.Errorf("once the plugin is back the key is %+v", s)
	}
	w.plugin.Stop()
	w.start(w.beside())
	w.want(map[string]string{"secrets/k": "kappa", "secrets/b": "beta"})
}

func TestACredentialIsNotTheAgentsToRotate(t *testing.T) {
	w := newWorld(t)
	w.put("credentials/secrets", newKey())
	j := w.start(w.credential())
	err := j.Rotate(context.Background())
	if !errors.Is(err, node.ErrUnsupported) || !strings.Contains(err.Error(), "secrets.old") {
		t.Errorf("got %v, want what to do instead", err)
	}
	if j.ledger.Changing {
		t.Error("a change has begun all the same")
	}
}

// TestNoFileOfTheJournalIsSealedWithTheOldKey looks at the files of a real journal: records, and the generations before them.
func TestNoFileOfTheJournalIsSealedWithTheOldKey(t *testing.T) {
	w := newWorld(t)
	real, err := journal.Open(w.path("journal"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer real.Close()
	j := New(Config{Disk: real, Prefix: "secrets/", Source: w.beside(), Beside: w.path("secrets.key"), Log: slog.New(slog.DiscardHandler)})
	j.Open(context.Background(), nil)
	w.commit(j, map[string]string{"secrets/a": "alpha", "secrets/b": "beta"})
	w.commit(j, map[string]string{"secrets/a": "newer alpha", "secrets/b": "newer beta"})
	before := filesBelow(t, w.path("journal/records"))
	if len(before) != 4 {
		t.Fatalf("%d files hold records, want two generations of two", len(before))
	}
	if err := j.Rotate(context.Background()); err != nil {
		t.Fatal(err)
	}
	after := filesBelow(t, w.path("journal"))
	for name, sealed := range before {
		for at, content := range after {
			if bytes.Contains(content, sealed[len(sealed)-32:]) {
				t.Errorf("%s holds what was in %s", at, name)
			}
		}
	}
	records, err := real.Read("secrets/a", "secrets/b")
	if err != nil || len(records) != 2 {
		t.Fatalf("got %d records, %v", len(records), err)
	}
	for _, r := range records {
		if data, _, err := j.open(r); err != nil || !strings.HasPrefix(string(data), "newer ") {
			t.Errorf("%s opens as %q, %v", r.Name, data, err)
		}
	}
}

// filesBelow returns the content of all files of a directory that hold something of records.
func filesBelow(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "ballast" || d.Name() == "lock" {
			return err
		}
		found[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
