package fleet

import (
	"context"
	"errors"
	"io"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// watched is etcd, of which a watch hears these answers and no more.
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
