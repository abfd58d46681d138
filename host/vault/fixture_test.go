package vault

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"nodal/node/seal"
	"nodal/node/store"
	"nodal/test/kms"
)

var errStopped = errors.New("the process has ended")

// steps counts the changes that are made to the disk. After so many of them the process has ended.
type steps struct {
	left    int
	stopped bool
}

func (s *steps) take() error {
	if s.left == 0 {
		s.stopped = true
		return errStopped
	}
	s.left--
	return nil
}

const endless = -1

// disk is a journal in memory that keeps the generation before each record, as the real one does.
type disk struct {
	steps             *steps
	current, previous map[string][]byte
	full              error // what commits of more than one record fail with
}

var _ Disk = (*disk)(nil)

func (d *disk) Commit(records ...store.Record) error {
	if err := d.steps.take(); err != nil {
		return err
	}
	if d.full != nil && len(records) > 1 {
		return d.full
	}
	for _, r := range records {
		if old, ok := d.current[r.Name]; ok {
			d.previous[r.Name] = old
		}
		if d.current[r.Name] = r.Data; r.Data == nil {
			delete(d.current, r.Name)
			delete(d.previous, r.Name)
		}
	}
	return nil
}

func (d *disk) CommitReserved(records ...store.Record) error { return d.Commit(records...) }

func (d *disk) Read(names ...string) (found []store.Record, err error) {
	for _, name := range names {
		if data, ok := d.current[name]; ok {
			found = append(found, store.Record{Name: name, Data: data})
		}
	}
	return found, nil
}

// all returns all records, as a start finds them.
func (d *disk) all() (records []store.Record) {
	for _, name := range keysOf(d.current) {
		records = append(records, store.Record{Name: name, Data: d.current[name]})
	}
	return records
}

// stoppable makes changes to files until the process has ended.
type stoppable struct{ steps *steps }

func (s stoppable) write(path string, content []byte) error {
	if err := s.steps.take(); err != nil {
		return err
	}
	return osFiles{}.write(path, content)
}

func (s stoppable) rename(from, to string) error {
	if !there(from) {
		return fs.ErrNotExist // no change of the disk
	}
	if err := s.steps.take(); err != nil {
		return err
	}
	return osFiles{}.rename(from, to)
}

func (s stoppable) remove(path string) error {
	if !there(path) {
		return fs.ErrNotExist
	}
	if err := s.steps.take(); err != nil {
		return err
	}
	return osFiles{}.remove(path)
}

// world is the disk of a node, the places of its keys, and a KMS plugin.
type world struct {
	*testing.T
	dir    string
	disk   *disk
	steps  *steps
	plugin *kms.Plugin
	known  map[string]string // what the publisher was given
	locked map[string]error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s := &steps{left: endless}
	dir, err := os.MkdirTemp("", "vault") // short: the address of a socket has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &world{T: t, dir: dir, steps: s, disk: &disk{steps: s, current: map[string][]byte{}, previous: map[string][]byte{}}}
	w.plugin = kms.New(filepath.Join(w.dir, "kms.sock"), "seed", "one")
	if err := w.plugin.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.plugin.Stop)
	for _, dir := range []string{"usb", "credentials"} {
		if err := os.Mkdir(filepath.Join(w.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) beside() seal.Source { return seal.Source{Kind: seal.Beside} }
func (w *world) file() seal.Source   { return seal.Source{Kind: seal.File, Name: w.path("usb/key")} }
func (w *world) kms() seal.Source    { return seal.Source{Kind: seal.KMS, Name: w.plugin.Socket} }
func (w *world) credential() seal.Source {
	return seal.Source{Kind: seal.Credential, Name: "secrets"}
}

// put writes a key file and returns the key.
func (w *world) put(name string, raw []byte) []byte {
	w.Helper()
	if err := os.WriteFile(w.path(name), raw, 0o600); err != nil {
		w.Fatal(err)
	}
	return raw
}

func (w *world) read(name string) []byte {
	w.Helper()
	raw, err := os.ReadFile(w.path(name))
	if err != nil {
		w.Fatal(err)
	}
	return raw
}

// start opens the journal as an agent does that starts. A process that has ended opens nothing more.
func (w *world) start(source seal.Source) *Journal {
	w.Helper()
	j := New(Config{
		Disk: w.disk, Prefix: "secrets/", Source: source, Beside: w.path("secrets.key"), Credentials: w.path("credentials"),
		Log: slog.New(slog.DiscardHandler), files: stoppable{w.steps},
	})
	j.publisher = w
	opened, locked := j.Open(context.Background(), w.disk.all())
	w.known, w.locked = map[string]string{}, map[string]error{}
	w.publish(opened, locked)
	return j
}

func (w *world) publish(opened []store.Record, locked []store.Locked) {
	for _, r := range opened {
		w.known[r.Name] = string(r.Data)
		delete(w.locked, r.Name)
	}
	for _, l := range locked {
		w.locked[l.Name] = l.Err
	}
}

// Reopen keeps what opens later.
func (w *world) Reopen(read func() ([]store.Record, []store.Locked)) []error {
	w.publish(read())
	return nil
}

// commit writes Secrets that a test reads again.
func (w *world) commit(j *Journal, secrets map[string]string) {
	w.Helper()
	for name, text := range secrets {
		if err := j.Commit(store.Record{Name: name, Data: []byte(text)}); err != nil {
			w.Fatalf("commit %s: %v", name, err)
		}
	}
}

// want expects an agent to know these Secrets and no others, and nothing that does not open.
func (w *world) want(secrets map[string]string) {
	w.Helper()
	if !maps.Equal(w.known, secrets) || len(w.locked) > 0 {
		w.Errorf("known are %q, locked %v; want %q", w.known, w.locked, secrets)
	}
}

// opens returns the records, and the generations before them, that one key opens.
func (w *world) opens(k *key) (names []string) {
	for suffix, records := range map[string]map[string][]byte{"": w.disk.current, " before": w.disk.previous} {
		for name, data := range records {
			e, err := parse(store.Record{Name: name, Data: data})
			if err != nil || (e.header == nil) != (k.header == nil) {
				continue
			}
			if _, err := k.open(e); err == nil {
				names = append(names, name+suffix)
			}
		}
	}
	return names
}

func keyOf(t *testing.T, raw []byte) *key {
	t.Helper()
	k, err := fileKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
