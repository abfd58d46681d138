package vault

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"nodal/node/seal"
	"nodal/node/store"
)

// ledgerName is the record of the journal that holds the ledger. Agents that know no ledger leave it alone.
const ledgerName = "keys/secrets"

// ledgerVersion is that of the ledgers which this agent writes.
const ledgerVersion = 1

// ledger says which sources may have sealed records. A source is added before it seals the first record, and leaves
// when no record needs it: whatever the crash, the next agent knows where to look for keys. It holds no key.
type ledger struct {
	Version int      `json:"version"`
	Sources []string `json:"sources"` // as the setting spells them
	// Changing means that records, or the generations before them, may be sealed with a key other than the present one.
	Changing bool `json:"changing,omitempty"`

	there bool // there is a record of it
}

func readLedger(data []byte) ledger {
	l := ledger{there: true}
	if err := json.Unmarshal(data, &l); err != nil {
		// Every source that this node may have used is looked for at its usual place.
		return ledger{there: true, Sources: []string{string(seal.Beside)}, Changing: true}
	}
	return l
}

// lists reports whether a source may have sealed records.
func (l ledger) lists(s seal.Source) bool { return slices.Contains(l.Sources, s.String()) }

// with returns the ledger with a source in it.
func (l ledger) with(s seal.Source) ledger {
	if !l.lists(s) {
		l.Sources = append(slices.Clone(l.Sources), s.String())
	}
	return l
}

var errNewerLedger = errors.New("a newer agent has begun a change of keys; start that agent again to end it")

// note writes the ledger.
func (j *Journal) note(l ledger) error {
	if j.ledger.Version > ledgerVersion {
		return errNewerLedger
	}
	l.Version, l.there = ledgerVersion, true
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode the ledger of keys: %w", err)
	}
	if err := j.Disk.CommitReserved(store.Record{Name: ledgerName, Data: data}); err != nil {
		return fmt.Errorf("write the ledger of keys: %w", err)
	}
	j.ledger = l
	return nil
}
