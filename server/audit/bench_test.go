package audit

import (
	"path/filepath"
	"testing"
	"time"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/host/auditfile"
	"nodal/server/auth"
)

// BenchmarkRequest measures what the audit log adds to a request: two entries in a real file for a change, and for a
// read the decision that there are none.
func BenchmarkRequest(b *testing.B) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: main, image: a/b:1}\n"
	admin := auth.Identity{Name: "root", Role: auth.RoleAdmin, Via: "socket"}
	for _, c := range []struct {
		name string
		call auth.Call
	}{
		{"a read", auth.Call{Verb: auth.Read, Method: nodev1.PodsService_GetPod_FullMethodName,
			Message: &nodev1.GetPodRequest{Namespace: "default", Name: "web"}}},
		{"a deletion", auth.Call{Verb: auth.Write, Method: nodev1.PodsService_DeletePod_FullMethodName,
			Message: &nodev1.DeletePodRequest{Namespace: "default", Name: "web"}}},
		{"a manifest of one pod", auth.Call{Verb: auth.Write, Method: nodev1.ManifestsService_Apply_FullMethodName,
			Message: &nodev1.ApplyRequest{Manifest: pod}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			l, _, _ := newLog(b, func(cfg *Config) {
				cfg.File = auditfile.New(auditfile.Config{Path: filepath.Join(b.TempDir(), "audit.log"), MaxBytes: 64 << 20, Backups: 1})
			})
			for b.Loop() {
				call := c.call
				call.Identity, call.From, call.Started = admin, "socket", time.Now()
				end, err := l.Begin(call)
				if err != nil {
					b.Fatal(err)
				}
				end(auth.Ending{Outcome: "OK"})
			}
		})
	}
}
