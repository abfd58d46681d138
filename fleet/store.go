package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// maxReply bounds a reply. A page takes less.
const maxReply = 256 << 20

// patience bounds a call: a server that takes longer may have lost the others.
const patience = 20 * time.Second

// page bounds the keys of a reply.
const page = 100

// silence is the time after which a silent connection is probed, and after which an unanswered probe ends it.
const silence = 20 * time.Second

// store reads and writes etcd below a prefix. etcd's own client would bring along a logger and metrics that are not
// used here.
type store struct {
	conn   *grpc.ClientConn
	kv     etcdserverpb.KVClient
	watch  etcdserverpb.WatchClient
	lease  etcdserverpb.LeaseClient
	prefix string
}

// written is a value of etcd, and the revision of its last change.
type written struct {
	text     string
	revision int64
	lease    int64 // zero without one
}

// inTurn sends each call to the next server: a server that answers may have lost the others.
const inTurn = `{"loadBalancingConfig": [{"round_robin": {}}]}`

// dial returns a client of the servers. secure is nil for plain text.
func dial(servers []string, prefix string, secure *tls.Config) (*store, error) {
	var state resolver.State
	for _, server := range servers {
		u, err := url.Parse(server)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("etcd server %q: want a URL such as https://10.0.0.1:2379", server)
		}
		if (u.Scheme == "https") != (secure != nil) {
			return nil, fmt.Errorf("etcd server %q: https needs TLS files, and TLS files need https", server)
		}
		state.Addresses = append(state.Addresses, resolver.Address{Addr: u.Host, ServerName: u.Hostname()})
	}
	all := manual.NewBuilderWithScheme("etcd")
	all.InitialState(state)
	creds := insecure.NewCredentials()
	if secure != nil {
		creds = credentials.NewTLS(secure)
	}
	conn, err := grpc.NewClient("etcd:///servers", grpc.WithResolvers(all), grpc.WithTransportCredentials(creds),
		grpc.WithDefaultServiceConfig(inTurn), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReply)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: silence, Timeout: silence}))
	if err != nil {
		return nil, fmt.Errorf("reach etcd: %w", err)
	}
	return &store{
		conn: conn, kv: etcdserverpb.NewKVClient(conn), watch: etcdserverpb.NewWatchClient(conn),
		lease: etcdserverpb.NewLeaseClient(conn), prefix: strings.TrimSuffix(prefix, "/"),
	}, nil
}

func (s *store) pods() string     { return s.prefix + "/pods/" }
func (s *store) statuses() string { return s.prefix + "/status/" }

// beyond returns the first key after those that begin with a prefix. The prefix ends in a slash.
func beyond(prefix string) []byte { return []byte(strings.TrimSuffix(prefix, "/") + "0") }

// list returns all values below a prefix by the rest of their keys, and the revision that they were read at.
func (s *store) list(ctx context.Context, prefix string) (map[string]written, int64, error) {
	found, next, revision := map[string]written{}, []byte(prefix), int64(0)
	for {
		reply, err := s.page(ctx, &etcdserverpb.RangeRequest{Key: next, RangeEnd: beyond(prefix), Revision: revision, Limit: page})
		if err != nil {
			return nil, 0, fmt.Errorf("list %s in etcd: %w", prefix, err)
		}
		for _, kv := range reply.GetKvs() {
			found[strings.TrimPrefix(string(kv.GetKey()), prefix)] = written{string(kv.GetValue()), kv.GetModRevision(), kv.GetLease()}
			next = append(kv.GetKey(), 0)
		}
		if revision == 0 {
			revision = reply.GetHeader().GetRevision()
		}
		if !reply.GetMore() {
			return found, revision, nil
		}
	}
}

func (s *store) page(ctx context.Context, r *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.kv.Range(ctx, r)
}

// errCompacted means that etcd has dropped the next revision, or has not reached it. After a restore it would be silent
// until it has.
var errCompacted = errors.New("etcd does not have the revision")

