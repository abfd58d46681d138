package fleet

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// watched stands for an etcd whose watch sends these answers and no more.
type watched struct {
	etcdserverpb.WatchClient
	etcdserverpb.Watch_WatchClient
	answers []*etcdserverpb.WatchResponse
}

func (w *watched) Watch(context.Context, ...grpc.CallOption) (etcdserverpb.Watch_WatchClient, error) {
	return w, nil
}

func (w *watched) Send(*etcdserverpb.WatchRequest) error { return nil }

func (w *watched) Recv() (*etcdserverpb.WatchResponse, error) {
	if len(w.answers) == 0 {
		return nil, io.EOF
	}
	answer := w.answers[0]
	w.answers = w.answers[1:]
	return answer, nil
}

func TestAWatchGoesOnOnlyFromWhatEtcdHas(t *testing.T) {
	at := func(revision, compacted int64) *etcdserverpb.WatchResponse {
		return &etcdserverpb.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: revision}, Created: true, CompactRevision: compacted}
	}
	for _, c := range []struct {
		name   string
		answer *etcdserverpb.WatchResponse
		again  bool // all has to be read
	}{
		{"it has gone on", at(120, 0), false},
		{"it is where it was", at(100, 0), false},
		{"it has forgotten", at(120, 110), true},
		{"it was restored from before", at(60, 0), true},
	} {
		s := &store{watch: &watched{answers: []*etcdserverpb.WatchResponse{c.answer}}}
		if _, err := s.follow(t.Context(), "/pods/", 100, nil); errors.Is(err, errCompacted) != c.again {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// lost stands for a server that has lost the others. It hears of nothing, and says so if it
// was asked to.
type lost struct {
	etcdserverpb.UnimplementedWatchServer
	asked atomic.Int64
}

func (s *lost) Watch(stream etcdserverpb.Watch_WatchServer) error {
	s.asked.Add(1)
	asks, _ := metadata.FromIncomingContext(stream.Context())
	if len(asks.Get(rpctypes.MetadataRequireLeaderKey)) > 0 {
		return rpctypes.ErrGRPCNoLeader
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}

// led stands for a server that is well and has changes to send.
type led struct {
	etcdserverpb.UnimplementedWatchServer
}

func (led) Watch(stream etcdserverpb.Watch_WatchServer) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	return stream.Send(&etcdserverpb.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: 2}, Events: []*mvccpb.Event{
		{Kv: &mvccpb.KeyValue{Key: []byte("/pods/web"), ModRevision: 2}},
	}})
}

func TestAServerThatHasLostTheOthersIsLeftForAnother(t *testing.T) {
	serve := func(watch etcdserverpb.WatchServer) (url string) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer()
		etcdserverpb.RegisterWatchServer(server, watch)
		go server.Serve(listener)
		t.Cleanup(server.Stop)
		return "http://" + listener.Addr().String()
	}
	away := &lost{}
	s, err := dial([]string{serve(away), serve(led{})}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	told := 0
	for ctx.Err() == nil && (told == 0 || away.asked.Load() == 0) {
		_, err = s.follow(ctx, s.pods(), 1, func(string, written, bool) { told++ })
	}
	if ctx.Err() != nil {
		t.Errorf("one server was asked %d times, and %d changes were told by the other: %v", away.asked.Load(), told, err)
	}
}
