package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/daemon"
	"nodal/test/rig"
)

func TestAFleetIsWrittenInEtcd(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "In a fleet",
		"a node runs the pods that are written in etcd, over TLS, and each one's status is beside it",
		"a manifest that the node refuses gets a failed status with the reason; other keys are not affected",
		"a changed key changes its pod, and a deleted key ends it, even without a running apisync and after a compaction of etcd",
		"while etcd is away pods run on, and their statuses are written when it is back",
		"pods posted by other clients are left alone",
		"a mistake in a manifest ends no pod: it runs on, and its status says why it is not changed",
		"a pod may move from one key to another",
		"kubelet fleet status shows each node with the revision that it was given and has applied, its pods, and what is wrong, and its exit code says whether all are well",
		"a node that rests writes no record, and one whose apisync has ended is silent within two minutes",
	)
	f := newFleet(t)
	f.put("web", manifest("web", mortal))
	f.put("dir/again", manifest("again", sleeper))
	web := f.await("web", "ready", ready)
	f.await("dir/again", "ready", ready)
	f.awaitStanding("well", 0, func(m fleetMember) bool {
		return m.Wanted == 2 && m.Running == 2 && m.Ready == 2 && m.Applied == m.Given && m.Given > 0 && m.Version != ""
	})
	f.put("bad", "kind: Pod\napiVersion: v1\nmetadata: {name: bad}\nspec: {containers: [{name: main, image: x, nonsense: 1}]}\n")
	bad := f.await("bad", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if bad.Status.Reason != "NodeRefused" || !strings.Contains(bad.Status.Message, "nonsense") {
		t.Errorf("the refused pod says %s: %s", bad.Status.Reason, bad.Status.Message)
	}
	f.awaitStanding("failing", 3, func(m fleetMember) bool {
		return m.Wanted == 3 && m.Failing == 1 && m.Applied < m.Given && strings.HasPrefix(m.Fault, "bad: refused: ")
	})
	_, err := nodev1.NewManifestsServiceClient(f.node.Conn()).Apply(t.Context(), &nodev1.ApplyRequest{Manifest: manifest("own", sleeper)})
	must(t, err)
	f.put("taken", manifest("own", mortal))
	f.await("taken", "failed", func(p *corev1.Pod) bool { return strings.Contains(p.Status.Message, "did not come from etcd") })

	refused := func(p *corev1.Pod) bool {
		return ready(p) && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == "nodal.node/ManifestTaken" && c.Message != "" })
	}
	f.put("web", "metadata: {name: web\n")
	f.await("web", "unchanged by what cannot be read", refused)
	f.put("web", manifest("web", mortal)+"  nonsense: 1\n")
	f.await("web", "unchanged by a refused manifest", refused)
	f.put("web", manifest("web", mortal))
	f.await("web", "itself", func(p *corev1.Pod) bool { return ready(p) && !refused(p) })

	f.put("moved", manifest("again", sleeper))
	f.await("moved", "failed", func(p *corev1.Pod) bool { return strings.Contains(p.Status.Message, "dir/again") })
	f.remove("dir/again")
	f.await("moved", "ready", ready)
	f.remove("moved")
	f.eventually("moved gone", func() bool { return f.pod("moved") == nil })
	f.put("dir/again", manifest("again", sleeper))
	f.await("dir/again", "ready", ready)

	f.etcd.end()
	f.inside("web", "touch /die")
	f.node.Await("a restart", func(p daemon.Pods) bool { return p["web"].GetRestarts() == 1 && p["web"].GetReady() })
	f.etcd.begin()
	f.await("web", "restarted", func(p *corev1.Pod) bool { return p.Status.ContainerStatuses[0].RestartCount == 1 && ready(p) })

	f.put("web", manifest("web", sleeper))
	f.await("web", "again", func(p *corev1.Pod) bool { return p.UID != web.UID && ready(p) })

	f.sync.end()
	f.remove("dir/again")
	f.compact(f.put("late", manifest("late", sleeper)))
	f.sync.begin()
	f.await("late", "ready", ready)
	f.eventually("again gone", func() bool { return f.pod("dir/again") == nil })
	for _, key := range []string{"web", "late", "bad", "taken"} {
		f.remove(key)
		f.eventually(key+" gone", func() bool { return f.pod(key) == nil })
	}
	f.node.Await("the other's pod alone", func(p daemon.Pods) bool { return len(p) == 1 && p["own"].GetReady() })

	rested := f.awaitStanding("well", 0, func(m fleetMember) bool { return m.Wanted == 0 })
	time.Sleep(10 * time.Second)
	f.sync.end()
	f.within(2*time.Minute, "a silent node", func() bool { code, m := f.status(); return code == 3 && m.Standing == "silent" })
	if _, m := f.status(); m.Written != rested.Written {
		t.Errorf("a node at rest has written its record again: %+v", m)
	}
}