// follow reports every change below a prefix after a revision, until the stream ends. It returns the last revision that
// was reported whole. It asks a server without a leader to end the stream: such a server would stay silent.
func (s *store) follow(ctx context.Context, prefix string, after int64, tell func(key string, value written, there bool)) (int64, error) {
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, rpctypes.MetadataRequireLeaderKey, rpctypes.MetadataHasLeader))
	defer cancel()
	stream, err := s.watch.Watch(ctx)
	if err == nil {
		err = stream.Send(&etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{CreateRequest: &etcdserverpb.WatchCreateRequest{
			Key: []byte(prefix), RangeEnd: beyond(prefix), StartRevision: after + 1, ProgressNotify: true,
		}}})
	}
	if errors.Is(err, io.EOF) {
		err = nil // the stream has ended already; Recv says why
	}
	for err == nil {
		var m *etcdserverpb.WatchResponse
		if m, err = stream.Recv(); err != nil {
			break
		}
		if m.GetCompactRevision() > after || m.GetHeader().GetRevision() < after {
			return after, errCompacted
		}
		if m.GetCanceled() {
			return after, fmt.Errorf("etcd ended the watch: %s", m.GetCancelReason())
		}
		for _, e := range m.GetEvents() {
			kv := e.GetKv()
			value := written{string(kv.GetValue()), kv.GetModRevision(), kv.GetLease()}
			tell(strings.TrimPrefix(string(kv.GetKey()), prefix), value, e.GetType() == mvccpb.Event_PUT)
		}
		if events := m.GetEvents(); len(events) > 0 { // the header may be ahead of them
			after = events[len(events)-1].GetKv().GetModRevision()
		} else if !m.GetCreated() {
			after = m.GetHeader().GetRevision()
		}
	}
	return after, fmt.Errorf("watch %s in etcd: %w", prefix, err)
}

// put writes a value.
func (s *store) put(ctx context.Context, key, value string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := s.kv.Put(ctx, &etcdserverpb.PutRequest{Key: []byte(key), Value: []byte(value)})
	if err != nil {
		return fmt.Errorf("write %s to etcd: %w", key, err)
	}
	return nil
}

// remove removes a key.
func (s *store) remove(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := s.kv.DeleteRange(ctx, &etcdserverpb.DeleteRangeRequest{Key: []byte(key)})
	if err != nil {
		return fmt.Errorf("remove %s from etcd: %w", key, err)
	}
	return nil
}

// grant makes a lease that lasts so long if it is not kept alive.
func (s *store) grant(ctx context.Context, lasts time.Duration) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	reply, err := s.lease.LeaseGrant(ctx, &etcdserverpb.LeaseGrantRequest{TTL: int64(lasts / time.Second)})
	if err != nil {
		return 0, fmt.Errorf("get a lease of etcd: %w", err)
	}
	return reply.GetID(), nil
}

// keep keeps a lease alive. It reports false if the lease has ended.
func (s *store) keep(ctx context.Context, lease int64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := s.lease.LeaseKeepAlive(ctx)
	if err == nil {
		err = stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: lease})
	}
	var reply *etcdserverpb.LeaseKeepAliveResponse
	if err == nil || errors.Is(err, io.EOF) {
		reply, err = stream.Recv()
	}
	if err != nil {
		return false, fmt.Errorf("keep the lease of etcd alive: %w", err)
	}
	return reply.GetTTL() > 0, nil
}

// silent returns how long ago a lease was kept alive. It reports false if the lease has ended.
func (s *store) silent(ctx context.Context, lease int64) (time.Duration, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	reply, err := s.lease.LeaseTimeToLive(ctx, &etcdserverpb.LeaseTimeToLiveRequest{ID: lease})
	if err != nil {
		return 0, false, fmt.Errorf("read a lease of etcd: %w", err)
	}
	return time.Duration(max(reply.GetGrantedTTL()-reply.GetTTL(), 0)) * time.Second, reply.GetTTL() > 0, nil
}

// putBoth writes two values at once, the second with a lease.
func (s *store) putBoth(ctx context.Context, key, value, leased string, lease int64) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	put := func(r *etcdserverpb.PutRequest) *etcdserverpb.RequestOp {
		return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: r}}
	}
	_, err := s.kv.Txn(ctx, &etcdserverpb.TxnRequest{Success: []*etcdserverpb.RequestOp{
		put(&etcdserverpb.PutRequest{Key: []byte(key), Value: []byte(value)}),
		put(&etcdserverpb.PutRequest{Key: []byte(leased), Lease: lease}),
	}})
	if err != nil {
		return fmt.Errorf("write %s to etcd: %w", key, err)
	}
	return nil
}
