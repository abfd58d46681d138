package soak

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/agent"
	"nodal/test/chance"
	"nodal/test/daemon"
)

func TestMain(m *testing.M) { os.Exit(agent.Main(m)) }

// frugal bounds what the node keeps of the past, so that it is full long before the end of the warm-up.
var frugal = []string{"--v", "2", "--container-log-budget", "16Ki", "--audit-log-maxsize", "1", "--audit-log-maxbackup", "1"}

// soak is a node under pods that come and go.
type soak struct {
	t       *testing.T
	d       *daemon.Daemon
	rand    *rand.Rand // only the test's own goroutine draws, so that a seed replays
	words   words
	crew    int      // pods of a crowd
	harms   []func() // that leave every measured process alone
	kills   []func() // of measured processes
	figures []*figure

	lives, crowds int
	clients       sync.WaitGroup // followers of pods, which end with their pod
}

// seeded returns the random numbers of a run.
func seeded(t *testing.T) *rand.Rand {
	seed := chance.Number(t, "NODAL_SOAK_SEED", int(time.Now().UnixNano()&0xffffff))
	t.Logf("NODAL_SOAK_SEED=%d", seed)
	return rand.New(rand.NewPCG(uint64(seed), 0))
}

// play has so many pods come and go, and reads the figures after each crowd.
func (s *soak) play(lives int) {
	s.t.Helper()
	began := time.Now()
	for s.lives < lives {
		s.crowd(s.lives < lives/2)
		if s.crowds%20 == 0 {
			s.t.Logf("%d pods after %.0f s", s.lives, time.Since(began).Seconds())
			s.keepProfile()
		}
		for _, f := range s.figures {
			f.look(s)
		}
	}
}

// keepProfile keeps a profile of the agent's heap for the search of a leak, if the test runs with -artifacts.
func (s *soak) keepProfile() {
	reply, err := s.d.HTTP().Get("http://node/debug/pprof/heap?gc=1")
	if err != nil {
		s.t.Fatal(err)
	}
	defer reply.Body.Close()
	profile, err := io.ReadAll(reply.Body)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.t.ArtifactDir(), fmt.Sprintf("heap-%d", s.lives)), profile, 0o600)
	}
	if err != nil {
		s.t.Error(err)
	}
}

// judge prints the trend of each figure and returns the names of those that leak.
func (s *soak) judge() (leaks []string) {
	s.t.Helper()
	s.t.Logf("after %d pods in %d crowds:", s.lives, s.crowds)
	for _, f := range s.figures {
		found := trendOf(f.points)
		s.t.Logf("%-32s %s", f.name, found)
		if found.pairs == 0 {
			s.t.Errorf("%s was not read often enough to have a trend: %v", f.name, f.points)
		}
		if found.leaks(f.bound) {
			leaks = append(leaks, f.name)
		}
	}
	return leaks
}

// crowd has one crowd of pods come, be used, and go.
func (s *soak) crowd(kills bool) {
	s.t.Helper()
	names := make([]string, s.crew)
	var text strings.Builder
	for i := range names {
		names[i] = fmt.Sprintf("soak-%d-%d", s.crowds, i)
		text.WriteString(s.manifest(names[i], i))
	}
	all := text.String()
	s.crowds++
	s.apply(all, kills)
	s.awaitThere(names)
	for i := range names {
		if kinds[i%len(kinds)].serves && s.rand.IntN(3) == 0 {
			s.use(names[i])
		}
	}
	s.read("/metrics", "/stats/summary", "/v1/events", "/v1/pods?labelSelector=app=soak")
	s.apply(strings.ReplaceAll(all, version+`"0"}`, version+`"1"}`), kills) // replaces the pods that serve
	s.awaitThere(names)
	if _, err := nodev1.NewManifestsServiceClient(s.d.Conn()).Delete(s.t.Context(), &nodev1.DeleteRequest{Manifest: all}); err != nil {
		s.t.Fatalf("delete a crowd: %v", err)
	}
	s.strike(kills)
	s.d.Await("the crowd is gone", func(p daemon.Pods) bool { return p.Gone(names...) })
	s.clients.Wait()
}

// apply posts a crowd, counts the pods that are new, and strikes while they start.
func (s *soak) apply(manifest string, kills bool) {
	s.t.Helper()
	reply, err := nodev1.NewManifestsServiceClient(s.d.Conn()).Apply(s.t.Context(), &nodev1.ApplyRequest{Manifest: manifest})
	if err != nil {
		s.t.Fatalf("apply a crowd: %v", err)
	}
	for _, o := range reply.GetOutcomes() {
		if r := o.GetResult(); o.GetKind() == "Pod" && (r == nodev1.Result_RESULT_CREATED || r == nodev1.Result_RESULT_REPLACED) {
			s.lives++
		}
	}
	s.strike(kills)
}

// strike harms the node in every fourth case, a moment after something has begun.
func (s *soak) strike(kills bool) {
	ways := s.harms
	if kills {
		ways = slices.Concat(s.harms, s.kills)
	}
	if len(ways) > 0 && s.rand.IntN(4) == 0 {
		chance.Pause(s.t.Context(), s.rand, 300*time.Millisecond)
		ways[s.rand.IntN(len(ways))]()
	}
}

// awaitThere waits until each pod has come as far as its kind comes.
func (s *soak) awaitThere(names []string) {
	s.t.Helper()
	s.d.Await("the crowd is there", func(p daemon.Pods) bool {
		for i, name := range names {
			if p[name] == nil || !kinds[i%len(kinds)].there(p[name]) {
				return false
			}
		}
		return true
	})
}

// use reads a pod's log, follows it to the pod's end, and runs a command in the pod. While a runtime is down, the command
// fails.
func (s *soak) use(name string) {
	s.t.Helper()
	log := "/v1/namespaces/default/pods/" + name + "/containers/main/logs"
	s.read(log, "/v1/namespaces/default/pods/"+name+"/timeline", "/containerLogs/default/"+name+"/main")
	if reply, err := s.d.HTTP().PostForm("http://node/run/default/"+name+"/main", url.Values{"cmd": {s.words.command}}); err == nil {
		reply.Body.Close()
	}
	s.clients.Go(func() {
		if reply, err := s.d.HTTP().Get("http://node" + log + "?follow=true"); err == nil {
			io.Copy(io.Discard, reply.Body) // also if the agent is killed meanwhile
			reply.Body.Close()
		}
	})
}

// read reads paths that answer whatever the runtime does.
func (s *soak) read(paths ...string) {
	s.t.Helper()
	for _, path := range paths {
		reply, err := s.d.HTTP().Get("http://node" + path)
		if err != nil {
			s.t.Errorf("GET %s: %v", path, err)
			continue
		}
		io.Copy(io.Discard, reply.Body)
		reply.Body.Close()
	}
}
