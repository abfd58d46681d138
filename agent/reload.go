package agent

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"nodal/agent/config"
	"nodal/agent/offering"
	"nodal/agent/reload"
	"nodal/cluster/member"
	"nodal/node/health"
	"nodal/reconciler/gc"
	"nodal/server"
	"nodal/server/auth"
)

// keepConfig makes the keeper of the running configuration.
func keepConfig(o Options, f facts, m memory) (*reload.Keeper, error) {
	return reload.New(reload.Config{
		Start: o.Config, Report: m.state.Events.Add, Failed: m.counts.ConfigFailed, Clock: time.Now, Log: o.Log,
		Show: func(c *config.Config) (server.Configured, error) { return shownConfig(c, f.warnings) },
	})
}

// shownConfig returns what the API says of a configuration. machine are the warnings of the machine.
func shownConfig(c *config.Config, machine []config.Warning) (s server.Configured, err error) {
	if s.Configz, err = c.Configz(); err != nil {
		return s, err
	}
	s.Warnings = warned(slices.Concat(config.Warnings(c), machine))
	s.Settings, err = tellSettings(c, machine)
	return s, err
}

// taking are the parts that have to be told of another configuration. Others read the running one whenever they need a
// value, by the functions below.
type taking struct {
	offers *offering.Owner
	users  func(pods int, ids uint32) error // checks that there are enough user IDs for so many pods
	vitals interface {
		SetRules(rules []health.Rule, hold time.Duration)
	}
	pulls interface {
		SetPace(perSecond float64, burst int)
	}
	level interface{ Set(level int32) } // nil if there is none
	guard interface {
		Exchange(auth.Files) (use func(), err error)
	} // nil if nothing is served
	made func() (*auth.Material, error) // the certificates of the node's own
}

// taking returns these parts of an agent.
func (p parts) taking(o Options, f facts) taking {
	t := taking{
		offers: f.owner, vitals: p.vitals, pulls: p.shelf.Puller,
		users: func(pods int, ids uint32) error {
			_, err := userPool(f.machine.Subuid, f.machine.Subgid, ids, pods)
			return err
		},
		made: func() (*auth.Material, error) { return auth.Bootstrap(f.identity.dirs, f.identity.hosts, time.Now()) },
	}
	if o.Level != nil {
		t.level = o.Level
	}
	if p.guard != nil {
		t.guard = p.guard
	}
	return t
}

// takers ready the parts.
func (t taking) takers() []reload.Taker {
	all := []reload.Taker{
		t.takeOffer,
		use(func(c *config.Config) thresholds { return thresholds{c.Reserved.Rules, c.Reserved.Shortage} },
			func(r thresholds) { t.vitals.SetRules(r.all, r.hold) }),
		use(func(c *config.Config) pace { return pace{c.Images.PerSecond, c.Images.Burst} },
			func(to pace) { t.pulls.SetPace(to.perSecond, to.burst) }),
	}
	if t.level != nil {
		all = append(all, use(func(c *config.Config) int { return c.Process.Verbosity },
			func(level int) { t.level.Set(int32(level)) }))
	}
	if t.guard != nil {
		all = append(all, t.takeFiles)
	}
	return all
}

type (
	thresholds struct {
		all  []health.Rule
		hold time.Duration
	}
	pace struct {
		perSecond float64
		burst     int
	}
)

// use returns a taker that sets a part of the configuration if it has changed. What callers of the API have set meanwhile
// stays otherwise.
func use[T any](of func(*config.Config) T, set func(T)) reload.Taker {
	return func(running, next *config.Config) (func(), error) {
		to := of(next)
		if reflect.DeepEqual(of(running), to) {
			return nil, nil
		}
		return func() { set(to) }, nil
	}
}

// takeOffer has the owner of the offer post another one.
func (t taking) takeOffer(running, next *config.Config) (func(), error) {
	if next.Cluster.Kubeconfig != "" {
		if err := member.CheckLabels(next.Node.Labels); err != nil {
			return nil, fmt.Errorf("labels of the node: %w", err)
		}
	}
	if err := t.users(next.Pods.Max, next.Pods.IDs); err != nil {
		return nil, err
	}
	was, is := running.Reserved.Eviction[health.MemoryAvailable], next.Reserved.Eviction[health.MemoryAvailable]
	if next.Assign.Memory && !reflect.DeepEqual(was, is) {
		return nil, errors.New("evictionHard[memory.available]: with memoryManagerPolicy Static another value needs a " +
			"restart, together with the reservedMemory that goes with it")
	}
	return t.offers.Change(func(terms *offering.Terms) { setTerms(terms, next) })
}

// takeFiles gives the guard of the API other files of credentials.
func (t taking) takeFiles(running, next *config.Config) (func(), error) {
	was, is := running.Auth, next.Auth
	if was.ClientCAFile == is.ClientCAFile && was.TLSCertFile == is.TLSCertFile && was.TLSKeyFile == is.TLSKeyFile {
		return nil, nil
	}
	made, err := t.made()
	if err != nil {
		return nil, err
	}
	return t.guard.Exchange(filesOf(is, made))
}

// logLimits returns the limits of the logs of containers, as they are at the time of a round.
func logLimits(running func() *config.Config) func() config.Logs {
	return func() config.Logs { return running().Pods.Logs }
}

// maxGrace returns how long pods have that are evicted now.
func maxGrace(running func() *config.Config) func() time.Duration {
	return func() time.Duration { return running().Reserved.MaxPodGrace }
}

// streamIdle returns how long streams that begin now may be silent.
func streamIdle(running func() *config.Config) func() time.Duration {
	return func() time.Duration { return running().Listen.StreamIdle }
}

// imagePolicy returns the policy of the collector of images, as it is at the time of a round.
func imagePolicy(running func() *config.Config) func() gc.Policy {
	return func() gc.Policy {
		i := running().Images
		return gc.Policy{High: i.HighPercent, Low: i.LowPercent, MinAge: i.MinAge, MaxAge: i.MaxAge}
	}
}
