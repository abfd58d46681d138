package reload

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nodal/agent/config"
	"nodal/node"
	"nodal/server"
)

// rig is a keeper of files that a test writes.
type rig struct {
	*Keeper
	file   string
	events []node.Event
	failed bool
	max    int   // pods, that a part has taken
	refuse error // of that part
}

func newRig(t *testing.T, fields string, args ...string) *rig {
	t.Helper()
	r := &rig{file: filepath.Join(t.TempDir(), "kubelet.yaml")}
	r.write(t, fields)
	start, err := config.Load(append([]string{"--config", r.file}, args...))
	if err != nil {
		t.Fatal(err)
	}
	r.Keeper, err = New(Config{
		Start: start, Clock: time.Now, Log: slog.New(slog.DiscardHandler),
		Report: func(e node.Event) { r.events = append(r.events, e) }, Failed: func(is bool) { r.failed = is },
		Show: func(c *config.Config) (s server.Configured, err error) {
			s.Configz, err = c.Configz()
			return s, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Join(func(_, next *config.Config) (func(), error) { return func() { r.max = next.Pods.Max }, r.refuse })
	return r
}

func (r *rig) write(t *testing.T, fields string) {
	t.Helper()
	text := "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n" + fields
	if err := os.WriteFile(r.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// told returns the events since the last call, as "Reason: message".
func (r *rig) told() (all []string) {
	for _, e := range r.events {
		all = append(all, e.Reason+": "+e.Message)
	}
	r.events = nil
	return all
}

func TestWhatIsTakenAndWhatWaitsIsToldOnce(t *testing.T) {
	r := newRig(t, "maxPods: 7\n")
	for _, c := range []struct {
		name, fields string
		asked        bool
		want         []string
		max          int
		waiting      string
	}{
		{"nothing has changed", "maxPods: 7\n", false, nil, 7, ""},
		{"nothing has changed, and somebody asks", "maxPods: 7\n", true, []string{"ConfigReloaded: the files hold what is in force"}, 7, ""},
		{"both", "maxPods: 9\nport: 10260\n", false, []string{
			"ConfigReloaded: maxPods is 9 now and was 7", "ConfigNeedsRestart: until the next start port stays 10250, and the files want 10260",
		}, 9, "port"},
		{"what waits is not told again", "maxPods: 8\nport: 10260\n", false, []string{"ConfigReloaded: maxPods is 8 now and was 9"}, 8, "port"},
		{"unless somebody asks", "maxPods: 8\nport: 10260\n", true, []string{
			"ConfigNeedsRestart: until the next start port stays 10250, and the files want 10260",
		}, 8, "port"},
		{"another value", "maxPods: 8\nport: 10270\n", false, []string{
			"ConfigNeedsRestart: until the next start port stays 10250, and the files want 10270",
		}, 8, "port"},
		{"it waits no more", "maxPods: 8\n", false, []string{"ConfigReloaded: no setting waits for a restart any more"}, 8, ""},
	} {
		r.write(t, c.fields)
		r.Reload(c.asked)
		if got := r.told(); !slices.Equal(got, c.want) {
			t.Errorf("%s: told %q\nwant %q", c.name, got, c.want)
		}
		var waiting []string
		for _, w := range r.Read().Waiting {
			waiting = append(waiting, w.Setting)
		}
		if r.max != c.max || r.Running().Pods.Max != c.max || strings.Join(waiting, " ") != c.waiting {
			t.Errorf("%s: %d pods taken, %d in force, waiting %q; want %d and %q", c.name, r.max, r.Running().Pods.Max, waiting, c.max, c.waiting)
		}
		if !strings.Contains(string(r.Read().Configz), `"port":10250`) {
			t.Errorf("%s: /configz does not show the port in force", c.name)
		}
	}
	if s := r.Read(); !slices.Equal(s.Taken, []string{"maxPods"}) || s.TakenAt.IsZero() || !slices.Equal(s.Files, []string{r.file}) {
		t.Errorf("got %+v, want what was taken last, and when", s)
	}
}

func TestABrokenFileKeepsTheLastGoodOne(t *testing.T) {
	r := newRig(t, "maxPods: 7\n")
	for _, broken := range []string{"maxPod: 9\n", "maxPods: [\n", "maxPods: -5\n", "maxPods: 9\nmaxPods: 10\n"} {
		r.write(t, broken)
		changed := r.Changed()
		r.Reload(false)
		r.Reload(false)
		got := r.told()
		if len(got) != 1 || !strings.HasPrefix(got[0], "ConfigRejected: what was in force stays: ") {
			t.Errorf("%q: told %q, want one event", broken, got)
		}
		if r.Running().Pods.Max != 7 || r.Read().Fault == "" || !r.failed {
			t.Errorf("%q: %d pods, the fault %q and the metric %v", broken, r.Running().Pods.Max, r.Read().Fault, r.failed)
		}
		select {
		case <-changed:
		default:
			t.Errorf("%q: readers do not hear of it", broken)
		}
	}
	r.write(t, "maxPods: 7\n")
	r.Reload(false)
	if got := r.told(); !slices.Equal(got, []string{"ConfigReloaded: the files are good again"}) || r.Read().Fault != "" || r.failed {
		t.Errorf("told %q, the fault %q", got, r.Read().Fault)
	}
}

func TestAPartThatRefusesKeepsAllAsItWas(t *testing.T) {
	r := newRig(t, "maxPods: 7\n")
	used := false
	r.refuse = errors.New("too many")
	r.Join(func(_, _ *config.Config) (func(), error) { return func() { used = true }, nil })
	r.write(t, "maxPods: 9\n")
	r.Reload(false)
	if got := r.told(); !slices.Equal(got, []string{"ConfigRejected: what was in force stays: too many"}) || used || r.Running().Pods.Max != 7 {
		t.Errorf("told %q; used: %v; %d pods are in force", got, used, r.Running().Pods.Max)
	}
}

func TestFilesAndSignalsAreFollowed(t *testing.T) {
	r := newRig(t, "maxPods: 7\n")
	heard := make(chan string, 10)
	r.Report = func(e node.Event) { heard <- e.Reason + ": " + e.Message }
	ctx, cancel := context.WithCancel(t.Context())
	signals, ended := make(chan os.Signal, 1), make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx, signals)
	}()
	want := func(text string) {
		t.Helper()
		select {
		case got := <-heard:
			if got != text {
				t.Errorf("heard %q, want %q", got, text)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("not heard: %q", text)
		}
	}
	signals <- syscall.SIGHUP
	want("ConfigReloaded: the files hold what is in force")
	r.write(t, "maxPods: 9\n")
	want("ConfigReloaded: maxPods is 9 now and was 7")
	cancel()
	<-ended
}

func TestEventsStayShort(t *testing.T) {
	found := []config.Difference{{Setting: "evictionHard", TakenBy: config.PartEviction, Wanted: []byte(strings.Repeat("x", 1000)), Running: []byte("{}")}}
	all := tell(server.Configured{}, found, nil, false)
	if len(all) != 1 || len(all[0].message) > 200 {
		t.Errorf("got %+v", all)
	}
}
