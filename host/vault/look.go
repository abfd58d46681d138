package vault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/seal"
	"nodal/node/store"
)

// The pauses between looks are those of Kubernetes' API server: its plugins may ask a service that counts calls.
const (
	healthyPause = time.Minute
	usualPause   = 10 * time.Second
)

// pause returns how long the next look may wait.
func (j *Journal) pause() time.Duration {
	if s := j.State(); s.Source.Kind == seal.KMS && s.Fault == "" && s.Older+s.Unreadable == 0 {
		return healthyPause
	}
	return usualPause
}

func sleep(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// faults holds what the last look found wrong with the sources.
type faults struct {
	present error            // the present key cannot be used to seal
	change  error            // the change to the present key goes no further
	files   []error          // of the sources with keys in files, when they were to open records
	plugins []error          // of the sources that encrypt data keys, in the same way
	sources map[string]error // both, by the names of the sources
}

// textOf returns what several errors say, in one line.
func textOf(wrong []error) string {
	var all []string
	for _, err := range wrong {
		if err != nil {
			all = append(all, strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	return strings.Join(all, "; ")
}

// text returns what is wrong, for people.
func (f faults) text() string {
	wrong := []error{f.present, f.change}
	for _, source := range keysOf(f.sources) {
		wrong = append(wrong, fmt.Errorf("%s: %w", source, f.sources[source]))
	}
	return textOf(wrong)
}

func (f faults) ofPresent() error {
	if f.present == nil {
		return errors.New("no key was read yet")
	}
	return f.present
}

// why returns the reason why a record does not open. A record that may open later is unavailable; one that no key of the
// node opens is lost.
func (j *Journal) why(e envelope, tried bool) error {
	wrong := j.faults.files
	if e.header != nil {
		wrong = j.faults.plugins
	}
	switch {
	case tried && e.header != nil:
		return fmt.Errorf("%w: it was changed since it was sealed; delete it and post it again", node.ErrLost)
	case len(wrong) > 0:
		return fmt.Errorf("its key is away: %w: %s", node.ErrUnavailable, textOf(wrong))
	case e.header != nil:
		return fmt.Errorf("a KMS plugin has sealed it, and none is known; start the agent with --secrets-key=kms:unix:///PATH once more: %w",
			node.ErrUnavailable)
	}
	return fmt.Errorf("%w: it was sealed by another key than that of %s, or changed since; put its key back as %s, or delete it and post it again",
		node.ErrLost, j.Source, j.rightPlace())
}

// rightPlace returns where the agent looks for a key before the present one.
func (j *Journal) rightPlace() string {
	switch j.Source.Kind {
	case seal.KMS:
		return j.Beside
	case seal.Credential:
		return j.Source.String() + oldSuffix
	}
	return j.present.place() + oldSuffix
}

// providers returns the present source and those that may have sealed records before.
func (j *Journal) providers() []provider {
	all := []provider{j.present}
	for _, text := range append(slices.Clone(j.ledger.Sources), string(seal.Beside)) {
		s, err := seal.Parse(text)
		known := func(p provider) bool { return p.source() == s }
		if err != nil || slices.ContainsFunc(all, known) {
			continue
		}
		all = append(all, newProvider(s, j.Config))
	}
	return all
}

// Look reads the sources of keys again, opens records that did not open before, and brings all to the present key.
func (j *Journal) Look(ctx context.Context) {
	j.turn.Lock()
	defer j.turn.Unlock()
	j.again(ctx)
	j.finish()
}

// again looks, publishes what opens now, and goes over to the present key.
func (j *Journal) again(ctx context.Context) {
	found := j.look(ctx, j.readLocked())
	if j.publisher != nil {
		for _, problem := range j.publisher.Reopen(j.reopen) {
			j.Log.Warn("a record of a Secret has opened and cannot be decoded", "err", problem)
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.adopt(found)
	j.tell()
}

// readLocked returns the records that do not open yet.
func (j *Journal) readLocked() []store.Record {
	j.mu.Lock()
	names := keysOf(j.locked)
	j.mu.Unlock()
	records, err := j.Disk.Read(names...)
	if err != nil {
		j.Log.Warn("cannot read sealed records again", "err", err)
	}
	return records
}

// reopen tries the records that do not open yet. Its second result has those whose reason is another one now.
func (j *Journal) reopen() (opened []store.Record, locked []store.Locked) {
	j.mu.Lock()
	defer j.mu.Unlock()
	before := map[string]error{}
	for name, err := range j.locked {
		before[name] = err
	}
	records, err := j.Disk.Read(keysOf(j.locked)...)
	if err != nil {
		return nil, nil // the look has logged it
	}
	opened, locked = j.openAll(records)
	return opened, slices.DeleteFunc(locked, func(l store.Locked) bool { return l.Err.Error() == before[l.Name].Error() })
}

// look reads the sources of keys, and returns the key that is to seal, or nil. records are sealed ones whose data keys may
// not be known yet.
func (j *Journal) look(ctx context.Context, records []store.Record) *key {
	var found []*key
	f := faults{sources: map[string]error{}}
	for _, p := range j.providers() {
		keys, err := p.opening(ctx, j.unknown(records))
		found = append(found, keys...)
		if err == nil || p != j.present && !j.ledger.lists(p.source()) {
			continue // a file beside the journal that has sealed nothing need not be there
		}
		f.sources[p.source().String()] = err
		if p.wraps() {
			f.plugins = append(f.plugins, err)
		} else {
			f.files = append(f.files, err)
		}
	}
	fresh := j.ledger.Changing && !j.written
	var present *key
	present, f.present = j.present.sealing(ctx, wish{mayMake: j.neverSealed(), fresh: fresh})
	j.take(found, f)
	return present
}

// unknown returns the headers of records whose data keys are not known yet.
func (j *Journal) unknown(records []store.Record) (headers [][]byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	seen := map[generation]bool{}
	for _, r := range records {
		e, err := parse(r)
		if err != nil || e.header == nil {
			continue
		}
		if g := generationOf(e.header); !seen[g] && j.keys[g] == nil {
			seen[g] = true
			headers = append(headers, e.header)
		}
	}
	return headers
}

// neverSealed reports whether no record can be sealed with a key of the present source, so that a missing key is not lost.
func (j *Journal) neverSealed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.sealed) == 0 || !j.ledger.lists(j.Source)
}

// take keeps what a look has found.
func (j *Journal) take(found []*key, f faults) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f.change = j.faults.change
	if f.present != nil && fmt.Sprint(f.present) != fmt.Sprint(j.faults.present) {
		j.report(corev1.EventTypeWarning, "SecretsKeyFault", fmt.Sprintf("the key of Secrets (%s) cannot be used: %v", j.Source, f.present))
	}
	for _, k := range found {
		j.keys[k.generation()] = k
	}
	j.faults = f
}

// adopt goes over to a key. It seals only after the ledger says so.
func (j *Journal) adopt(k *key) {
	if k == nil || j.key != nil && j.key.generation() == k.generation() {
		return
	}
	if err := j.announce(k); err != nil {
		j.faults.present = err
		return
	}
	j.key, j.written = k, false
	j.keys[k.generation()] = k
}

// announce writes into the ledger that a key of the present source is about to seal. Before an agent has ever sealed,
// the ledger that it has without a record will do.
func (j *Journal) announce(k *key) error {
	next := j.ledger
	next.Changing = next.Changing || j.older(k) > 0 || len(j.waiting()) > 0
	switch {
	case next.Changing == j.ledger.Changing && j.ledger.lists(j.Source):
		return nil
	case !next.Changing && !j.ledger.there && j.Source.Kind == seal.Beside:
		return nil
	}
	return j.note(next.with(j.Source))
}

// report sends an event, and logs it.
func (j *Journal) report(kind, reason, message string) {
	warning := kind == corev1.EventTypeWarning
	if warning {
		j.Log.Warn(message)
	} else {
		j.Log.Info(message)
	}
	j.Report(node.Event{Time: time.Now(), Warning: warning, Reason: reason, Message: message})
}

// reportStart reports the records that do not open at the start. Those whose key is away have one event together: a node may
// have thousands of them.
func (j *Journal) reportStart(locked []store.Locked) {
	var away []error
	for _, l := range locked {
		switch {
		case errors.Is(l.Err, store.ErrNewer):
			j.report(corev1.EventTypeWarning, "RecordOfNewerAgent", l.Err.Error())
		case errors.Is(l.Err, node.ErrUnavailable):
			away = append(away, l.Err)
		default:
			j.report(corev1.EventTypeWarning, "RecordDamaged", l.Err.Error())
		}
	}
	if len(away) > 0 {
		j.report(corev1.EventTypeWarning, "SecretsLocked", fmt.Sprintf("%d Secrets cannot be read now; the first: %v", len(away), away[0]))
	}
}
