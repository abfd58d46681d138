package cluster

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	)
	f := newFleet(t)
	f.put("web", manifest("web", mortal))
	f.put("dir/again", manifest("again", sleeper))
	web := f.await("web", "ready", ready)
	f.await("dir/again", "ready", ready)
	f.put("bad", "kind: Pod\napiVersion: v1\nmetadata: {name: bad}\nspec: {containers: [{name: main, image: x, nonsense: 1}]}\n")
	bad := f.await("bad", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if bad.Status.Reason != "NodeRefused" || !strings.Contains(bad.Status.Message, "nonsense") {
		t.Errorf("the refused pod says %s: %s", bad.Status.Reason, bad.Status.Message)
	}
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
}

// fleet is one node and the keys that are written for it.
type fleet struct {
	*world
	etcd program
	kv   etcdserverpb.KVClient
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
	f.kv = etcdserverpb.NewKVClient(conn)
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
