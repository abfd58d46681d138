package fleet

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"k8s.io/client-go/transport"
)

// Standing names how a node of a fleet fares, in one word.
type Standing string

// The words, the worst first.
const (
	Missing Standing = "missing" // asked for by name, and not in the fleet
	Silent  Standing = "silent"  // not present
	Failing Standing = "failing"
	Busy    Standing = "busy" // on the way to what etcd says
	Well    Standing = "well"
)

// Standings lists the words, the worst first.
var Standings = []Standing{Missing, Silent, Failing, Busy, Well}

// Member is one node of a fleet.
type Member struct {
	Name     string    `json:"name"`
	Standing Standing  `json:"standing"`
	LastWord time.Time `json:"lastWord"` // of a silent node: of its record, which may be an hour older than its last sign of life
	Record
}

// judge returns how a node is.
func judge(present bool, r Record) Standing {
	switch {
	case !present:
		return Silent
	case r.Failing > 0 || r.Fault != "":
		return Failing
	case r.Applied < r.Given || r.Ready+r.Done < r.Wanted:
		return Busy
	}
	return Well
}

// Ask reads the records of a fleet's nodes, the worst first.
func Ask(ctx context.Context, config Config) ([]Member, error) {
	s, err := dial(config.Servers, config.Members, config.TLS)
	if err != nil {
		return nil, err
	}
	defer s.conn.Close()
	found, _, err := s.list(ctx, s.prefix+"/")
	if err != nil {
		return nil, err
	}
	signs, err := s.signs(ctx, found)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var members []Member
	for key, value := range found {
		name, ok := strings.CutSuffix(key, "/"+keyRecord)
		if !ok || strings.Contains(name, "/") {
			continue
		}
		m := Member{Name: name, Record: readRecord(value.text)}
		m.LastWord = m.Written
		silence, present := signs[name]
		if present && silence >= 0 {
			m.LastWord = now.Add(-silence).UTC().Truncate(time.Second)
		}
		m.Standing = judge(present, m.Record)
		members = append(members, m)
	}
	slices.SortFunc(members, func(a, b Member) int {
		return cmp.Or(slices.Index(Standings, a.Standing)-slices.Index(Standings, b.Standing), strings.Compare(a.Name, b.Name))
	})
	return members, nil
}

// maxRecord bounds a record that is read. A node writes less.
const maxRecord = 4 << 10

// readRecord reads a record. Each node writes its own, so the reader trusts none of them.
func readRecord(text string) Record {
	var r Record
	if len(text) > maxRecord {
		return Record{Fault: fmt.Sprintf("its record has %d bytes, more than a node writes", len(text))}
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return Record{Fault: line("its record cannot be read: "+err.Error(), maxFault)}
	}
	r.Version, r.Fault = line(r.Version, maxVersion), line(r.Fault, maxFault)
	return r
}

// atOnce is the number of leases that are read at the same time.
const atOnce = 16

// unknown is the silence of a node whose lease the caller may not read, because the node has other keys on it.
const unknown = time.Duration(-1)

// signs returns how long ago each present node has shown that it is.
func (s *store) signs(ctx context.Context, found map[string]written) (map[string]time.Duration, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var failed error
	signs := map[string]time.Duration{}
	var readers sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for key, value := range found {
		name, ok := strings.CutSuffix(key, "/"+keyPresent)
		if !ok || value.lease == 0 {
			continue
		}
		free <- struct{}{}
		readers.Go(func() {
			silence, present, err := s.silent(ctx, value.lease)
			if grpcstatus.Code(err) == codes.PermissionDenied {
				silence, present, err = unknown, true, nil
			}
			mu.Lock()
			defer mu.Unlock()
			if present {
				signs[name] = silence
			}
			if failed = cmp.Or(failed, err); failed != nil {
				stop()
			}
			<-free
		})
	}
	readers.Wait()
	return signs, failed
}

// TLS returns how to reach the servers of etcd: nil for plain text.
func TLS(servers []string, files transport.TLSConfig) (*tls.Config, error) {
	secure, err := transport.TLSConfigFor(&transport.Config{TLS: files})
	if err != nil {
		return nil, fmt.Errorf("read the TLS files for etcd: %w", err)
	}
	if secure == nil && strings.HasPrefix(servers[0], "https:") {
		secure = &tls.Config{} // with the CA certificates of the machine
	}
	return secure, nil
}
