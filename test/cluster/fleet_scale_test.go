package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"

	nodefleet "nodal/fleet"
	"nodal/server/auth"
	"nodal/test/agent"
	"nodal/test/claim"
	"nodal/test/pace"
)

const (
	scalePrefix  = "/nodal/"
	scaleMembers = "/nodal-members"
)

// The figures of this test stand in docs/FLEET.md: run it without -short, with -v.
func TestARolloutReachesEachNodeOfALargeFleet(t *testing.T) {
	claim.Shows(t, "In a fleet",
		"a rollout to 1,000 simulated nodes on three etcds loses nothing while the leader is killed and comes back, the history is compacted, and a tenth of the nodes is away; pods that it does not concern run on",
		"a fleet of 1,000 nodes at rest writes next to nothing",
	)
	size := 1000
	if testing.Short() {
		size = 40
		t.Parallel()
	}
	s := newScale(t, size)
	began, before := time.Now(), s.figures()
	last := map[string]int64{}
	for _, n := range s.nodes {
		s.put(n.name, "web", scaleManifest("web", "app:1"))
		s.put(n.name, "old", scaleManifest("old", "app:1"))
		last[n.name] = s.put(n.name, "base", scaleManifest("base", "app:1"))
	}
	s.settled(last)
	s.report("first rollout, 3 pods a node", began, before)
	first := s.uids("base")

	time.Sleep(10 * time.Second) // the last records
	began, before = time.Now(), s.figures()
	time.Sleep(30 * time.Second)
	if wrote := s.report("at rest for 30s", began, before); wrote > float64(5+size/50) {
		t.Errorf("at rest the fleet has written %g times in 30s, want next to nothing", wrote)
	}

	began, before = time.Now(), s.figures()
	away := s.nodes[:size/10]
	for _, n := range away {
		n.leave()
	}
	for i, n := range s.nodes {
		switch i {
		case size / 3:
			s.killLeader()
		case size / 2:
			s.compact()
		}
		s.put(n.name, "web", scaleManifest("web", "app:2"))
		s.put(n.name, "new", scaleManifest("new", "app:2"))
		last[n.name] = s.remove(n.name, "old")
	}
	s.compact()
	s.members[s.killed].begin()
	for _, n := range away {
		n.join(t, s.config)
	}
	s.settled(last)
	s.report("second rollout, 3 changes a node, with a leader killed, two compactions and a tenth of the nodes away", began, before)
	s.check(map[string]string{"base": "app:1", "web": "app:2", "new": "app:2"})
	for name, uid := range s.uids("base") {
		if uid != first[name] {
			t.Errorf("the pod of %s/base, which did not change, became another", name)
		}
	}
}

