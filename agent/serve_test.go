package agent

import (
	"crypto/tls"
	"reflect"
	"strings"
	"testing"

	"nodal/agent/config"
	"nodal/host/machine"
	"nodal/server"
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

func TestMachineIsDescribedToTheServer(t *testing.T) {
	got := describe(machine.Facts{
		Kernel: "6.1", OSImage: "Linux", Arch: "amd64", IDs: machine.IDs{Machine: "m", Boot: "b", System: "s"},
	})
	want := server.Facts{
		MachineID: "m", BootID: "b", SystemUUID: "s", KernelVersion: "6.1", OSImage: "Linux", Architecture: "amd64",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTheSettingsOfTLSReachThePort(t *testing.T) {
	got := handshake(config.TLS{MinVersion: tls.VersionTLS13, CipherSuites: []uint16{1}, Curves: []tls.CurveID{tls.X25519}})
	if got.MinVersion != tls.VersionTLS13 || len(got.CipherSuites) != 1 || len(got.CurvePreferences) != 1 {
		t.Errorf("got %d, %v, %v, want what is configured", got.MinVersion, got.CipherSuites, got.CurvePreferences)
	}
}
