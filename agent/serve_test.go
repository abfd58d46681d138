package agent

import (
	"strings"
	"testing"

	"nodal/agent/config"
)

func TestBrowsersFindTheNodeWhereItListens(t *testing.T) {
	for address, want := range map[string]string{
		"": "localhost 10.0.0.1", "0.0.0.0": "localhost 10.0.0.1", "::": "localhost 10.0.0.1", "10.0.0.2": "10.0.0.2",
	} {
		got := reachable(config.Listen{Address: address, Port: 10250}, []string{"10.0.0.1"})
		if strings.Join(got.Hosts, " ") != want || got.Port != 10250 {
			t.Errorf("at %q: got %+v, want %s", address, got, want)
		}
	}
}
