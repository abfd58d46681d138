package certificate

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const joining = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://joining"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

func TestACertificateThatHasRunOutAsksForNoOther(t *testing.T) {
	file := filepath.Join(t.TempDir(), "joining.conf")
	if err := os.WriteFile(file, []byte(joining), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, c := range []struct {
		name, kubeconfig string
		until            time.Time
		want             string
	}{
		{"it is valid", file, now.Add(time.Hour), "own"},
		{"it has run out", file, now.Add(-time.Minute), "https://joining"},
		{"it has run out, and there is no other way", "", now.Add(-time.Minute), "own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := ClientIn(t.TempDir())
			issue(t, own, now.Add(-time.Hour), c.until)
			way := Way(func() (*rest.Config, error) { return &rest.Config{Host: "own"}, nil }).Or(own, c.kubeconfig)
			api, err := way()
			if err != nil || api.Host != c.want {
				t.Errorf("got %+v, %v, want %s", api, err, c.want)
			}
		})
	}
}
