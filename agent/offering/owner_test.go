package offering

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"

	"nodal/node"
	"nodal/node/admit"
	"nodal/node/assign"
	"nodal/node/offer"
)

// rig is an owner of the offer of a machine that a test makes up.
type rig struct {
	Owner
	log bytes.Buffer

	mu    sync.Mutex
	facts Facts
}

func newRig() *rig {
	r := &rig{}
	r.online("0-3")
	r.facts.Memory = 8 << 30
	r.Owner = Owner{
		Look: func() (Facts, error) { return r.look(), nil }, Board: &offer.Board{}, Log: slog.New(slog.NewTextHandler(&r.log, nil)),
		Terms: Terms{
			Node: admit.Node{Name: "n1"}, Pods: 110,
			Reserved: admit.Reserved{Kube: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}, HoldAll: true},
			Assign:   &assign.Rules{Static: true, Reserved: cpuset.New(0, 1), Topology: machine(cpuset.New(0, 1, 2, 3))},
			Topology: func() (assign.Topology, error) { return machine(r.look().Online), nil },
		},
	}
	return r
}

func (r *rig) look() Facts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.facts
}

func (r *rig) online(cpus string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.facts.Online, _ = cpuset.Parse(cpus)
	r.facts.CPUs = r.facts.Online.Size()
}

func (r *rig) cpus() int64 {
	o := r.Board.Read()
	return o.Capacity.Cpu().Value()
}

func machine(online cpuset.CPUSet) (t assign.Topology) {
	for _, id := range online.List() {
		t = append(t, assign.CPU{ID: id, Core: id})
	}
	return t
}

