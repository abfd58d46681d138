package main

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"nodal/agent/config"
	"nodal/host/journal"
	"nodal/host/vault"
	"nodal/node"
	"nodal/node/store"
)

// state is what the node remembers, restored from its journal.
type state struct {
	journal *journal.Journal
	store   *store.Store
	events  *store.Events
}

// openState restores what was accepted before. A damaged record costs its own
// pod and is told, never the start.
func openState(dirs config.Dirs, log *slog.Logger) (*state, error) {
	j, err := journal.Open(dirs.Journal(), log)
	if err != nil {
		return nil, err
	}
	sealed, err := vault.New(j, store.SecretRecords, dirs.SecretsKey())
	if err != nil {
		return nil, closing(j, err)
	}
	records, damaged, err := j.Load()
	if err != nil {
		return nil, closing(j, err)
	}
	clock, err := store.OpenClock(j, records)
	if err != nil {
		return nil, closing(j, err)
	}
	s := &state{journal: j, store: store.New(sealed, clock), events: store.NewEvents(clock)}
	for _, q := range damaged {
		s.tell(log, "RecordDamaged", fmt.Sprintf("record %s was damaged (%s) and set aside as %s; previous generation used: %t", q.Name, q.Reason, q.File, q.Recovered))
	}
	records, unopened := sealed.Open(records)
	for _, problem := range append(unopened, s.store.Restore(records)...) {
		reason := "RecordDamaged"
		if errors.Is(problem, store.ErrNewer) {
			reason = "RecordOfNewerAgent"
		}
		s.tell(log, reason, problem.Error())
	}
	for _, kept := range s.store.Surplus() {
		log.Info("a newer agent has recorded what this one does not know and keeps", "what", kept)
	}
	return s, nil
}

func (s *state) tell(log *slog.Logger, reason, message string) {
	log.Warn(message)
	s.events.Add(node.Event{Time: time.Now(), Warning: true, Reason: reason, Message: message})
}

func closing(j *journal.Journal, err error) error {
	if closeErr := j.Close(); closeErr != nil {
		return fmt.Errorf("%w (and then: %w)", err, closeErr)
	}
	return err
}