func scaleManifest(name, image string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n  terminationGracePeriodSeconds: 1\n  containers:\n  - {name: main, image: \"" + image + "\"}\n"
}

// scale is a fleet of simulated nodes on three real etcds.
type scale struct {
	*plane
	members []program
	urls    []string
	clients []*grpc.ClientConn
	killed  int
	config  nodefleet.Config
	nodes   []*simulated
}

func newScale(t *testing.T, size int) *scale {
	t.Helper()
	s := &scale{plane: &plane{t: t}, killed: -1}
	parts, err := filepath.Abs("../../.cache/parts")
	must(t, err)
	var ports []int
	for range 2 {
		three, claim, err := agent.ClaimPorts()
		must(t, err)
		t.Cleanup(func() { claim.Close() })
		ports = append(ports, three.Secure, three.Healthz, three.ReadOnly)
	}
	var peers []string
	for i := range 3 {
		s.urls = append(s.urls, fmt.Sprintf("http://127.0.0.1:%d", ports[i]))
		peers = append(peers, fmt.Sprintf("m%d=http://127.0.0.1:%d", i, ports[3+i]))
	}
	for i, url := range s.urls {
		peer := strings.SplitN(peers[i], "=", 2)[1]
		s.members = append(s.members, start(t, filepath.Join(parts, "etcd"), "--name", fmt.Sprintf("m%d", i), "--data-dir", t.TempDir(), "--log-level", "error",
			"--unsafe-no-fsync", "--heartbeat-interval", "200", "--election-timeout", "2000", // all share two cores
			"--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(peers, ",")))
		conn, err := grpc.NewClient(strings.TrimPrefix(url, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
		must(t, err)
		t.Cleanup(func() { conn.Close() })
		s.clients = append(s.clients, conn)
	}
	s.config = nodefleet.Config{Servers: s.urls, Members: scaleMembers}
	s.write(func(ctx context.Context, kv etcdserverpb.KVClient) error { // they have a leader
		_, err := kv.Put(ctx, &etcdserverpb.PutRequest{Key: []byte("ready")})
		return err
	})
	material, err := auth.Bootstrap(auth.Dirs{Root: t.TempDir()}, []string{"localhost"}, time.Now())
	must(t, err)
	guard, err := auth.New(auth.Config{Material: *material})
	must(t, err)
	for i := range size {
		n := newSimulated(t, fmt.Sprintf("node-%04d", i), guard)
		n.join(t, s.config)
		s.nodes = append(s.nodes, n)
	}
	return s
}

// write makes a change of etcd by the first member that takes it.
func (s *scale) write(do func(context.Context, etcdserverpb.KVClient) error) {
	s.t.Helper()
	deadline := time.Now().Add(pace.Of(patience))
	for i := 0; ; i++ {
		ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
		err := do(ctx, etcdserverpb.NewKVClient(s.clients[i%len(s.clients)]))
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("no etcd takes a change: %v", err)
		}
		if i%len(s.clients) == len(s.clients)-1 {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

func (s *scale) put(node, key, text string) (revision int64) {
	s.t.Helper()
	s.write(func(ctx context.Context, kv etcdserverpb.KVClient) error {
		reply, err := kv.Put(ctx, &etcdserverpb.PutRequest{Key: []byte(scalePrefix + node + "/pods/" + key), Value: []byte(text)})
		revision = reply.GetHeader().GetRevision()
		return err
	})
	return revision
}

func (s *scale) remove(node, key string) (revision int64) {
	s.t.Helper()
	s.write(func(ctx context.Context, kv etcdserverpb.KVClient) error {
		reply, err := kv.DeleteRange(ctx, &etcdserverpb.DeleteRangeRequest{Key: []byte(scalePrefix + node + "/pods/" + key)})
		revision = reply.GetHeader().GetRevision()
		return err
	})
	return revision
}

// compact has etcd forget all revisions before the present one.
func (s *scale) compact() {
	s.t.Helper()
	s.write(func(ctx context.Context, kv etcdserverpb.KVClient) error {
		reply, err := kv.Range(ctx, &etcdserverpb.RangeRequest{Key: []byte("ready")})
		if err == nil {
			_, err = kv.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: reply.GetHeader().GetRevision()})
		}
		return err
	})
}

// killLeader kills the member that leads.
func (s *scale) killLeader() {
	s.t.Helper()
	for i, conn := range s.clients {
		status, err := etcdserverpb.NewMaintenanceClient(conn).Status(s.t.Context(), &etcdserverpb.StatusRequest{})
		must(s.t, err)
		if status.GetLeader() == status.GetHeader().GetMemberId() {
			s.members[i].end()
			s.killed = i
			return
		}
	}
	s.t.Fatal("no etcd leads")
}

// settled waits until each node is well and has applied a revision.
func (s *scale) settled(last map[string]int64) {
	s.t.Helper()
	left := ""
	defer func() {
		if s.t.Failed() {
			s.t.Log("left are", left)
		}
	}()
	s.within(3*time.Minute, "all nodes well", func() bool {
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
		members, err := nodefleet.Ask(ctx, s.config)
		cancel()
		if err != nil || len(members) != len(s.nodes) {
			left = fmt.Sprint(len(members), " nodes of ", len(s.nodes), ": ", err)
			return false
		}
		for _, m := range members {
			if m.Standing != nodefleet.Well || m.Applied < last[m.Name] {
				left = fmt.Sprintf("%+v, to apply %d", m, last[m.Name])
				return false
			}
		}
		return true
	})
}

// statuses returns the pods that stand in etcd as a node shows them, by their keys.
func (s *scale) statuses(node string) map[string]*corev1.Pod {
	s.t.Helper()
	found := map[string]*corev1.Pod{}
	s.write(func(ctx context.Context, kv etcdserverpb.KVClient) error {
		prefix := scalePrefix + node + "/status/"
		reply, err := kv.Range(ctx, &etcdserverpb.RangeRequest{Key: []byte(prefix), RangeEnd: []byte(strings.TrimSuffix(prefix, "/") + "0")})
		for _, pair := range reply.GetKvs() {
			p := &corev1.Pod{}
			must(s.t, json.Unmarshal(pair.GetValue(), p))
			found[strings.TrimPrefix(string(pair.GetKey()), prefix)] = p
		}
		return err
	})
	return found
}

// check compares what runs on each node, and what etcd shows of it, with the images that are wanted by key.
func (s *scale) check(want map[string]string) {
	s.t.Helper()
	for _, n := range s.nodes {
		running := map[string]string{}
		for _, c := range n.runtime.Snapshot().Containers {
			if c.Running() {
				running[c.Pod.Name] = c.Image
			}
		}
		shown := map[string]string{}
		for key, p := range s.statuses(n.name) {
			if ready(p) {
				shown[key] = p.Spec.Containers[0].Image
			}
		}
		for key, image := range want {
			if !strings.HasSuffix(running[key], image) || shown[key] != image {
				s.t.Errorf("%s runs %q as %s, and etcd shows %q; want %s", n.name, running[key], key, shown[key], image)
			}
		}
		if len(running) != len(want) || len(shown) != len(want) {
			s.t.Errorf("%s runs %v, and etcd shows %v; want %v", n.name, running, shown, want)
		}
	}
}

// uids returns the UID of the pod of a key on each node.
func (s *scale) uids(key string) map[string]string {
	s.t.Helper()
	found := map[string]string{}
	for _, n := range s.nodes {
		if p := s.statuses(n.name)[key]; p != nil {
			found[n.name] = string(p.UID)
		}
	}
	return found
}

// The figures of etcd that tell what a fleet costs it.
const (
	figureRevision = "etcd_debugging_mvcc_current_revision"
	figureWatchers = "etcd_debugging_mvcc_watcher_total"
	figureSlow     = "etcd_debugging_mvcc_slow_watcher_total"
	figureEvents   = "etcd_debugging_mvcc_events_total"
	figureSent     = "etcd_network_client_grpc_sent_bytes_total"
	figureMemory   = "process_resident_memory_bytes"
	figureCPU      = "process_cpu_seconds_total"
)

// figures holds the figures of each member by their names.
type figures []map[string]float64

// figures reads them. Those of a member that is away are missing.
func (s *scale) figures() (all figures) {
	for _, url := range s.urls {
		of := map[string]float64{}
		all = append(all, of)
		reply, err := http.Get(url + "/metrics")
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
			name, text, _ := strings.Cut(lines.Text(), " ")
			if value, err := strconv.ParseFloat(text, 64); err == nil {
				of[name] = value
			}
		}
		reply.Body.Close()
	}
	return all
}

// sum returns a figure of all members.
func (f figures) sum(name string) (total float64) {
	for _, of := range f {
		total += of[name]
	}
	return total
}

// most returns the largest figure of a member.
func (f figures) most(name string) (most float64) {
	for _, of := range f {
		most = max(most, of[name])
	}
	return most
}

// since returns by how much a figure that only grows has grown. That of a member that was started again began at zero.
func (f figures) since(before figures, name string) (grown float64) {
	for i, of := range f {
		grown += of[name]
		if was := before[i][name]; was <= of[name] {
			grown -= was
		}
	}
	return grown
}

// report logs what happened since the figures before, and returns the number of changes that etcd has written.
func (s *scale) report(what string, began time.Time, before figures) (wrote float64) {
	s.t.Helper()
	took, now := time.Since(began).Round(100*time.Millisecond), s.figures()
	wrote = now.most(figureRevision) - before.most(figureRevision)
	s.t.Logf("%d nodes, %s: %s; %g changes written, %g events of watches, %.1f MB sent to clients, %.1f s of CPU; now %g watchers, %g slow, %.0f MiB in all etcds",
		len(s.nodes), what, took, wrote, now.since(before, figureEvents), now.since(before, figureSent)/1e6, now.since(before, figureCPU),
		now.sum(figureWatchers), now.sum(figureSlow), now.sum(figureMemory)/(1<<20))
	return wrote
}
