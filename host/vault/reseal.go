package vault

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/seal"
	"nodal/node/store"
)

// A change of keys takes these steps. Between any two of them the agent may end; the next one begins again at the first
// that is not done, and every record opens all the time.
//
//	the ledger says that keys change, and names the sources of both
//	the new key is on the disk, or with the plugin; from now on it seals
//	all records are sealed with it, in one transaction
//	once more: the journal keeps the generation before each record, and that is sealed with the new key now, too
//	the old key is removed
//	the ledger names the present source alone
//
// renew takes the steps that are left. A record whose key is away keeps the change from ending: the keys before stay until
// that record opens, or is deleted.
func (j *Journal) renew() error {
	if j.key == nil || !j.due() {
		return nil
	}
	if err := j.begin(); err != nil {
		return err
	}
	for rounds := 2; !j.written && rounds > 0; rounds-- {
		if err := j.rewrite(); err != nil {
			return fmt.Errorf("seal Secrets with the present key: %w", err)
		}
	}
	j.written = true
	if names := j.waiting(); len(names) > 0 {
		return fmt.Errorf("the keys before the present one are still needed: %d records do not open now, such as %s", len(names), names[0])
	}
	return j.close()
}

// due reports whether a record may be sealed with another key than the present one, or an old key is left.
func (j *Journal) due() bool {
	if j.older(j.key) > 0 {
		j.written = false
		return true
	}
	left := j.present.unsettled()
	for _, p := range j.providers() {
		left = left || p != j.present && (j.ledger.lists(p.source()) || p.retirable())
	}
	return left || j.ledger.Changing
}

// begin notes that keys change.
func (j *Journal) begin() error {
	next := j.ledger.with(j.Source)
	if next.Changing && j.ledger.lists(j.Source) {
		return nil
	}
	next.Changing = true
	return j.note(next)
}

// older counts the records that open and are sealed with another key than k.
func (j *Journal) older(k *key) (n int) {
	for _, by := range j.sealed {
		if by != "" && by != k.generation() {
			n++
		}
	}
	return n
}

// waiting returns the records whose keys are away.
func (j *Journal) waiting() (names []string) {
	for _, name := range keysOf(j.locked) {
		if err := j.locked[name]; errors.Is(err, node.ErrUnavailable) || errors.Is(err, store.ErrNewer) {
			names = append(names, name)
		}
	}
	return names
}

// rewrite seals all records that open with the present key, in one transaction. It reads them from the disk: that proves
// what is there.
func (j *Journal) rewrite() error {
	records, err := j.Disk.Read(keysOf(j.sealed)...)
	if err != nil {
		return err
	}
	var sealed []store.Record
	for _, r := range records {
		data, _, err := j.open(r)
		if err != nil {
			continue // it stays as it is
		}
		sealed = append(sealed, j.key.seal(store.Record{Name: r.Name, Data: data}))
	}
	if len(sealed) == 0 {
		return nil
	}
	if err := j.Disk.Commit(sealed...); err != nil {
		return err
	}
	for _, r := range sealed {
		j.sealed[r.Name] = j.key.generation()
	}
	return nil
}

// close removes the keys before the present one, and ends the change.
func (j *Journal) close() error {
	wrong := []error{j.present.settle()}
	for _, p := range j.providers() {
		if p != j.present {
			wrong = append(wrong, p.retire())
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	former := slices.DeleteFunc(slices.Clone(j.ledger.Sources), func(s string) bool { return s == j.Source.String() })
	if err := j.note(ledger{Sources: []string{j.Source.String()}}); err != nil {
		return err
	}
	j.keys = map[generation]*key{j.key.generation(): j.key}
	message := fmt.Sprintf("all Secrets are sealed with key %s of %s; no record needs a key before it", j.key.id, j.Source)
	for _, s := range former {
		if s != string(seal.Beside) {
			message += "; remove that of " + s + " if nothing else uses it"
		}
	}
	j.report(corev1.EventTypeNormal, "SecretsKeyChanged", message)
	return nil
}

// finish renews the records as far as it can now.
func (j *Journal) finish() {
	j.mu.Lock()
	defer j.mu.Unlock()
	before := j.faults.change
	j.faults.change = j.renew()
	if now := j.faults.change; now != nil && fmt.Sprint(now) != fmt.Sprint(before) {
		j.report(corev1.EventTypeWarning, "SecretsKeyFault", now.Error())
	}
	j.tell()
}

// Rotate makes a new key in the present source, and seals all records with it.
func (j *Journal) Rotate(ctx context.Context) error {
	j.turn.Lock()
	defer j.turn.Unlock()
	j.again(ctx)
	if err := j.prepare(); err != nil {
		return err
	}
	if err := j.present.stage(ctx); err != nil {
		return fmt.Errorf("make a new key of %s: %w", j.Source, asUnavailable(err))
	}
	j.again(ctx)
	j.finish()
	j.mu.Lock()
	defer j.mu.Unlock()
	return asUnavailable(errors.Join(j.faults.present, j.faults.change))
}

// prepare notes that keys are about to change, if the present one is good.
func (j *Journal) prepare() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.faults.present; err != nil {
		return fmt.Errorf("the present key cannot be used: %w", asUnavailable(err))
	}
	if j.Source.Kind == seal.Credential {
		return j.present.stage(context.Background()) // it says how
	}
	return j.begin()
}

// asUnavailable marks an error as one that may pass.
func asUnavailable(err error) error {
	if err == nil || errors.Is(err, node.ErrUnsupported) || errors.Is(err, node.ErrNoSpace) {
		return err
	}
	return fmt.Errorf("%w: %w", node.ErrUnavailable, err)
}
