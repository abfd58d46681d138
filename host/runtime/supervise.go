package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"nodal/node"
)

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
	settled      = time.Minute // after a run as long as this, the failures before it no longer count
	lookAgain    = time.Minute // at the log, and at the network that others change
	adoptionWait = 10 * time.Second
	startTries   = 5 // of a containerd that is killed before it is ready
)

// bringUp adopts the containerd that runs or starts one, and waits until it answers.
func (r *Runtime) bringUp(ctx context.Context) error {
	began := time.Now()
	p, err := r.programs(ctx)
	if err != nil {
		return err
	}
	return r.raise(ctx, p, began)
}

// raise does the rest of bringUp, once the programs are in their places.
func (r *Runtime) raise(ctx context.Context, p programs, began time.Time) error {
	content, err := r.layout.renderConfig(settings{
		programs: p, sandboxImage: r.config.SandboxImage,
		systemdCgroup: r.systemd, restrictOOMScore: !mayLowerOOMScore(),
		cdiDirs: r.config.CDIDirs,
	})
	if err != nil {
		return err
	}
	config, err := r.layout.writeConfig(content)
	if err != nil {
		return err
	}
	d, err := r.up(ctx, p, config)
	if err != nil {
		return err
	}
	r.mu.Lock()
	old := r.daemon
	r.daemon = d
	r.mu.Unlock()
	event := node.Event{
		Reason: Started, Message: fmt.Sprintf("containerd runs as process %d", d.pid), Took: time.Since(began),
	}
	if d.adopted {
		event.Reason, event.Message = Adopted, fmt.Sprintf("containerd ran on as process %d", d.pid)
	}
	r.tell(event)
	if err := errors.Join(old.close(), r.layout.removeOldConfigs(config)); err != nil {
		r.config.Log.Warn("cannot clean up after the previous containerd", "err", err)
	}
	return nil
}

// programs unpacks the bundle if needed, or finds the programs of the host.
func (r *Runtime) programs(ctx context.Context) (programs, error) {
	if len(r.config.Index) == 0 {
		p, err := r.hostDirs.find()
		if err != nil {
			return programs{}, err
		}
		p.configVersion, err = askConfigVersion(ctx, p.containerd)
		return p, err
	}
	b, err := readBundle(r.layout.bundles(), r.config.Archive, r.config.Index)
	if err != nil {
		return programs{}, err
	}
	begin := time.Now()
	repaired, err := b.ensure(ctx, r.config.UnpackCommand)
	if err != nil {
		return programs{}, err
	}
	if some := len(repaired); some > 0 && some < len(b.files) {
		r.tell(node.Event{Reason: Repaired, Warning: true, Took: time.Since(begin),
			Message: "replaced damaged files of the runtime: " + strings.Join(repaired, ", ")})
	}
	return bundlePrograms(b.dir), nil
}

// up adopts or starts a containerd and waits until it answers.
func (r *Runtime) up(ctx context.Context, p programs, config string) (*daemon, error) {
	d, err := r.layout.takeOver(ctx, command(p, config))
	if err != nil {
		return nil, err
	}
	if d != nil {
		if err := r.answers(ctx, d); err == nil || ctx.Err() != nil {
			return d, err
		}
		// It hangs, or it ended meanwhile.
		if err := errors.Join(d.stop(ctx), d.close()); err != nil {
			return nil, err
		}
	}
	for try := 1; ; try++ {
		d, err := r.layout.startDaemon(p, config)
		if err != nil {
			return nil, err
		}
		err = waitReady(ctx, r.Endpoint(), d)
		if err == nil {
			return d, nil
		}
		err = fmt.Errorf("%w\n%s", err, lastWords(r.layout.log()))
		if left := errors.Join(d.stop(ctx), d.close()); left != nil || !errors.Is(err, errKilled) || try == startTries {
			return nil, errors.Join(err, left)
		}
		r.tell(node.Event{Reason: Exited, Warning: true, Message: "containerd: " + d.ended})
	}
}

func (r *Runtime) answers(ctx context.Context, d *daemon) error {
	ctx, cancel := context.WithTimeout(ctx, adoptionWait)
	defer cancel()
	return waitReady(ctx, r.Endpoint(), d)
}

// Run keeps containerd up until the context ends, and leaves it running then.
func (r *Runtime) Run(ctx context.Context) error {
	r.tidy()
	r.keepNetwork(ctx) // host ports may have been closed while no agent ran
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	gone, err := r.config.Network.Watch(ctx)
	if err != nil {
		r.config.Log.Warn("cannot hear of changes of the firewall; what it loses of the pods' network is noticed within a minute", "err", err)
	}
	pause := firstPause
	for {
		since := time.Now()
		ended, ok := r.wait(ctx, tick.C, gone)
		if !ok {
			return nil
		}
		r.tell(node.Event{Reason: Exited, Warning: true, Message: "containerd: " + ended, Took: time.Since(since)})
		if time.Since(since) > settled {
			pause = firstPause
		}
		for {
			if !sleep(ctx, pause) {
				return nil
			}
			pause = min(2*pause, longestPause)
			err := r.bringUp(ctx)
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return nil
			}
			r.tell(node.Event{Reason: Failed, Warning: true, Message: err.Error()})
		}
	}
}

// wait returns how containerd ended. Meanwhile it keeps the log short and the network as it was set up.
func (r *Runtime) wait(ctx context.Context, tick <-chan time.Time, gone <-chan struct{}) (ended string, ok bool) {
	r.mu.Lock()
	d := r.daemon
	r.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return "", false
		case <-d.done:
			return d.ended, true
		case <-gone:
			r.keepNetwork(ctx)
		case <-tick:
			if err := trimLog(r.layout.log()); err != nil {
				r.config.Log.Warn("cannot rotate containerd's log", "err", err)
			}
			r.keepNetwork(ctx)
		}
	}
}

// keepNetwork repairs the network if others have removed parts of it.
func (r *Runtime) keepNetwork(ctx context.Context) {
	events, err := r.config.Network.Keep(ctx, r.owns, r.Sandboxes)
	if err != nil {
		r.config.Log.Warn("cannot maintain the pods' network", "err", err)
	}
	for _, e := range events {
		r.tell(e)
	}
}

// owns reports whether the lock is still this process's. If its directory was removed, the node may be another
// agent's, or may be being cleaned.
func (r *Runtime) owns() bool {
	held, err := r.lock.Stat()
	if err != nil {
		return false // it was given back
	}
	named, err := os.Stat(r.layout.lock())
	return err == nil && os.SameFile(held, named)
}

// tidy removes the bundles of earlier versions. It is not done on the way up, where pods wait.
func (r *Runtime) tidy() {
	b, err := readBundle(r.layout.bundles(), r.config.Archive, r.config.Index)
	if err == nil {
		err = b.removeOld()
	}
	if err != nil && len(r.config.Index) > 0 {
		r.config.Log.Warn("cannot remove an old runtime", "err", err)
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Stop ends containerd; pods go on without it. It is called after Run returned.
func (r *Runtime) Stop(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.daemon.stop(ctx)
}
