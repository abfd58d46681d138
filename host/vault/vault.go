package vault

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"nodal/node"
	"nodal/node/seal"
	"nodal/node/store"
)

// Config holds what a Journal needs.
type Config struct {
	Disk        Disk
	Prefix      string // of the names of the records that are sealed
	Source      seal.Source
	Beside      string           // the file of the key beside the journal
	Credentials string           // the directory in which systemd hands over credentials; empty without one
	Report      func(node.Event) // nil reports nothing
	Log         *slog.Logger

	files files // nil means the machine's
}

// Disk is a journal whose records can be read one by one.
type Disk interface {
	store.Journal
	// Read returns the records of these names, without those that are gone.
	Read(names ...string) ([]store.Record, error)
}

// Publisher takes records that open, or no longer do, after the start. No record is committed while read runs.
type Publisher interface {
	Reopen(read func() (opened []store.Record, locked []store.Locked)) []error
}

// Journal seals records on their way into another journal.
type Journal struct {
	Config
	bell  node.Bell
	shown atomic.Pointer[seal.State]

	turn      sync.Mutex // one look or change of keys at a time; guards the next four
	present   provider
	ledger    ledger
	written   bool // all records were written twice since the present key came
	publisher Publisher

	mu     sync.Mutex // guards what follows; held while sealed records are written
	key    *key       // nil until the source has given one
	keys   map[generation]*key
	sealed map[string]generation // by the names of the records; empty for one that does not open
	locked map[string]error      // why records do not open, by their names
	faults faults
}

var _ store.Journal = (*Journal)(nil)

// New makes a Journal that seals the records whose names begin with the prefix. It reads no key yet: Open does.
func New(c Config) *Journal {
	if c.files == nil {
		c.files = osFiles{}
	}
	if c.Report == nil {
		c.Report = func(node.Event) {}
	}
	return &Journal{
		Config: c, present: newProvider(c.Source, c),
		keys: map[generation]*key{}, sealed: map[string]generation{}, locked: map[string]error{},
	}
}

// Commit seals the records that need it, and commits all.
func (j *Journal) Commit(records ...store.Record) error {
	return j.commit(j.Disk.Commit, records)
}

// CommitReserved is Commit with leave to use the reserved space.
func (j *Journal) CommitReserved(records ...store.Record) error {
	return j.commit(j.Disk.CommitReserved, records)
}

func (j *Journal) commit(write func(...store.Record) error, records []store.Record) error {
	if !slices.ContainsFunc(records, func(r store.Record) bool { return j.covers(r.Name) }) {
		return write(records...)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	sealed, err := j.seal(records)
	if err != nil {
		return err
	}
	if err := write(sealed...); err != nil {
		return err
	}
	for _, r := range records {
		switch {
		case !j.covers(r.Name):
		case r.Data == nil:
			j.forget(r.Name)
		default:
			j.sealed[r.Name] = j.key.generation()
			delete(j.locked, r.Name)
		}
	}
	j.tell()
	return nil
}

func (j *Journal) forget(name string) {
	delete(j.sealed, name)
	delete(j.locked, name)
}

func (j *Journal) covers(name string) bool { return strings.HasPrefix(name, j.Prefix) }

// seal returns the records as they go to the disk.
func (j *Journal) seal(records []store.Record) ([]store.Record, error) {
	sealed := slices.Clone(records)
	for i, r := range sealed {
		if r.Data == nil || !j.covers(r.Name) {
			continue
		}
		if j.key == nil {
			return nil, fmt.Errorf("seal record %s: %w: %w", r.Name, node.ErrUnavailable, j.faults.ofPresent())
		}
		sealed[i] = j.key.seal(r)
	}
	return sealed, nil
}

// Open reads the keys, and returns the records as they were committed. Those that do not open now are returned apart,
// with the reason. It is called once, with all records of the journal.
func (j *Journal) Open(ctx context.Context, records []store.Record) (opened []store.Record, locked []store.Locked) {
	j.turn.Lock()
	defer j.turn.Unlock()
	var sealed []store.Record
	for _, r := range records {
		switch {
		case r.Name == ledgerName:
			j.ledger = readLedger(r.Data)
		case j.covers(r.Name):
			sealed = append(sealed, r)
			j.sealed[r.Name] = ""
		default:
			opened = append(opened, r)
		}
	}
	if !j.ledger.there && len(sealed) > 0 {
		j.ledger.Sources = []string{string(seal.Beside)} // an agent that knew no other has sealed them
	}
	found := j.look(ctx, sealed)
	j.mu.Lock()
	defer j.mu.Unlock()
	secrets, locked := j.openAll(sealed)
	j.adopt(found)
	j.tell()
	j.reportStart(locked)
	return append(opened, secrets...), locked
}

// openAll opens records, and notes which key has sealed each.
func (j *Journal) openAll(records []store.Record) (opened []store.Record, locked []store.Locked) {
	for _, r := range records {
		data, by, err := j.open(r)
		if err != nil {
			err = fmt.Errorf("open record %s: %w", r.Name, err)
			j.sealed[r.Name], j.locked[r.Name] = "", err
			locked = append(locked, store.Locked{Name: r.Name, Err: err})
			continue
		}
		delete(j.locked, r.Name)
		j.sealed[r.Name] = by.generation()
		opened = append(opened, store.Record{Name: r.Name, Data: data})
	}
	return opened, locked
}

// open returns the data of a sealed record and the key that opened it.
func (j *Journal) open(r store.Record) ([]byte, *key, error) {
	e, err := parse(r)
	if errors.Is(err, errShort) {
		return nil, nil, fmt.Errorf("%w: %w; delete it and post it again", node.ErrLost, err)
	}
	if err != nil {
		return nil, nil, err
	}
	tried := false
	for _, k := range j.keys {
		if e.header == nil && k.header == nil || e.header != nil && k.generation() == generationOf(e.header) {
			tried = true
			if data, err := k.open(e); err == nil {
				return data, k, nil
			}
		}
	}
	return nil, nil, j.why(e, tried)
}

// Run looks at the keys from time to time until the context ends. The publisher takes records that open later.
func (j *Journal) Run(ctx context.Context, p Publisher) {
	j.turn.Lock()
	j.publisher = p
	j.turn.Unlock()
	for {
		j.Look(ctx)
		if !sleep(ctx, j.pause()) {
			return
		}
	}
}
