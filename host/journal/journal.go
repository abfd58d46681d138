package journal

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"nodal/node"
	"nodal/node/store"
)

// Journal is a directory of records. It is safe for concurrent use.
type Journal struct {
	dir     string
	disk    disk
	log     *slog.Logger
	lock    *os.File
	dirs    *tree
	ballast *ballast
	spares  *spares
	names   stripes
	pending pending
	lastID  atomic.Uint64 // of staged files and transactions

	life   sync.RWMutex // held shared by commits, alone by Load and Close
	closed bool
	found  []Quarantined // by Open, for Load to report
}

var _ store.Journal = (*Journal)(nil)

// Open takes a directory, makes it if it is not there, and brings it in order:
// transactions are finished and what a crash left half-written is removed. It
// fails when another process has the directory.
func Open(dir string, logger *slog.Logger) (*Journal, error) {
	return open(dir, logger, osDisk{})
}

func open(dir string, logger *slog.Logger, d disk) (*Journal, error) {
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, fmt.Errorf("open journal %s: %w", dir, err)
	}
	lock, err := lockFile(filepath.Join(dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", dir, err)
	}
	j := &Journal{
		dir:     dir,
		disk:    d,
		log:     logger,
		lock:    lock,
		dirs:    newTree(d, dir),
		ballast: newBallast(d, filepath.Join(dir, ballastName), logger),
		names:   stripes{seed: maphash.MakeSeed()},
		pending: pending{byName: map[string]*transaction{}},
	}
	if err := j.repair(); err != nil {
		return nil, errors.Join(fmt.Errorf("open journal %s: %w", dir, err), unlockFile(lock))
	}
	return j, nil
}

// repair completes or undoes what a crash has interrupted.
func (j *Journal) repair() error {
	if err := j.disk.sync(filepath.Dir(j.dir)); err != nil {
		return err
	}
	for _, dir := range []string{j.records(), j.transactions()} {
		if err := j.dirs.make(dir); err != nil {
			return err
		}
	}
	if err := j.finishTransactions(); err != nil {
		return err
	}
	if err := j.sweep(); err != nil {
		return err
	}
	j.spares = newSpares(j.disk, j.transactions(), j.log)
	j.fill()
	return nil
}

// fill takes the space that is kept back for deletions.
func (j *Journal) fill() {
	if j.spares.fill() {
		j.ballast.fill()
	}
}

// Commit makes all records durable or none. A full disk is node.ErrNoSpace. A
// commit of nothing but deletions may use the space that is kept back.
//
// An error leaves the old records, with one exception: when the disk fails the
// very last sync, only the next start can tell, and it finds all of the new
// records or all of the old.
func (j *Journal) Commit(records ...store.Record) error {
	return j.commit(records, !slices.ContainsFunc(records, isWrite))
}

// CommitReserved is Commit with leave to use the space that is kept back for
// deletions.
func (j *Journal) CommitReserved(records ...store.Record) error {
	return j.commit(records, true)
}

func (j *Journal) commit(records []store.Record, reserved bool) error {
	if err := checkNames(records); err != nil {
		return err
	}
	j.life.RLock()
	defer j.life.RUnlock()
	if j.closed {
		return fmt.Errorf("commit to journal %s: %w", j.dir, fs.ErrClosed)
	}
	defer j.names.lock(records)()

	err := j.attempt(records, j.disk.create)
	if reserved && isFull(err) {
		if j.spares.have(len(records) + 1) { // one for the transaction
			err = j.attempt(records, j.createOverSpare)
		}
	}
	if reserved && isFull(err) {
		j.ballast.release()
		err = j.attempt(records, j.disk.create)
	}
	if isFull(err) {
		return fmt.Errorf("commit to journal %s: %w: %w", j.dir, node.ErrNoSpace, err)
	}
	if err != nil {
		return fmt.Errorf("commit to journal %s: %w", j.dir, err)
	}
	if !slices.ContainsFunc(records, isWrite) {
		j.fill()
	}
	return nil
}

// attempt commits under the locks of all records.
func (j *Journal) attempt(records []store.Record, create creator) error {
	if err := j.settlePending(records); err != nil {
		return err
	}
	switch {
	case len(records) == 0:
		return nil
	case len(records) > 1:
		return j.commitTogether(records, create)
	case isWrite(records[0]):
		return j.write(records[0], create)
	default:
		return j.erase(records[0].Name)
	}
}

// Close waits for the commits that are under way and gives the directory back.
func (j *Journal) Close() error {
	j.life.Lock()
	defer j.life.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	if err := unlockFile(j.lock); err != nil {
		return fmt.Errorf("close journal %s: %w", j.dir, err)
	}
	return nil
}

func isWrite(r store.Record) bool { return r.Data != nil }

func (j *Journal) records() string      { return filepath.Join(j.dir, recordsName) }
func (j *Journal) transactions() string { return filepath.Join(j.dir, transactionsName) }
func (j *Journal) quarantine() string   { return filepath.Join(j.dir, quarantineName) }

func (j *Journal) file(name string) string {
	return filepath.Join(j.records(), recordFile(name))
}