func TestAnOfferFollowsTheMachine(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*rig)
		want   string // CPUs, allocatable CPUs, memory, those that may be handed out
	}{
		{"a machine that stays", func(*rig) {}, "4 2500m 8Gi 0-3"},
		{"a CPU goes offline", func(r *rig) { r.online("0-2") }, "3 1500m 8Gi 0-2"},
		{"a CPU is added", func(r *rig) { r.online("0-4") }, "5 3500m 8Gi 0-4"},
		{"less is left than is reserved", func(r *rig) { r.online("0") }, "1 0 8Gi 0"},
		{"memory is added", func(r *rig) { r.facts.Memory = 12 << 30 }, "4 2500m 12Gi 0-3"},
		{"huge pages take memory from other pods", func(r *rig) {
			r.facts.HugePages = []admit.HugePages{{Size: 2 << 20, Number: 512}}
		}, "4 2500m 7Gi 0-3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig()
			if err := r.Begin(); err != nil {
				t.Fatal(err)
			}
			c.change(r)
			r.renew()
			o := r.Board.Read()
			got := strings.Join([]string{
				o.Capacity.Cpu().String(), o.Allocatable.Cpu().String(), o.Allocatable.Memory().String(), o.Assign.Topology.All().String(),
			}, " ")
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestAnUnchangedMachineIsNoNews(t *testing.T) {
	r := newRig()
	if err := r.Begin(); err != nil {
		t.Fatal(err)
	}
	before := r.Board.Read().Revision
	r.renew()
	if got := r.Board.Read().Revision; got != before {
		t.Errorf("got revision %d, want %d as before", got, before)
	}
}

func TestReservingTooMuchFailsTheStartAndNotARunningNode(t *testing.T) {
	r := newRig()
	r.online("0")
	const want = "kubeReserved[cpu]: 1500m of cpu exceeds the 1 of this machine"
	if err := r.Begin(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	r = newRig()
	if err := r.Begin(); err != nil {
		t.Fatal(err)
	}
	r.online("0")
	r.renew()
	if !strings.Contains(r.log.String(), want) {
		t.Errorf("got the log %q, want %q", &r.log, want)
	}
}

func TestTheOwnerLooksWhenWokenAndOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, woken := newRig(), make(chan struct{})
		if err := r.Begin(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		changed := r.Board.Changed()
		r.online("0-2")
		go r.Run(ctx, woken)
		woken <- struct{}{}
		<-changed
		if got := r.cpus(); got != 3 {
			t.Errorf("woken, it offers %d CPUs, want 3", got)
		}
		synctest.Wait()
		r.online("0-1")
		<-r.Board.Changed()
		if got := r.cpus(); got != 2 {
			t.Errorf("after a while it offers %d CPUs, want 2", got)
		}
	})
}

func TestPodsForEachCPUStayWithinAllPods(t *testing.T) {
	for _, c := range []struct{ perCPU, want int }{{0, 110}, {10, 40}, {50, 110}} {
		r := newRig()
		r.Terms.PerCPU = c.perCPU
		offered, err := r.Terms.Offer(r.look())
		if err != nil {
			t.Fatal(err)
		}
		if got := offered.Capacity.Pods().Value(); got != int64(c.want) {
			t.Errorf("%d for each of 4 CPUs: %d pods, want %d", c.perCPU, got, c.want)
		}
	}
}

func TestOtherTermsMakeAnotherOffer(t *testing.T) {
	r := newRig()
	if err := r.Begin(); err != nil {
		t.Fatal(err)
	}
	use, err := r.Change(func(terms *Terms) { terms.Pods, terms.Node.Labels = 7, map[string]string{"rack": "r2"} })
	if err != nil {
		t.Fatal(err)
	}
	if o := r.Board.Read(); o.Capacity.Pods().Value() != 110 || o.Revision != 1 {
		t.Errorf("before they are used the offer has %v pods", o.Capacity.Pods())
	}
	use()
	if o := r.Board.Read(); o.Capacity.Pods().Value() != 7 || o.Labels["rack"] != "r2" || o.Revision != 2 {
		t.Errorf("got %v pods and the labels %v of revision %d", o.Capacity.Pods(), o.Labels, o.Revision)
	}
	r.online("0-1")
	r.renew()
	if o := r.Board.Read(); o.Capacity.Pods().Value() != 7 {
		t.Errorf("after a change of the machine the offer has %v pods, want 7", o.Capacity.Pods())
	}
	if use, err = r.Change(func(*Terms) {}); err != nil {
		t.Fatal(err)
	}
	before := r.Board.Read().Revision
	if use(); r.Board.Read().Revision != before {
		t.Error("the same terms are posted again")
	}
	if _, err := r.Change(func(terms *Terms) {
		terms.Reserved.Kube = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("9")}
	}); err == nil {
		t.Error("more may be reserved than the machine has")
	}
}

func TestAnOfferFollowsTheDevicesOfPlugins(t *testing.T) {
	const gpu corev1.ResourceName = "example.com/gpu"
	r := newRig()
	if err := r.Begin(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		devices []node.Device
		want    string // capacity, allocatable
	}{
		{"two", []node.Device{{ID: "a", Healthy: true}, {ID: "b", Healthy: true}}, "2 2"},
		{"one falls ill", []node.Device{{ID: "a", Healthy: true}, {ID: "b"}}, "2 1"},
		{"its plugin is gone", []node.Device{{ID: "a"}, {ID: "b"}}, "2 0"},
		{"for long", nil, "0 0"},
	} {
		r.mu.Lock()
		r.facts.Devices = assign.Devices{gpu: c.devices}
		r.mu.Unlock()
		r.renew()
		o := r.Board.Read()
		capacity, allocatable := o.Capacity[gpu], o.Allocatable[gpu]
		if got := capacity.String() + " " + allocatable.String(); got != c.want || !o.Assigned[gpu] {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		if o.Assign.Topology.All().Size() != 4 || len(o.Assign.Devices[gpu]) != len(c.devices) {
			t.Errorf("%s: got the rules %+v", c.name, o.Assign)
		}
	}
	if got := len(r.Terms.Assign.Devices); got != 0 {
		t.Errorf("the terms have got devices of %d resources", got)
	}
}