// fleetMember is one node as kubelet fleet status prints it.
type fleetMember struct {
	Name, Standing, Version, Fault  string
	Given, Applied                  int64
	Wanted, Running, Ready, Failing int
	Written, LastWord               time.Time
}

// status returns the exit code of kubelet fleet status, and what it prints of the node.
func (f *fleet) status() (code int, m fleetMember) {
	f.t.Helper()
	kubelet, err := agent.Build(f.t.TempDir())
	must(f.t, err)
	var out, failed bytes.Buffer
	cmd := exec.CommandContext(f.t.Context(), kubelet, "fleet", "status", "-o", "json", "--etcd-servers", f.url, "--etcd-cafile", f.ca)
	cmd.Stdout, cmd.Stderr = &out, &failed
	cmd.Run()
	var printed struct{ Nodes []fleetMember }
	if cmd.ProcessState.ExitCode() != 1 {
		must(f.t, json.Unmarshal(out.Bytes(), &printed))
	}
	if len(printed.Nodes) == 1 {
		m = printed.Nodes[0]
	}
	m.Fault += failed.String()
	return cmd.ProcessState.ExitCode(), m
}

// awaitStanding waits until the node is shown with this standing and code, and a condition holds.
func (f *fleet) awaitStanding(standing string, code int, holds func(fleetMember) bool) (m fleetMember) {
	f.t.Helper()
	got := 0
	defer func() {
		if f.t.Failed() {
			f.t.Logf("kubelet fleet status exits with %d and shows %+v", got, m)
		}
	}()
	f.eventually("a node that is "+standing, func() bool {
		got, m = f.status()
		return got == code && m.Standing == standing && m.Name == "node-a" && holds(m)
	})
	return m
}

// fleet is one node and the keys that are written for it.
type fleet struct {
	*world
	etcd    program
	kv      etcdserverpb.KVClient
	url, ca string // of etcd
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	ports, claim, err := agent.ClaimPorts()
	must(t, err)
	t.Cleanup(func() { claim.Close() })
	parts, err := filepath.Abs("../../.cache/parts")
	must(t, err)
	data, url, peer := t.TempDir(), fmt.Sprintf("https://127.0.0.1:%d", ports.Healthz), fmt.Sprintf("http://127.0.0.1:%d", ports.ReadOnly)
	f := &fleet{world: &world{plane: &plane{t: t}, node: daemon.Start(t, rig.Containerd(t))}}
	f.etcd = start(t, filepath.Join(parts, "etcd"), "--data-dir", data, "--log-level", "warn", "--unsafe-no-fsync", "--auto-tls",
		"--listen-client-urls", url, "--advertise-client-urls", url,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	ca := filepath.Join(data, "fixtures/client/cert.pem")
	var secure credentials.TransportCredentials
	f.eventually("etcd's certificate, whole", func() bool {
		secure, err = credentials.NewClientTLSFromFile(ca, "")
		return err == nil
	})
	conn, err := grpc.NewClient(strings.TrimPrefix(url, "https://"), grpc.WithTransportCredentials(secure), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	f.kv, f.url, f.ca = etcdserverpb.NewKVClient(conn), url, ca
	f.sync = start(t, apisync, "--etcd-servers", url, "--etcd-cafile", ca, "--socket", f.node.Socket)
	return f
}

const fleetPrefix = "/nodal/node-a"

func (f *fleet) put(key, text string) (revision int64) {
	f.t.Helper()
	reply, err := f.kv.Put(f.t.Context(), &etcdserverpb.PutRequest{Key: []byte(fleetPrefix + "/pods/" + key), Value: []byte(text)})
	must(f.t, err)
	return reply.GetHeader().GetRevision()
}

func (f *fleet) remove(key string) {
	f.t.Helper()
	_, err := f.kv.DeleteRange(f.t.Context(), &etcdserverpb.DeleteRangeRequest{Key: []byte(fleetPrefix + "/pods/" + key)})
	must(f.t, err)
}

func (f *fleet) compact(revision int64) {
	f.t.Helper()
	_, err := f.kv.Compact(f.t.Context(), &etcdserverpb.CompactionRequest{Revision: revision})
	must(f.t, err)
}

// pod returns a pod with the status under a key.
func (f *fleet) pod(key string) *corev1.Pod {
	f.t.Helper()
	reply, err := f.kv.Range(f.t.Context(), &etcdserverpb.RangeRequest{Key: []byte(fleetPrefix + "/status/" + key)})
	must(f.t, err)
	if len(reply.GetKvs()) == 0 {
		return nil
	}
	p := &corev1.Pod{}
	must(f.t, json.Unmarshal(reply.GetKvs()[0].GetValue(), p))
	return p
}

func (f *fleet) await(key, wanted string, holds func(*corev1.Pod) bool) *corev1.Pod {
	f.t.Helper()
	var last *corev1.Pod
	f.eventually(key+" "+wanted, func() bool { last = f.pod(key); return last != nil && holds(last) })
	return last
}
