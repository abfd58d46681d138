package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nodal/node"
)

func TestGarbageIsShownWithItsReasons(t *testing.T) {
	var found []node.Garbage
	var fault error
	n := newNode(t, func(c *Config) {
		c.Machine.Garbage = func(context.Context) ([]node.Garbage, error) { return found, fault }
	})
	kept := node.Garbage{Kind: node.GarbageImage, Name: "old:1", Bytes: 7, Why: "nothing uses it", Kept: "there is room"}
	goes := node.Garbage{Kind: node.GarbageImage, Name: "older:1", Why: "nothing uses it", Goes: time.Unix(60, 0)}
	run := node.Garbage{Kind: node.GarbageContainer, Name: "id", Key: node.Key{Namespace: "default", Name: "web"}, Container: "main", Why: "it has newer runs"}
	for _, c := range []struct {
		name   string
		found  []node.Garbage
		fault  error
		status int
		want   []string // in this order
	}{
		{"nothing", nil, nil, 200, []string{"{}"}},
		{"by kind, and what goes before what stays", []node.Garbage{kept, goes, run}, nil, 200,
			[]string{`"container"`, `"namespace":"default","pod":"web","container":"main"`, `"older:1"`, `"goesAt":"1970-01-01T00:01:00Z"`, `"old:1"`, `"bytes":"7"`, `"kept":"there is room"`}},
		{"a part that fails hides no other", []node.Garbage{run}, errors.New("the disk is away"), 200, []string{`"web"`, `"faults":["the disk is away"]`}},
		{"all parts fail", nil, errors.New("the disk is away"), 500, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, fault = c.found, c.fault
			got := n.do(t, "GET", "/v1/node/garbage", "")
			if got.status != c.status {
				t.Fatalf("got %d %s, want %d", got.status, got.body, c.status)
			}
			rest := got.body
			for _, want := range c.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("got %s, want %s after what comes before it", got.body, want)
				}
				rest = after
			}
		})
	}
}
