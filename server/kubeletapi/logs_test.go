package kubeletapi

import (
	"testing"
	"time"

	"nodal/node"
)

func TestLogOptionsAreReadAsUpstreamReadsThem(t *testing.T) {
	seven := int64(7)
	cases := []struct {
		query string
		code  int
		want  node.LogOptions
	}{
		{"", 200, node.LogOptions{}},
		{"tailLines=7&timestamps=true", 200, node.LogOptions{Tail: &seven, Timestamps: true}},
		{"tail=7", 200, node.LogOptions{Tail: &seven}},
		{"tail=all", 200, node.LogOptions{}},
		{"sinceSeconds=7", 200, node.LogOptions{Since: testNow.Add(-7 * time.Second)}},
		{"sinceTime=2026-05-01T11:00:00Z", 200, node.LogOptions{Since: testNow.Add(-time.Hour)}},
		{"limitBytes=7&stream=Stderr", 200, node.LogOptions{LimitBytes: &seven, Stream: node.LogStderr}},
		{"tailLines=x", 400, node.LogOptions{}},
		{"sinceTime=yesterday", 400, node.LogOptions{}},
		{"tailLines=-1", 422, node.LogOptions{}},
		{"limitBytes=0", 422, node.LogOptions{}},
		{"sinceSeconds=0", 422, node.LogOptions{}},
		{"sinceSeconds=1&sinceTime=2026-05-01T11:00:00Z", 422, node.LogOptions{}},
		{"stream=Stdin", 422, node.LogOptions{}},
		{"stream=Stdout&tailLines=1", 422, node.LogOptions{}},
	}
	for _, c := range cases {
		t.Run(c.query, func(t *testing.T) {
			var read files
			h := serve(needs(func(cfg *Config) { cfg.Logs.Runs.Files = &read }))
			if code, body := ask(t, h, "GET", "/containerLogs/default/web/main?"+c.query, ""); code != c.code {
				t.Fatalf("got %d %s, want %d", code, body, c.code)
			}
			got := read.options
			same := equal(got.Tail, c.want.Tail) && equal(got.LimitBytes, c.want.LimitBytes) &&
				got.Since.Equal(c.want.Since) && got.Timestamps == c.want.Timestamps && got.Stream == c.want.Stream
			if !same {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func equal(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

func TestUnknownPodsAndContainersAreNotFoundInUpstreamsWords(t *testing.T) {
	h := serve(needs(func(*Config) {}))
	for path, want := range map[string]string{
		"/containerLogs/default/none/main": "pod \"none\" does not exist\n",
		"/containerLogs/default/web/none":  "container \"none\" not found in pod \"web\"\n",
	} {
		if code, body := ask(t, h, "GET", path, ""); code != 404 || body != want {
			t.Errorf("%s: got %d %q, want 404 %q", path, code, body, want)
		}
	}
}
