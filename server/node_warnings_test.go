package server

import (
	"strings"
	"testing"
)

func TestTheNodeWarnsOfItsSettings(t *testing.T) {
	n := newNode(t, func(c *Config) {
		c.State.Configuration = configured{Warnings: []Warning{{"access", "every caller is admin", "leave these settings out"}}}
	})
	const want = `"warnings":[{"setting":"access","message":"every caller is admin","remedy":"leave these settings out"}]`
	if got := n.do(t, "GET", "/v1/node", ""); got.status != 200 || !strings.Contains(got.body, want) {
		t.Errorf("got %d %s, want %s in it", got.status, got.body, want)
	}
	if got := newNode(t).do(t, "GET", "/v1/node", ""); strings.Contains(got.body, "warnings") {
		t.Errorf("without a warning: got %s", got.body)
	}
}
