package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// rule lists which of our packages those below a directory may import. Neighbours below the same
// directory have to be listed too.
type rule struct {
	dir    string
	may    []string // a package and those below it; with "=" in front, the package alone
	reason string
	never  []string // exceptions from may
}

// product lists the directories whose code ends up in a binary.
var product = []string{"api", "host", "node", "openapi", "reconciler", "server", "web"}

// The first rule that fits a package applies, so narrow rules come first. Test files may import
// anything: nothing builds on them.
var rules = []rule{
	{"cluster", []string{"api/gen", "node", "cluster", "host/replace"}, "a cluster is one more client of the API and gets no private way in", nil},
	{"workload/decide", []string{"node"}, "what a workload needs next follows from what the node shows, not from how that was asked", []string{"node/store", "node/intake"}},
	{"workload", []string{"api/gen", "node", "workload/decide"}, "what runs workloads is one more client of the API and gets no private way in", []string{"node/store", "node/intake"}},
	{"fleet", []string{"api/gen", "node", "cluster", "host/replace"}, "as cluster", nil},
	{"cmd/apisync", []string{"api/gen", "node", "cluster", "fleet"}, "as cluster", nil},
	{"agent/config", []string{"agent/config", "node"}, "settings are read and checked without the parts that they are for", nil},
	{"agent", append([]string{"agent", "cluster", "workload"}, product...), "the agent knows every part, but sim and test never ship", nil},
	{"cmd/kubelet/command/client", []string{"api/gen", "agent/config", "node", "host/replace"}, "the verbs of the day are one more client of the API and get no private way in", []string{"node/store", "node/intake"}},
	{"cmd", append([]string{"agent", "cluster", "cmd", "fleet", "workload"}, product...), "as agent", nil},
	{"openapi/assemble", []string{"node"}, "the node's table says which kinds may be posted, and a generator ships with nothing", nil},
	{"openapi", nil, "a document that is embedded depends on nothing", nil},
	{"web", nil, "the dashboard is files; it reaches the node through the API like anyone", nil},
	{"server/auth", []string{"node", "host/replace"}, "who may do what is decided without knowing the routes", nil},
	{"server/audit", []string{"node", "server/auth", "server/method"}, "what callers do is kept without knowing a service, a path or the file", []string{"node/intake"}},
	{"server/stream", []string{"node"}, "framing knows nothing of the resources that it carries", nil},
	{"server/wire", []string{"node"}, "reading and writing HTTP knows no path and no caller", nil},
	{".", nil, "documents that are embedded depend on nothing", nil},
	{"server/manual", []string{"server/wire"}, "pages are files: they know no caller, no service and no store", nil},
	{"server/dashboard", []string{"server/auth", "server/method", "server/wire"}, "the page is one more client: it reaches no service and no store", nil},
	{"server/method", []string{"api/gen", "server/auth"}, "what a method is stands in its proto alone", nil},
	{"server/trace", nil, "a request is followed without knowing the tracer or the API", nil},
	{"server/runs", []string{"node", "server/wire"}, "services and kubelet paths ask it which run is meant, so it can know neither", nil},
	{"server/rest", []string{"api/gen", "node", "server/method", "server/trace", "server/wire"}, "REST is the API's calls over HTTP: it reaches no service but through them", []string{"node/store", "node/intake"}},
	{"server/kubeletapi", []string{"node", "openapi", "server/auth", "server/method", "server/metrics", "server/runs", "server/stream", "server/trace", "server/wire"}, "the kubelet's own paths show and connect; they change nothing and know no service of the API", []string{"node/intake"}},
	{"server/kube", []string{"api/gen", "node", "server/auth", "server/wire"}, "kubectl is one more client: all it does is calls of the node API", []string{"node/store", "node/intake"}},
	{"server/inproc", nil, "a connection carries any call", nil},
	{"server/listen", []string{"server/auth"}, "connections are sorted before anything is known of the request", nil},
	{"server/metrics", []string{"node"}, "metrics are text made of counts, which their owners hand in", nil},
	{"server", []string{"node", "api/gen", "openapi", "web", ".", "server"}, "the server shows and takes; pod logic reached from here would be a second brain", nil},
	{"node/manifest/rules", []string{"=node", "node/trust"}, "a rule judges an object by itself: it knows no other object, no pod that runs and no node", nil},
	{"node", []string{"node"}, "the vocabulary is what all others share, so it can depend on none of them", nil},
	{"reconciler/decide", []string{"node"}, "a decision depends on what is wanted and seen, not on how it is carried out or where it is kept", []string{"node/store"}},
	{"reconciler/evict", []string{"node"}, "as decide", nil},
	{"reconciler/gc", []string{"node"}, "as decide", nil},
	{"reconciler/oom", []string{"node"}, "as decide", nil},
	{"reconciler/shutdown", []string{"node"}, "as decide", nil},
	{"reconciler", []string{"node", "reconciler"}, "it reaches the machine through interfaces of its own, or it could not be simulated", nil},
	{"host/cri/spec", []string{"node"}, "a translation depends on the pod and the node's facts, not on the runtime", nil},
	{"host/cri/containerd", []string{"node"}, "what containerd offers beside CRI is asked without knowing CRI", nil},
	{"test/pack", []string{"."}, "documents are packed as they are", nil},
	{"sim", append([]string{"sim", "test"}, product...), "used by tests only", nil},
	{"test", append([]string{"sim", "test"}, product...), "used by tests only", nil},
}

