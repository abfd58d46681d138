package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/containernetworking/cni/pkg/skel"
	current "github.com/containernetworking/cni/pkg/types/100"
)

// pod returns the arguments of a pod of a network with few addresses.
func pod(dir, id, more string) *skel.CmdArgs {
	return &skel.CmdArgs{ContainerID: id, IfName: "eth0", StdinData: []byte(`{
		"cniVersion": "1.0.0", "name": "nd-1", "type": "nodal", "bridge": "nd-1", "mtu": 1400, "backend": "nftables",
		"ipam": {"type": "host-local", "dataDir": "` + dir + `",
			"ranges": [[{"subnet": "10.90.1.0/30"}], [{"subnet": "fd01:2::/64"}]],
			"routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}` + more + `}`)}
}

func TestAddressesAreKeptInTheFilesOfHostLocal(t *testing.T) {
	dir := t.TempDir()
	args := pod(dir, "a", "")
	s, err := readSettings(args)
	if err != nil {
		t.Fatal(err)
	}
	result := &current.Result{}
	if err := takeAddresses(s, args, result); err != nil {
		t.Fatal(err)
	}
	if len(result.IPs) != 2 || result.IPs[0].Address.String() != "10.90.1.2/30" || result.IPs[0].Gateway.String() != "10.90.1.1" ||
		*result.IPs[0].Interface != podEnd || len(result.Routes) != 2 {
		t.Errorf("got %+v", result)
	}
	// Older plugins and the agent find the sandbox by its ID in these files.
	if text, err := os.ReadFile(filepath.Join(dir, "nd-1/10.90.1.2")); err != nil || string(text) != "a\r\neth0" {
		t.Errorf("the file of the address has %q (%v)", text, err)
	}
	if has, err := hasAddress(s, args); err != nil || !has {
		t.Errorf("the pod's address is not found: %v", err)
	}
	for range 2 { // a second time after a crash
		if err := giveBack(s, args); err != nil {
			t.Fatal(err)
		}
	}
	if has, err := hasAddress(s, args); err != nil || has {
		t.Errorf("the pod's address is still taken: %v", err)
	}
}

func TestAPodThatGetsNoAddressKeepsNone(t *testing.T) {
	dir := t.TempDir()
	first, second := pod(dir, "a", ""), pod(dir, "b", "")
	s, err := readSettings(first)
	if err != nil {
		t.Fatal(err)
	}
	s.addresses.Ranges[0], s.addresses.Ranges[1] = s.addresses.Ranges[1], s.addresses.Ranges[0] // the scarce one last
	if err := takeAddresses(s, first, &current.Result{}); err != nil {
		t.Fatal(err)
	}
	if err := takeAddresses(s, second, &current.Result{}); err == nil {
		t.Error("there is an address for a second pod")
	}
	if has, err := hasAddress(s, second); err != nil || has {
		t.Errorf("a pod that was refused has an address: %v", err)
	}
}

func TestPortmapIsToldWhatItWouldReadInAChain(t *testing.T) {
	s, err := readSettings(pod(t.TempDir(), "a", `, "runtimeConfig": {"portMappings": [{"hostPort": 80, "containerPort": 8080}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if !s.hasPorts() {
		t.Error("the pod has no ports")
	}
	raw, err := portmapConfig(s, &current.Result{CNIVersion: current.ImplementedSpecVersion})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		CNIVersion, Name, Type, Backend string
		SNAT                            bool
		RuntimeConfig                   struct {
			PortMappings []struct{ HostPort, ContainerPort int }
		}
		PrevResult map[string]any
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.CNIVersion != "1.0.0" || got.Name != "nd-1" || got.Type != "portmap" || got.Backend != "nftables" || !got.SNAT ||
		len(got.RuntimeConfig.PortMappings) != 1 || got.RuntimeConfig.PortMappings[0].HostPort != 80 || got.PrevResult["cniVersion"] != "1.0.0" {
		t.Errorf("got %s", raw)
	}
}

func TestAPodWithoutPortsNeedsNoPortmap(t *testing.T) {
	for _, more := range []string{"", `, "runtimeConfig": {}`, `, "runtimeConfig": {"portMappings": []}`, `, "runtimeConfig": {"portMappings": null}`} {
		s, err := readSettings(pod(t.TempDir(), "a", more))
		if err != nil || s.hasPorts() {
			t.Errorf("%s: the pod has ports (%v)", more, err)
		}
	}
}

func TestAnAddressThatAPodHasIsNotGivenBackByAFailedCall(t *testing.T) {
	args := pod(t.TempDir(), "a", "")
	s, err := readSettings(args)
	if err != nil {
		t.Fatal(err)
	}
	if err := takeAddresses(s, args, &current.Result{}); err != nil {
		t.Fatal(err)
	}
	if err := takeAddresses(s, args, &current.Result{}); err == nil {
		t.Fatal("a pod has got addresses twice")
	}
	if has, err := hasAddress(s, args); err != nil || !has {
		t.Errorf("the address of the first call is gone: %v", err)
	}
}

func TestTheFaultOfAPluginIsTold(t *testing.T) {
	for script, want := range map[string]string{
		`echo '{"code": 7, "msg": "the port is taken"}'; exit 1`: "the port is taken",
		"echo broken >&2; exit 2":                                "exit status 2: broken",
	} {
		program := filepath.Join(t.TempDir(), "portmap")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := bound().ExecPlugin(t.Context(), program, nil, nil); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", script, err, want)
		}
	}
}
