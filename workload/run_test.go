package workload

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	nodev1 "nodal/api/gen/node/v1"
)

// clocked is a node with one CronJob. It counts the looks.
type clocked struct {
	grpc.ClientConnInterface
	looks int
}

func (n *clocked) Invoke(_ context.Context, _ string, asked, answer any, _ ...grpc.CallOption) error {
	of, ok := asked.(*nodev1.ListObjectsRequest)
	if !ok || of.GetKind() != "cronjobs" {
		return nil
	}
	n.looks++
	object, err := structpb.NewStruct(map[string]any{
		"metadata": map[string]any{"namespace": "default", "name": "tick", "uid": "u1", "creationTimestamp": "2026-11-27T12:00:00Z"},
		"spec":     map[string]any{"schedule": "0 0 * * *"},
	})
	answer.(*nodev1.ListObjectsResponse).Objects = []*nodev1.Object{{Kind: "CronJob", Namespace: "default", Name: "tick", Revision: 1, Object: object}}
	return err
}

func (n *clocked) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A machine that sleeps until midnight, or whose clock is set, has timers that know nothing of it.
func TestTheTimeOfACronJobFollowsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		api := &clocked{}
		noon := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
		r := New(Config{API: api, Clock: func() time.Time { return noon }, Log: slog.New(slog.DiscardHandler)})
		go r.Run(ctx)
		time.Sleep(time.Second)
		synctest.Wait()
		before := api.looks
		time.Sleep(10 * longest)
		synctest.Wait()
		if n := api.looks - before; n < 9 || n > 10 {
			t.Errorf("there are %d looks in ten minutes", n)
		}
		stop()
		synctest.Wait()
	})
}
