package workload

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
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
	looks atomic.Int32
	zone  string
}

func (n *clocked) Invoke(_ context.Context, _ string, asked, answer any, _ ...grpc.CallOption) error {
	of, ok := asked.(*nodev1.ListObjectsRequest)
	if !ok || of.GetKind() != "cronjobs" {
		return nil
	}
	n.looks.Add(1)
	object, err := structpb.NewStruct(map[string]any{
		"metadata": map[string]any{"namespace": "default", "name": "tick", "uid": "u1", "creationTimestamp": "2026-11-27T12:00:00Z"},
		"spec":     map[string]any{"schedule": "0 0 * * *", "timeZone": n.zone},
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
		api := &clocked{zone: "UTC"}
		noon := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
		r := New(Config{API: api, Clock: func() time.Time { return noon }, Log: slog.New(slog.DiscardHandler)})
		go r.Run(ctx)
		time.Sleep(time.Second)
		synctest.Wait()
		before := api.looks.Load()
		time.Sleep(10 * longest)
		synctest.Wait()
		if n := api.looks.Load() - before; n < 9 || n > 10 {
			t.Errorf("there are %d looks in ten minutes", n)
		}
		stop()
		synctest.Wait()
	})
}

func TestAZoneThatIsGoneIsToldOnce(t *testing.T) {
	var text strings.Builder
	noon := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	api := &clocked{zone: "Mars/Base"}
	r := New(Config{API: api, Clock: func() time.Time { return noon }, Log: slog.New(slog.NewTextHandler(&text, nil))})
	for _, step := range []struct {
		zone  string
		again time.Duration
		told  int // from the beginning on
	}{{"Mars/Base", time.Minute, 1}, {"Mars/Base", time.Minute, 1}, {"UTC", 12 * time.Hour, 1}, {"Mars/Base", time.Minute, 2}} {
		api.zone = step.zone
		again, _ := r.turn(t.Context())
		if n := strings.Count(text.String(), "unknown time zone Mars/Base"); n != step.told || !again.Equal(noon.Add(step.again)) {
			t.Errorf("%s: told %d times, and again at %s:\n%s", step.zone, n, again, text.String())
		}
	}
	if !strings.Contains(text.String(), "CronJob default/tick") {
		t.Errorf("it is not named:\n%s", text.String())
	}
}
