package journal

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"nodal/node/store"
)

// transaction is the decision to take several records together. What is to be
// written is staged under its id.
type transaction struct {
	id        uint64
	entries   []entry
	abandoned bool // to be undone, not finished
}

type entry struct {
	Name string `json:"name"`
	Gone bool   `json:"gone,omitempty"`
}

// transactionName is in the place of a record's name in a transaction's file.
const transactionName = "transaction"

// pending holds the transactions that are decided but not settled, by the name
// of each record that they touch.
type pending struct {
	mu     sync.Mutex
	byName map[string]*transaction
}

// commitTogether commits all records or none.
func (j *Journal) commitTogether(records []store.Record, create creator) error {
	t := &transaction{id: j.lastID.Add(1)}
	for _, r := range records {
		t.entries = append(t.entries, entry{Name: r.Name, Gone: !isWrite(r)})
	}
	err := j.decide(t, records, create)
	t.abandoned = err != nil
	if err := j.settle(t); err != nil {
		// Decided it is, one way or the other: the caller need not know that
		// the work is not done, only the next commit to one of these records.
		j.log.Error("cannot finish a transaction of the journal", "id", t.id, "abandoned", t.abandoned, "err", err)
		j.pending.add(t)
	}
	return err
}

// decide stages the records and writes the file that is the commit point. All
// that it lists is durable before it.
func (j *Journal) decide(t *transaction, records []store.Record, create creator) error {
	for _, r := range records {
		if isWrite(r) {
			if err := j.stage(r, t.id, create); err != nil {
				return err
			}
		}
	}
	if err := j.syncRecords(t); err != nil {
		return err
	}
	list, err := json.Marshal(t.entries)
	if err != nil {
		return fmt.Errorf("encode transaction: %w", err)
	}
	file := j.transactionFile(t)
	if err := create(file+stagedSuffix, encode(transactionName, list)); err != nil {
		return err
	}
	if err := j.disk.rename(file+stagedSuffix, file); err != nil {
		return err
	}
	return j.disk.sync(j.transactions())
}

// settle finishes a transaction or undoes it. It can be repeated, after a crash
// too, until it succeeds.
func (j *Journal) settle(t *transaction) error {
	if !t.abandoned {
		if err := j.apply(t); err != nil {
			return err
		}
	}
	file := j.transactionFile(t)
	for _, path := range []string{file + stagedSuffix, file} {
		if err := unlessMissing(j.disk.remove(path)); err != nil {
			return err
		}
	}
	// Only when the list is gone for good may the records change again, or
	// may staged files go: a crash must not bring back the list without them.
	if err := j.disk.sync(j.transactions()); err != nil {
		return err
	}
	if !t.abandoned {
		return nil
	}
	for _, e := range t.entries {
		if err := unlessMissing(j.disk.remove(staged(j.file(e.Name), t.id))); err != nil {
			return err
		}
	}
	return nil
}

// apply takes the staged files and removes those that have to go.
func (j *Journal) apply(t *transaction) error {
	for _, e := range t.entries {
		if err := j.applyEntry(e, t.id); err != nil {
			return err
		}
	}
	return j.syncRecords(t)
}

func (j *Journal) applyEntry(e entry, id uint64) error {
	file := j.file(e.Name)
	if e.Gone {
		return j.unlink(file)
	}
	// A staged file that is not there was taken by an earlier attempt.
	if _, err := os.Lstat(staged(file, id)); err != nil {
		return unlessMissing(err)
	}
	return j.replace(file, staged(file, id))
}

// syncRecords syncs each directory that has a record of the transaction.
func (j *Journal) syncRecords(t *transaction) error {
	var dirs []string
	for _, e := range t.entries {
		dirs = append(dirs, filepath.Dir(j.file(e.Name)))
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		if err := unlessMissing(j.disk.sync(dir)); err != nil {
			return err
		}
	}
	return nil
}

// settlePending settles the transactions that touch one of the records, so that none of them can be repeated over the
// next commit.
func (j *Journal) settlePending(records []store.Record) error {
	j.pending.mu.Lock()
	defer j.pending.mu.Unlock()
	for _, r := range records {
		t, ok := j.pending.byName[r.Name]
		if !ok {
			continue
		}
		if err := j.settle(t); err != nil {
			return fmt.Errorf("settle transaction %d first: %w", t.id, err)
		}
		for _, e := range t.entries {
			delete(j.pending.byName, e.Name)
		}
	}
	return nil
}

func (p *pending) add(t *transaction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range t.entries {
		p.byName[e.Name] = t
	}
}

// finishTransactions settles what an earlier process left. No two of these
// share a record, so their order does not matter.
func (j *Journal) finishTransactions() error {
	files, err := os.ReadDir(j.transactions())
	if err != nil {
		return err
	}
	for _, f := range files {
		if filepath.Ext(f.Name()) != transactionSuffix {
			continue
		}
		file := filepath.Join(j.transactions(), f.Name())
		t, err := readTransaction(file)
		if err != nil {
			// It was written whole before it got this name, so it was damaged
			// later. What it listed is not known and may have been done already.
			j.found = append(j.found, j.setAside(file, err))
			continue
		}
		if err := j.finish(t); err != nil {
			return fmt.Errorf("finish transaction %s: %w", file, err)
		}
	}
	return nil
}

// finish settles a transaction at the start. On a full disk it uses the space that is kept for deletions.
func (j *Journal) finish(t *transaction) error {
	err := j.settle(t)
	if isFull(err) {
		j.ballast.release()
		err = j.settle(t)
	}
	if err == nil {
		j.log.Info("finished a transaction of the journal", "id", t.id, "records", len(t.entries))
	}
	return err
}

func readTransaction(file string) (*transaction, error) {
	id, err := strconv.ParseUint(strings.TrimSuffix(filepath.Base(file), transactionSuffix), 10, 64)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	name, list, err := decode(raw)
	if err != nil {
		return nil, err
	}
	t := &transaction{id: id}
	if name != transactionName {
		return nil, fmt.Errorf("named %q, not a transaction", name)
	}
	if err := json.Unmarshal(list, &t.entries); err != nil {
		return nil, err
	}
	for _, e := range t.entries {
		if err := checkName(e.Name); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (j *Journal) transactionFile(t *transaction) string {
	return filepath.Join(j.transactions(), strconv.FormatUint(t.id, 10)+transactionSuffix)
}
