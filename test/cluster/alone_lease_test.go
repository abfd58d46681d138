package cluster

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"nodal/test/claim"
	"nodal/test/pace"
)

// TestClientsElectALeaderByALeaseOfANodeAlone has two candidates of client-go, as controllers have. The second leads once the
// first has stepped down.
func TestClientsElectALeaderByALeaseOfANodeAlone(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "Kubernetes API", "clients of client-go elect a leader by a Lease, without a cluster")
	a := startAlone(t)
	rest, err := clientcmd.BuildConfigFromFlags("", a.config)
	must(t, err)
	leases, err := coordination.NewForConfig(rest)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), pace.Of(4*patience))
	defer cancel()

	leads := make(chan string, 2)
	stand := func(name string) (stepDown context.CancelFunc) {
		ctx, stepDown := context.WithCancel(ctx)
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta: metav1.ObjectMeta{Namespace: "staging", Name: "leader"}, Client: leases,
				LockConfig: resourcelock.ResourceLockConfig{Identity: name},
			},
			// The one who leads steps down well before another may lead: requests may take long on a busy machine.
			LeaseDuration: time.Hour, RenewDeadline: 30 * time.Minute, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leads <- name }, OnStoppedLeading: func() {},
			},
		})
		must(t, err)
		done := make(chan struct{})
		go func() { defer close(done); elector.Run(ctx) }()
		t.Cleanup(func() { stepDown(); <-done })
		return stepDown
	}
	wantLeader := func(want string) {
		t.Helper()
		select {
		case got := <-leads:
			if got != want {
				t.Fatalf("%s leads, want %s", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("%s never leads", want)
		}
		a.does("", "get leases -n staging", "HOLDER", want)
	}
	stepDown := stand("first")
	wantLeader("first")
	stand("second")
	a.node.Kill() // the lease outlives the agent
	a.node.Launch()
	a.does("", "get leases -n staging", "first")
	stepDown()
	wantLeader("second")
	a.does("", "describe lease leader -n staging", "Holder Identity", "second")
	a.does("", "explain lease.spec.holderIdentity", "holder")
}
