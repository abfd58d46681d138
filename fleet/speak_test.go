package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
)

// spoken stands for an etcd that counts what a node's words cost it.
type spoken struct {
	etcdserverpb.KVClient
	etcdserverpb.LeaseClient
	etcdserverpb.Lease_LeaseKeepAliveClient
	mu             sync.Mutex
	away           bool
	writes, pulses int
	grants, ends   int64
	last           Record
}

var errAway = errors.New("away")

func (s *spoken) Txn(_ context.Context, r *etcdserverpb.TxnRequest, _ ...grpc.CallOption) (*etcdserverpb.TxnResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, errAway
	}
	record, present := r.Success[0].GetRequestPut(), r.Success[1].GetRequestPut()
	if string(record.Key) != "/members/a/record" || string(present.Key) != "/members/a/present" || present.Lease != s.grants {
		return nil, errors.New("these are other keys, or the lease of before")
	}
	s.writes++
	return &etcdserverpb.TxnResponse{}, json.Unmarshal(record.Value, &s.last)
}

func (s *spoken) LeaseGrant(context.Context, *etcdserverpb.LeaseGrantRequest, ...grpc.CallOption) (*etcdserverpb.LeaseGrantResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, errAway
	}
	s.grants++
	return &etcdserverpb.LeaseGrantResponse{ID: s.grants}, nil
}

func (s *spoken) LeaseKeepAlive(context.Context, ...grpc.CallOption) (etcdserverpb.Lease_LeaseKeepAliveClient, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, errAway
	}
	s.pulses++
	return s, nil
}

func (s *spoken) Send(*etcdserverpb.LeaseKeepAliveRequest) error { return nil }

func (s *spoken) Recv() (*etcdserverpb.LeaseKeepAliveResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ends == s.grants {
		return &etcdserverpb.LeaseKeepAliveResponse{}, nil
	}
	return &etcdserverpb.LeaseKeepAliveResponse{TTL: 90}, nil
}

// with lets a test look at etcd, or change it, between two calls of the fleet.
func (s *spoken) with(do func()) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// speaking runs a fleet that speaks to an etcd.
func speaking(t *testing.T, do func(*fleet, *spoken)) {
	synctest.Test(t, func(t *testing.T) {
		etcd := &spoken{}
		ctx, cancel := context.WithCancel(t.Context())
		f := &fleet{log: slog.New(slog.DiscardHandler), entries: map[string]*entry{}, local: map[types.NamespacedName]local{}}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			f.speak(ctx, newVoice(&store{kv: etcd, lease: etcd}, Config{Members: "/members/", Node: "a"}))
		}()
		synctest.Wait()
		do(f, etcd)
		cancel()
		<-ended
	})
}

func TestANodeAtRestWritesNextToNothing(t *testing.T) {
	speaking(t, func(f *fleet, etcd *spoken) {
		time.Sleep(24 * time.Hour)
		etcd.with(func() {
			if etcd.writes < 20 || etcd.writes > 30 || etcd.grants != 1 {
				t.Errorf("in a day it wrote %d records and got %d leases, want about 24 and 1", etcd.writes, etcd.grants)
			}
			if perHour := etcd.pulses / 24; perHour < 100 || perHour > 150 {
				t.Errorf("it showed that it is there %d times an hour, want about 130", perHour)
			}
		})
	})
}

func TestManyChangesAreFewRecords(t *testing.T) {
	speaking(t, func(f *fleet, etcd *spoken) {
		before := 0
		etcd.with(func() { before = etcd.writes })
		for i := range int64(600) {
			f.mu.Lock()
			f.given = i + 1
			f.mu.Unlock()
			f.bell.Ring()
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		etcd.with(func() {
			if got := etcd.writes - before; got < 2 || got > 14 || etcd.last.Given != 600 {
				t.Errorf("a minute of changes made %d records, the last of revision %d", got, etcd.last.Given)
			}
		})
	})
}

func TestANodeComesBackWithAnotherLease(t *testing.T) {
	speaking(t, func(f *fleet, etcd *spoken) {
		etcd.with(func() { etcd.ends = 1 })
		time.Sleep(time.Minute)
		etcd.with(func() {
			if etcd.grants != 2 || etcd.writes != 2 {
				t.Errorf("after its lease has ended it has got %d leases and written %d records, want 2 and 2", etcd.grants, etcd.writes)
			}
			etcd.away = true
		})
		f.feel(health{fault: "ill"})
		time.Sleep(time.Hour)
		etcd.with(func() { etcd.away, etcd.ends = false, 2 })
		time.Sleep(time.Minute)
		etcd.with(func() {
			if !strings.Contains(etcd.last.Fault, "ill") || etcd.grants != 3 {
				t.Errorf("a minute after etcd is back it has %+v and %d leases were got", etcd.last, etcd.grants)
			}
		})
	})
}
