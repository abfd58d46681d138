package vault

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nodal/node"
	"nodal/node/seal"
	"nodal/node/store"
)

func TestAPluginThatIsAwayLocksSecretsUntilItIsBack(t *testing.T) {
	w := newWorld(t)
	w.commit(w.start(w.kms()), map[string]string{"secrets/a": "alpha", "secrets/b": "beta"})
	w.plugin.Stop()
	j := w.start(w.kms())
	if err := w.locked["secrets/a"]; !errors.Is(err, node.ErrUnavailable) || !strings.Contains(err.Error(), w.plugin.Socket) {
		t.Errorf("locked: %v, want an error with the socket", err)
	}
	for _, name := range []string{"secrets/a", "secrets/c"} {
		if err := j.Commit(store.Record{Name: name, Data: []byte("x")}); !errors.Is(err, node.ErrUnavailable) || !strings.Contains(err.Error(), w.plugin.Socket) {
			t.Errorf("commit %s: got %v, want an error with the socket", name, err)
		}
	}
	if err := j.Commit(store.Record{Name: "pods/a", Data: []byte("x")}); err != nil {
		t.Errorf("a pod needs no key: %v", err)
	}
	if err := j.CommitReserved(store.Record{Name: "secrets/b"}); err != nil {
		t.Errorf("a deletion needs no key: %v", err)
	}
	if s := j.State(); s.Unreadable != 1 || s.Records != 1 || s.KeyID != "" || !strings.Contains(s.Fault, w.plugin.Socket) {
		t.Errorf("the key is %+v", s)
	}
	if got := j.pause(); got != usualPause {
		t.Errorf("the next look is in %s, want %s", got, usualPause)
	}
	changed := j.Changed()
	if err := w.plugin.Start(); err != nil {
		t.Fatal(err)
	}
	j.Look(context.Background())
	delete(w.locked, "secrets/b")
	if w.known["secrets/a"] != "alpha" || len(w.locked) > 0 {
		t.Errorf("once it is back, known are %q, locked %v", w.known, w.locked)
	}
	select {
	case <-changed:
	default:
		t.Error("a watcher of the key was not woken")
	}
	w.commit(j, map[string]string{"secrets/c": "gamma"})
	if got := j.pause(); got != healthyPause {
		t.Errorf("the next look is in %s, want %s", got, healthyPause)
	}
}

func TestAKeyThatIsAwayIsReportedOnce(t *testing.T) {
	w := newWorld(t)
	w.commit(w.start(w.kms()), map[string]string{"secrets/a": "alpha", "secrets/b": "beta"})
	w.plugin.Stop()
	var events []string
	j := New(Config{
		Disk: w.disk, Prefix: "secrets/", Source: w.kms(), Beside: w.path("secrets.key"), Log: slog.New(slog.DiscardHandler),
		Report: func(e node.Event) { events = append(events, e.Reason+": "+e.Message) },
	})
	j.Open(context.Background(), w.disk.all())
	j.Look(context.Background())
	j.Look(context.Background())
	if len(events) != 2 || !strings.HasPrefix(events[0], "SecretsKeyFault: ") || !strings.HasPrefix(events[1], "SecretsLocked: 2 Secrets") {
		t.Errorf("got %q, want the fault of the key and the number of Secrets, once each", events)
	}
}

func TestAPluginThatGoesAwayLaterStopsNothing(t *testing.T) {
	w := newWorld(t)
	j := w.start(w.kms())
	w.commit(j, map[string]string{"secrets/a": "alpha"})
	w.plugin.Stop()
	j.Look(context.Background())
	w.commit(j, map[string]string{"secrets/b": "beta"})
	if s := j.State(); !strings.Contains(s.Fault, w.plugin.Socket) || s.Unreadable != 0 {
		t.Errorf("the key is %+v, want a fault, and nothing unreadable", s)
	}
}

func TestALostKeyIsSaidInWordsAndMadeByNobody(t *testing.T) {
	w := newWorld(t)
	w.put("usb/key", newKey())
	w.put("credentials/secrets", newKey())
	for _, c := range []struct {
		source seal.Source
		file   string
		remedy string
	}{
		{w.beside(), "secrets.key", "put it back"},
		{w.file(), "usb/key", "mount the file system"},
		{w.credential(), "credentials/secrets", "LoadCredentialEncrypted=secrets:FILE"},
	} {
		w.disk.current, w.disk.previous = map[string][]byte{}, map[string][]byte{}
		w.commit(w.start(c.source), map[string]string{"secrets/a": "alpha"})
		if err := os.Rename(w.path(c.file), w.path("away")); err != nil {
			t.Fatal(err)
		}
		j := w.start(c.source)
		j.Look(context.Background())
		err := w.locked["secrets/a"]
		if !errors.Is(err, node.ErrUnavailable) || !strings.Contains(err.Error(), w.path(c.file)) || !strings.Contains(err.Error(), c.remedy) {
			t.Errorf("%s: got %v, want the file and %q", c.source, err, c.remedy)
		}
		if there(w.path(c.file)) {
			t.Errorf("%s: a new key was made where a record is sealed", c.source)
		}
		if err := j.Commit(store.Record{Name: "secrets/b", Data: []byte("x")}); !errors.Is(err, node.ErrUnavailable) {
			t.Errorf("%s: a Secret was taken without a key: %v", c.source, err)
		}
		if err := os.Rename(w.path("away"), w.path(c.file)); err != nil {
			t.Fatal(err)
		}
		j.Look(context.Background())
		w.want(map[string]string{"secrets/a": "alpha"})
	}
}

