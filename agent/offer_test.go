package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/agent/offering"
	"nodal/node/admit"
	"nodal/node/assign"
	"nodal/node/offer"
	"nodal/node/store"
)

func TestRulesOfAssignmentKnowTheMemoryThatIsKeptFromPods(t *testing.T) {
	terms := offering.Terms{
		Node:     admit.Node{Name: "n1"},
		Reserved: admit.Reserved{Kube: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}},
	}
	look := func() (offering.Facts, error) {
		m := admit.Machine{CPUs: 4, Memory: 8 << 30, HugePages: []admit.HugePages{{Size: 2 << 20, Number: 1024}}}
		return offering.Facts{Machine: m}, nil
	}
	var kept int64
	rules := &assign.Rules{}
	board := &offer.Board{}
	_, err := newOwner(terms, look, func(bytes int64) (*assign.Rules, error) {
		kept = bytes
		return rules, nil
	}, board, slog.New(slog.DiscardHandler))
	if err != nil || kept != 1<<30 {
		t.Errorf("kept from pods: %d bytes (%v), want those of kubeReserved, without huge pages", kept, err)
	}
	if o := board.Read(); o.Assign != rules || o.Name != "n1" {
		t.Errorf("the first offer is %+v, want one of n1 by the rules", o)
	}
}

func TestNodeThatCannotMakeAnOfferPostsNone(t *testing.T) {
	fault := errors.New("fault")
	enough := offering.Facts{Machine: admit.Machine{CPUs: 1, Memory: 1 << 30}}
	much := admit.Reserved{System: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}}
	for _, c := range []struct {
		name     string
		reserved admit.Reserved
		looking  error
		ruling   error
	}{
		{"the machine cannot be read", admit.Reserved{}, fault, nil},
		{"more is reserved than there is", much, nil, nil},
		{"the rules do not suit the machine", admit.Reserved{}, nil, fault},
	} {
		board := &offer.Board{}
		_, err := newOwner(
			offering.Terms{Reserved: c.reserved}, func() (offering.Facts, error) { return enough, c.looking },
			func(int64) (*assign.Rules, error) { return nil, c.ruling }, board, slog.New(slog.DiscardHandler))
		if err == nil || board.Read().Revision != 0 {
			t.Errorf("%s: got error %v and offer %d, want an error and no offer", c.name, err, board.Read().Revision)
		}
	}
}

func TestBurstOfDeviceEventsWakesTheOwnerOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		burst, looks := make(chan struct{}), 0
		watch := func(ctx context.Context, wake func(), _ ...string) error {
			time.Sleep(time.Millisecond) // the first look is due by then
			for range 3 {
				wake()
			}
			close(burst)
			<-ctx.Done()
			return nil
		}
		board := store.NewDevices()
		renew := func(ctx context.Context, woken <-chan struct{}) {
			<-burst // busy until then
			for {
				select {
				case <-woken:
					looks++
				case <-ctx.Done():
					return
				}
			}
		}
		ended := make(chan struct{})
		go func() {
			followOffer(ctx, watch, board.Changed, renew, slog.New(slog.DiscardHandler))
			close(ended)
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		if looks != 1 {
			t.Errorf("woken %d times by a burst, want once", looks)
		}
		board.Registered("example.com/gpu", "gpu.sock", false, time.Now())
		synctest.Wait()
		if looks != 2 {
			t.Errorf("woken %d times after a plugin has registered, want twice", looks)
		}
		cancel()
		<-ended
	})
}

func TestOwnerLooksWithoutDeviceEvents(t *testing.T) {
	var log bytes.Buffer
	deaf := func(context.Context, func(), ...string) error { return errors.New("no netlink") }
	looked := false
	ctx, cancel := context.WithCancel(t.Context())
	renew := func(context.Context, <-chan struct{}) {
		looked = true
		cancel()
	}
	followOffer(ctx, deaf, store.NewDevices().Changed, renew, slog.New(slog.NewTextHandler(&log, nil)))
	if !looked || !strings.Contains(log.String(), "no netlink") {
		t.Errorf("looked: %t, log: %q; want a look and the fault", looked, log.String())
	}
}

// textFiles makes a file system of texts by their paths.
func textFiles(texts map[string]string) fstest.MapFS {
	made := fstest.MapFS{}
	for path, text := range texts {
		made[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return made
}

func TestResourcesAreThoseOfTheMachineNow(t *testing.T) {
	root := textFiles(map[string]string{"proc/meminfo": "MemTotal: 2048 kB\nSwapTotal: 0 kB\n"})
	sys := textFiles(map[string]string{"devices/system/cpu/online": "0-1,4\n"})
	got, err := resources(root, sys, 77)
	if err != nil || got.CPUs != 3 || got.Online.String() != "0-1,4" || got.Memory != 2<<20 || got.Disk != 77 {
		t.Errorf("got %+v, %v, want 3 CPUs, 2 MiB and the disk", got, err)
	}
	if got, err = resources(root, textFiles(nil), 77); err != nil || got.CPUs != goruntime.NumCPU() || !got.Online.IsEmpty() {
		t.Errorf("without /sys: got %+v, %v, want the CPUs that the process may run on", got, err)
	}
	if _, err := resources(textFiles(nil), sys, 77); err == nil {
		t.Error("a machine without /proc/meminfo has resources")
	}
}
