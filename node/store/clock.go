package store

import (
	"encoding/json"
	"fmt"
	"sync"

	"nodal/node"
)

// Clock counts the node's one revision. It survives restarts by reserving
// numbers in blocks: a restart goes on above the block, whatever was used. Its record
// is a bare number for good: no agent has ever started over anything else.
type Clock struct {
	journal Journal

	mu      sync.Mutex
	now     int64
	ceiling int64
	moved   node.Bell
}

const (
	clockRecord = "revision"
	clockBlock  = 1 << 20
)

// OpenClock continues from the journal's records.
func OpenClock(journal Journal, records []Record) (*Clock, error) {
	c := &Clock{journal: journal}
	for _, r := range records {
		if r.Name != clockRecord {
			continue
		}
		if err := json.Unmarshal(r.Data, &c.now); err != nil {
			return nil, fmt.Errorf("decode record %s: %w", r.Name, err)
		}
	}
	c.ceiling = c.now + clockBlock
	if err := c.reserve(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Clock) reserve() error {
	data, err := json.Marshal(c.ceiling)
	if err != nil {
		return fmt.Errorf("encode revision: %w", err)
	}
	if err := c.journal.CommitReserved(Record{Name: clockRecord, Data: data}); err != nil {
		return fmt.Errorf("reserve revisions: %w", err)
	}
	return nil
}

// Now returns the present revision.
func (c *Clock) Now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Next takes the next revision and wakes all waiters on Changed.
func (c *Clock) Next() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	c.moved.Ring()
	if c.ceiling-c.now < clockBlock/2 {
		c.extend()
	}
	return c.now
}

// extend reserves the next block. When the disk refuses, it is tried again
// with the next revision; half a block is left until then.
func (c *Clock) extend() {
	c.ceiling += clockBlock
	if err := c.reserve(); err != nil {
		c.ceiling -= clockBlock
	}
}

// Changed returns a channel that is closed when the revision moves.
func (c *Clock) Changed() <-chan struct{} { return c.moved.Heard() }
