package state

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/agent/config"
	"nodal/host/journal"
	"nodal/host/vault"
	"nodal/node"
	"nodal/node/seal"
	"nodal/node/store"
)

// State holds the node's store, restored from the journal, and its events.
type State struct {
	Store   *store.Store
	Events  *store.Events
	Secrets *vault.Journal // seals Secrets on their way to the disk

	journal *journal.Journal
	kept    keptEvents
	log     *slog.Logger
}

// Open restores the store from the journal. A damaged record costs its own pod alone, and is reported by an event. So is a
// Secret whose key is away.
func Open(ctx context.Context, dirs config.Dirs, key seal.Source, log *slog.Logger) (*State, error) {
	j, err := journal.Open(dirs.Journal(), log)
	if err != nil {
		return nil, err
	}
	records, damaged, err := j.Load()
	if err != nil {
		return nil, closing(j, err)
	}
	clock, err := store.OpenClock(j, records)
	if err != nil {
		return nil, closing(j, err)
	}
	s := &State{Events: store.NewEvents(clock), journal: j, log: log}
	s.kept.load(dirs.Events(), s.Events, log)
	sealing := Sealing(dirs, key)
	sealing.Disk, sealing.Report, sealing.Log = j, s.Events.Add, log
	s.Secrets = vault.New(sealing)
	s.Store = store.New(s.Secrets, clock)
	for _, q := range damaged {
		s.warn("RecordDamaged", fmt.Sprintf(
			"record %s was damaged (%s) and set aside as %s; previous generation used: %t",
			q.Name, q.Reason, q.File, q.Recovered))
	}
	records, locked := s.Secrets.Open(ctx, records)
	for _, problem := range append(s.Store.Lock(locked), s.Store.Restore(records)...) {
		reason := "RecordDamaged"
		if errors.Is(problem, store.ErrNewer) {
			reason = "RecordOfNewerAgent"
		}
		s.warn(reason, problem.Error())
	}
	for _, kept := range s.Store.Surplus() {
		log.Info("the journal has records of a newer version; they are kept, but have no effect", "what", kept)
	}
	return s, nil
}

// Sealing returns where the key of a node lives.
func Sealing(dirs config.Dirs, key seal.Source) vault.Config {
	return vault.Config{
		Prefix: store.SecretRecords, Source: key, Beside: dirs.SecretsKey(), Credentials: os.Getenv("CREDENTIALS_DIRECTORY"),
	}
}

// KeepSealed looks after the key of Secrets until the context ends.
func (s *State) KeepSealed(ctx context.Context) { s.Secrets.Run(ctx, s.Store) }

// warn logs a fault in a record and sends an event.
func (s *State) warn(reason, message string) {
	s.log.Warn(message)
	s.Events.Add(node.Event{Time: time.Now(), Warning: true, Reason: reason, Message: message})
}

// ClearWay releases pods that wait for the end of others, whose records may have been lost. A resize goes on waiting
// until the running containers are known: it may have to restart some.
func (s *State) ClearWay() {
	if _, err := s.Store.Transact(func(tx *store.Tx) error {
		tx.ClearWay()
		return nil
	}); err != nil {
		s.log.Warn("cannot release pods that wait for resources", "err", err)
	}
}

// Adopt calls mark with the UID of each pod. It marks the pod's directory as this node's, for the case that the record is
// lost later.
func (s *State) Adopt(mark func(types.UID) error) {
	views, _ := s.Store.Views()
	for _, v := range views {
		if err := mark(v.Slot.Pod.UID()); err != nil {
			s.log.Warn("cannot mark the directory of a pod as this node's", "pod", v.Key, "err", err)
		}
	}
}

// Running returns the pods that run or are about to.
func (s *State) Running() []*corev1.Pod {
	views, _ := s.Store.Views()
	var pods []*corev1.Pod
	for _, v := range views {
		if v.Slot.Result == nil {
			pods = append(pods, v.Slot.Pod.Object)
		}
	}
	return pods
}

// Close keeps the last events, and closes the journal.
func (s *State) Close() error {
	s.kept.close()
	return s.journal.Close()
}

// closing closes the journal after a failure.
func closing(j *journal.Journal, err error) error {
	if closeErr := j.Close(); closeErr != nil {
		return fmt.Errorf("%w (and then: %w)", err, closeErr)
	}
	return err
}
