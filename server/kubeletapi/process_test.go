package kubeletapi

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// loudness is a verbosity without a logger.
type loudness struct{ atomic.Int32 }

var _ Verbosity = (*loudness)(nil)

func (l *loudness) Set(level int32) { l.Store(level) }

func TestAnAdminLooksIntoTheProcess(t *testing.T) {
	var level loudness
	h := serve(needs(func(c *Config) {
		p := &c.Process
		p.Started = testNow.Add(-time.Hour - 2*time.Minute - 3*time.Second)
		p.Flags, p.Verbosity = map[string]string{"v": "2", "port": "10250"}, &level
	}))
	for _, c := range []struct {
		name, method, path, body, accept string
		code                             int
		holds                            string
	}{
		{"flags as text", "GET", "/flagz", "", "", 200, "\nkubelet flagz\nWarning: This endpoint is not meant"},
		{"each on a line, by name", "GET", "/flagz", "", "*/*", 200, "\nport=10250\nv=2\n"},
		{"flags for programs", "GET", "/flagz", "", "application/json;v=v1alpha1;g=config.k8s.io;as=Flagz", 200,
			`{"kind":"Flagz","apiVersion":"config.k8s.io/v1alpha1","metadata":{"name":"kubelet"},"flags":{"port":"10250","v":"2"}}`},
		{"a form of another page", "GET", "/flagz", "", "application/json;v=v1alpha1;g=config.k8s.io;as=Statusz", 406, "as=Flagz"},
		{"its state as text", "GET", "/statusz", "", "text/html, text/plain;q=0.5", 200, "\nUp: 1 hr 02 min 03 sec\nGo version: go1."},
		{"the paths that it serves", "GET", "/statusz", "", "", 200,
			"Paths: /attach /configz /containerLogs /debug/flags/v /debug/pprof /exec /flagz /healthz /logs /metrics /metrics/cadvisor " +
				"/metrics/probes /metrics/resource /metrics/slis /openapi.json /pods /portForward /run /runningpods /stats/summary /statusz\n"},
		{"its state for programs", "GET", "/statusz", "", "application/json;v=v1beta1;g=config.k8s.io;as=Statusz", 200, `"uptimeSeconds":3723,`},
		{"profiles", "GET", "/debug/pprof/", "", "", 200, "goroutine"},
		{"one profile", "GET", "/debug/pprof/goroutine?debug=1", "", "", 200, "goroutine profile: total"},
		{"an unknown profile", "GET", "/debug/pprof/none", "", "", 404, "Unknown profile"},
		{"the command line", "GET", "/debug/pprof/cmdline", "", "", 200, "test"},
		{"a level of the log", "PUT", "/debug/flags/v", "5", "", 200, "successfully set klog.logging.verbosity to 5"},
		{"a word for a level", "PUT", "/debug/flags/v", "loud", "", 400, `failed set klog.logging.verbosity loud: strconv.ParseUint: parsing "loud": invalid syntax`},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, body := ask(t, h, c.method, c.path, c.body, "Accept", c.accept)
			if code != c.code || !strings.Contains(body, c.holds) {
				t.Errorf("got %d %q, want %d with %q", code, body, c.code, c.holds)
			}
		})
	}
	if got := level.Load(); got != 5 {
		t.Errorf("the level is %d, want 5", got)
	}
}

func TestTheOwnerTurnsDebuggingOff(t *testing.T) {
	var level loudness
	h := serve(needs(func(c *Config) {
		c.Process.NoProfiles, c.Process.NoFlags, c.Process.Verbosity = true, true, &level
	}))
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/debug/pprof/heap", "profiling endpoint is disabled.\n"},
		{"PUT", "/debug/flags/v", "flags endpoint is disabled.\n"},
	} {
		if code, body := ask(t, h, c.method, c.path, "5"); code != http.StatusMethodNotAllowed || body != c.want {
			t.Errorf("%s: got %d %q, want 405 %q", c.path, code, body, c.want)
		}
	}
	if got := level.Load(); got != 0 {
		t.Errorf("the level is %d, want 0", got)
	}
}