// hostRule returns the rule of one adapter, which may not import its neighbours.
func hostRule(dir string) rule {
	technology := strings.Join(strings.Split(dir, "/")[:2], "/")
	return rule{technology, []string{"node", "host/replace", "host/thread", "host/outsider", "host/watch", technology},
		"an adapter that knows another cannot be replaced or tested alone; the agent puts them together. All that they share is how to write a file whole, how to have a thread to oneself, how to call a plugin, and how to wait for changes of files. " +
			"What the node offers is read for them: they are told the part that they need", []string{"node/offer"}}
}

func (r rule) allows(dir string) bool {
	return slices.Contains(r.may, "="+dir) || underAny(dir, r.may)
}

func ruleFor(dir string) (rule, bool) {
	for _, r := range rules {
		if under(dir, r.dir) {
			return r, true
		}
	}
	if under(path.Dir(dir), "host") {
		return hostRule(dir), true
	}
	return rule{}, false
}

func importErrors(files []goFile) []string {
	var errs []string
	for _, f := range files {
		if f.isTest() {
			continue
		}
		r, ok := ruleFor(f.dir)
		if !ok {
			errs = append(errs, fmt.Sprintf("%s: no import rule covers %s: decide its place in the house and add one", f.path(), f.dir))
			continue
		}
		for _, imported := range f.imports {
			dir, isOurs := strings.CutPrefix(imported, module+"/")
			if imported == module {
				dir, isOurs = ".", true
			}
			if isOurs && (!r.allows(dir) || underAny(dir, r.never)) {
				errs = append(errs, fmt.Sprintf("%s imports %s, which %s may not: %s", f.path(), dir, r.dir, r.reason))
			}
		}
	}
	return errs
}

func TestPackagesImportOnlyWhatTheirPlaceAllows(t *testing.T) {
	for _, err := range importErrors(ours(t)) {
		t.Error(err)
	}
}

func TestImportRulesCatch(t *testing.T) {
	for _, c := range []struct {
		name, file, source string
		caught             bool
	}{
		{"an adapter importing another", "host/cri/a.go", `package cri; import "nodal/host/logs"`, true},
		{"an adapter importing what writes files", "host/cri/a.go", `package cri; import "nodal/host/replace"`, false},
		{"an adapter importing a part of its own", "host/cri/a.go", `package cri; import "nodal/host/cri/wire"`, false},
		{"containerd's services importing CRI", "host/cri/containerd/a.go", `package containerd; import "nodal/host/cri"`, true},
		{"an adapter importing the vocabulary", "host/cri/a.go", `package cri; import "nodal/node"`, false},
		{"an adapter importing the node's offer", "host/volume/a.go", `package volume; import "nodal/node/offer"`, true},
		{"the vocabulary importing an adapter", "node/a.go", `package node; import "nodal/host/cri"`, true},
		{"a rule importing the vocabulary", "node/manifest/rules/a.go", `package rules; import "nodal/node"`, false},
		{"a rule importing the reader", "node/manifest/rules/a.go", `package rules; import "nodal/node/manifest"`, true},
		{"a rule importing admission", "node/manifest/rules/a.go", `package rules; import "nodal/node/admit"`, true},
		{"a decision importing the store", "reconciler/decide/a.go", `package decide; import "nodal/node/store"`, true},
		{"a decision importing the loop", "reconciler/decide/a.go", `package decide; import "nodal/reconciler"`, true},
		{"REST importing a service", "server/rest/a.go", `package rest; import "nodal/server"`, true},
		{"REST importing the store", "server/rest/a.go", `package rest; import "nodal/node/store"`, true},
		{"a kubelet path importing a service", "server/kubeletapi/a.go", `package kubeletapi; import "nodal/server"`, true},
		{"a kubelet path importing the intake", "server/kubeletapi/a.go", `package kubeletapi; import "nodal/node/intake"`, true},
		{"a kubelet path finding a run", "server/kubeletapi/a.go", `package kubeletapi; import "nodal/server/runs"`, false},
		{"finding a run by a kubelet path", "server/runs/a.go", `package runs; import "nodal/server/kubeletapi"`, true},
		{"the server importing the loop", "server/a.go", `package server; import "nodal/reconciler"`, true},
		{"a cluster's client reaching into the node", "cluster/member/a.go", `package member; import "nodal/server"`, true},
		{"the agent importing the program that starts it", "agent/a.go", `package agent; import "nodal/cmd/kubelet/command"`, true},
		{"a verb of the day reaching into the node", "cmd/kubelet/command/client/a.go", `package client; import "nodal/host/cri"`, true},
		{"the binary importing the simulation", "cmd/kubelet/a.go", `package main; import "nodal/sim"`, true},
		{"a test importing the simulation", "host/cri/a_test.go", `package cri; import "nodal/sim"`, false},
		{"a directory that has no place", "helpers/a.go", `package helpers`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := importErrors(parse(t, tree(c.file, c.source)))
			if caught := len(got) > 0; caught != c.caught {
				t.Errorf("caught is %t, want %t: %q", caught, c.caught, got)
			}
		})
	}
}