func TestANewKeyIsMadeOnceTheLostRecordsAreDeleted(t *testing.T) {
	w := newWorld(t)
	w.commit(w.start(w.beside()), map[string]string{"secrets/a": "alpha"})
	if err := os.Remove(w.path("secrets.key")); err != nil {
		t.Fatal(err)
	}
	j := w.start(w.beside())
	if err := j.Commit(store.Record{Name: "secrets/a"}); err != nil {
		t.Fatal(err)
	}
	j.Look(context.Background())
	w.commit(j, map[string]string{"secrets/b": "beta"})
}

func TestAKeyElsewhereIsNeverMade(t *testing.T) {
	w := newWorld(t)
	j := w.start(w.file())
	err := j.Commit(store.Record{Name: "secrets/a", Data: []byte("x")})
	if !errors.Is(err, node.ErrUnavailable) || !strings.Contains(err.Error(), w.path("usb/key")) {
		t.Errorf("got %v, want an error with the file", err)
	}
	if there(w.path("usb/key")) {
		t.Error("a key was made where a file system may not be mounted")
	}
}

func TestOnlyAFileThatOthersCannotReachIsAKey(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "key")
	write := func(size int, mode os.FileMode) func() error {
		return func() error {
			if err := os.WriteFile(at, make([]byte, size), 0o600); err != nil {
				return err
			}
			return os.Chmod(at, mode)
		}
	}
	for want, make := range map[string]func() error{
		"":                        write(keySize, 0o400),
		"holds 31, not 32 bytes":  write(keySize-1, 0o600),
		"holds more, not 32":      write(keySize+1, 0o600),
		"its mode is 0640":        write(keySize, 0o640),
		"its mode is 0602":        write(keySize, 0o602),
		"no regular file":         func() error { return os.Mkdir(at, 0o700) },
		"it is no regular file":   func() error { return syscall.Mkfifo(at, 0o600) },
		"is missing; mount":       func() error { return nil },
		"it belongs to user 4711": func() error { return errors.Join(write(keySize, 0o600)(), os.Chown(at, 4711, 0)) },
	} {
		if strings.HasPrefix(want, "it belongs") && os.Geteuid() != 0 {
			continue
		}
		if err := make(); err != nil {
			t.Fatal(err)
		}
		_, err := Check(context.Background(), Config{Source: seal.Source{Kind: seal.File, Name: at}}, true)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), at)) {
			t.Errorf("got %v, want %q and the file", err, want)
		}
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACheckSaysWhatAStartWouldFind(t *testing.T) {
	w := newWorld(t)
	config := Config{Beside: w.path("secrets.key"), Credentials: ""}
	for _, c := range []struct {
		name   string
		source seal.Source
		sealed bool
		want   error
		text   string
	}{
		{"a first start makes the key", w.beside(), false, nil, ""},
		{"a key that was lost", w.beside(), true, os.ErrNotExist, "secrets.key is missing"},
		{"a plugin", w.kms(), false, nil, ""},
		{"a plugin that is away", seal.Source{Kind: seal.KMS, Name: w.path("none")}, false, nil, w.path("none")},
		{"a credential, seen from a shell", w.credential(), false, ErrElsewhere, "systemd"},
	} {
		config.Source = c.source
		_, err := Check(context.Background(), config, c.sealed)
		if (err == nil) != (c.text == "") || c.want != nil && !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.text)
		}
	}
	if there(w.path("secrets.key")) {
		t.Error("the check has made a key")
	}
}

func TestAnOlderAgentsKeyBesideTheJournalIsTakenOver(t *testing.T) {
	w := newWorld(t)
	w.put("usb/key", newKey())
	w.start(w.file()).Look(context.Background())
	w.commit(w.start(w.beside()), map[string]string{"secrets/a": "posted to an older agent"})
	delete(w.disk.current, ledgerName)
	j := w.start(w.file())
	j.Look(context.Background())
	w.want(map[string]string{"secrets/a": "posted to an older agent"})
	if there(w.path("secrets.key")) {
		t.Error("its key is left")
	}
}

func TestANewerAgentsLedgerStaysAsItIs(t *testing.T) {
	w := newWorld(t)
	w.commit(w.start(w.beside()), map[string]string{"secrets/a": "alpha"})
	newer := []byte(`{"version":2,"sources":["beside","moon:/x"],"changing":true}`)
	w.disk.current[ledgerName] = newer
	j := w.start(w.beside())
	if err := j.Rotate(context.Background()); err == nil {
		t.Error("a change of keys has begun over that of a newer agent")
	}
	w.want(map[string]string{"secrets/a": "alpha"})
	if string(w.disk.current[ledgerName]) != string(newer) {
		t.Errorf("the ledger became %s", w.disk.current[ledgerName])
	}
}
