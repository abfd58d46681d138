package fleet

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	grpcstatus "google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/wait"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cluster/retry"
)

// The pace of a node's words. A fleet that rests keeps its leases alive, which etcd does not write down, and writes each
// record once in an hour.
const (
	presence = 90 * time.Second // after this time a silent node is not present any more
	pulse    = presence / 3     // between two signs of life
	settle   = 2 * time.Second  // between a change and its record: most changes come with others
	least    = 5 * time.Second  // between two records
	most     = time.Hour        // between two records that say the same
)

// voice writes the record of one node, and holds the lease that shows that the node is present.
type voice struct {
	store   *store
	base    string // of the node's keys
	lease   int64  // zero before the first
	pulseAt time.Time
	said    Record // in etcd
	saidAt  time.Time
	againAt time.Time
}

// The keys of one node below the prefix of all records.
const (
	keyRecord  = "record"
	keyPresent = "present"
)

func newVoice(s *store, config Config) *voice {
	return &voice{store: s, base: strings.TrimSuffix(config.Members, "/") + "/" + config.Node + "/"}
}

// speakSoon begins to speak when both sides have been read. It waits a moment only for a node that does not answer: the
// record has to say so.
func (f *fleet) speakSoon(ctx context.Context, v *voice, wanted, ready <-chan struct{}) {
	select {
	case <-ctx.Done():
		return
	case <-wanted:
	}
	select {
	case <-ctx.Done():
		return
	case <-ready:
		sleep(ctx, settle) // what an earlier process has posted is found unchanged
	case <-time.After(patience):
		f.feel(health{fault: "the node does not answer"})
	}
	f.speak(ctx, v)
}

// speak keeps the node's record up to date until the context ends. Its failures do not keep pods from running, so a
// fault is logged once.
func (f *fleet) speak(ctx context.Context, v *voice) {
	logged, pause := "", settle
	for {
		heard := f.bell.Heard()
		err := v.say(ctx, f.record(), time.Now())
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if fault := grpcstatus.Convert(err).Message(); fault != logged {
				f.log.Warn("cannot write the node's record yet", "err", err)
				logged = fault
			}
			sleep(ctx, wait.Jitter(pause, 0.2))
			pause = min(2*pause, retry.Most)
			continue
		}
		logged, pause = "", settle
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(v.pulseAt)):
		case <-heard:
			sleep(ctx, max(settle, least-time.Since(v.saidAt)))
		}
	}
}

// sleep waits for so long, or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// record returns the record of the node as it is now.
func (f *fleet) record() Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []standing
	for key, e := range f.entries {
		all = append(all, standing{key: key, since: e.since, view: f.sides(key, e)})
	}
	return tally(f.given, all, f.health)
}

// say shows that the node is present, if it is time for that, and writes a record that differs from the last.
func (v *voice) say(ctx context.Context, r Record, now time.Time) error {
	if !now.Before(v.pulseAt) {
		alive, err := false, error(nil)
		if v.lease != 0 {
			alive, err = v.store.keep(ctx, v.lease)
		}
		if err == nil && !alive {
			v.saidAt = time.Time{} // the key that shows the node has gone with its lease
			v.lease, err = v.store.grant(ctx, presence)
		}
		if err != nil {
			return err
		}
		v.pulseAt = now.Add(wait.Jitter(pulse*9/10, 0.2))
	}
	if !v.saidAt.IsZero() && r.sameAs(v.said) && now.Before(v.againAt) {
		return nil
	}
	r.Written = now.UTC().Truncate(time.Second)
	text, err := json.Marshal(r)
	if err == nil {
		err = v.store.putBoth(ctx, v.base+keyRecord, string(text), v.base+keyPresent, v.lease)
	}
	if err != nil {
		v.pulseAt = now // the lease may have ended
		return err
	}
	v.said, v.saidAt, v.againAt = r, now, now.Add(wait.Jitter(most*9/10, 0.2))
	return nil
}

// followHealth keeps the health of the node up to date. It watches again after a lost connection.
func (f *fleet) followHealth(ctx context.Context, node nodev1.NodeServiceClient) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		stream, err := node.WatchNode(ctx, &nodev1.WatchNodeRequest{})
		for err == nil {
			var m *nodev1.WatchNodeResponse
			if m, err = stream.Recv(); err == nil {
				f.feel(healthOf(m.GetNode()))
			}
		}
		f.feel(health{fault: said("the node does not answer", grpcstatus.Convert(err).Message())})
	}, time.Second)
}

// feel stores the health of the node. The version of a node that does not answer stays.
func (f *fleet) feel(h health) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h.version == "" {
		h.version = f.health.version
	}
	if h != f.health {
		f.health = h
		f.bell.Ring()
	}
}
