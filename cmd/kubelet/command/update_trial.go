package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/host/service"
	"nodal/node"
)

const (
	// proof is the time for which a node has to be as it was: an agent that ends after a moment is no good one.
	proof = 10 * time.Second
	// glance is the time between two looks at the new agent.
	glance = time.Second
)

// sight is one look at the node after an update.
type sight struct {
	at    time.Time
	agent int  // its process
	isNew bool // it runs the program that was put in place
	pods  []*corev1.Pod
	fault error // why it cannot be seen
}

// trial judges a new agent by what is seen of it.
type trial struct {
	wanted   []service.ReadyPod
	deadline time.Time
	agent    int       // the process that is as it should be
	since    time.Time // this time; zero if it is not
}

// judge reports whether the trial is over, and why it failed.
func (t *trial) judge(s sight) (over bool, why error) {
	fault := t.lacks(s)
	switch {
	case fault != nil:
		t.since = time.Time{}
	case t.since.IsZero() || t.agent != s.agent:
		t.agent, t.since = s.agent, s.at
	case s.at.Sub(t.since) >= proof:
		return true, nil
	}
	if s.at.Before(t.deadline) {
		return false, nil
	}
	if fault == nil {
		fault = errors.New("the agent does not stay as it should be for long enough")
	}
	return true, fault
}

// lacks says what is not yet as it was.
func (t *trial) lacks(s sight) error {
	switch {
	case s.fault != nil:
		return s.fault
	case s.agent == 0:
		return errors.New("the new agent does not run")
	case !s.isNew:
		return errors.New("another program than the new one runs as the agent")
	}
	there, ready := map[string]bool{}, map[string]bool{} // by UID of the pod, or of the object that looks after it
	for _, p := range s.pods {
		there[string(p.UID)] = true
		ready[string(p.UID)] = node.IsReady(&p.Status)
		if owner := metav1.GetControllerOf(p); owner != nil && node.IsReady(&p.Status) {
			ready[string(owner.UID)] = true
		}
	}
	for _, w := range t.wanted {
		switch {
		case ready[w.UID] || w.Owner != "" && ready[w.Owner]:
		case there[w.UID]:
			return fmt.Errorf("pod %s/%s is not ready", w.Namespace, w.Name)
		default:
			return fmt.Errorf("pod %s/%s is gone", w.Namespace, w.Name)
		}
	}
	return nil
}

// end finishes the update that is under way, or takes it back. Each step may have been taken before.
func (u *selfUpdate) end(ctx context.Context) error {
	done, err := u.config.Update()
	if err != nil {
		return err
	}
	if done.Stage == service.Trying {
		why, err := u.try(ctx, done)
		if err != nil {
			return err
		}
		done.Stage = service.Updated
		if why != nil {
			done.Stage, done.Reason = service.WentBack, why.Error()
			fmt.Fprintf(u.Out, "going back to %s: %s\n", done.From, done.Reason)
			if err := u.take(ctx, []service.Step{u.config.GoBack()}); err != nil {
				return err
			}
			if _, present, err := service.Agent(ctx); err != nil || !present {
				u.restart(ctx)
			}
		}
		if err := u.config.Record(done); err != nil {
			return err
		}
	}
	return u.take(ctx, u.config.EndUpdate())
}

// try puts the new program in place, starts it and looks at it until it is as it should be or its time is over. It returns why
// the update has to be taken back, if it has. An end of this process in between is no verdict.
func (u *selfUpdate) try(ctx context.Context, done service.Update) (why, err error) {
	if u.config.IsBack() {
		return errors.New("the new program was taken back before"), nil
	}
	if err := u.take(ctx, []service.Step{u.config.PlaceUpdate()}); err != nil {
		return nil, err
	}
	t := trial{wanted: done.Pods, deadline: time.Now().Add(done.Within)}
	u.restart(ctx)
	for {
		s := look(ctx, done.Socket)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if over, why := t.judge(s); over && why != nil {
			return fmt.Errorf("after %s: %w", done.Within, why), nil
		} else if over {
			return nil, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(glance):
		}
	}
}

// restart has systemd start the program that is in place. If it does not start at once, systemd goes on to try.
func (u *selfUpdate) restart(ctx context.Context) {
	if err := u.take(ctx, []service.Step{service.Restart()}); err != nil {
		fmt.Fprintln(u.Err, err)
	}
}

// look looks at the agent and its pods.
func look(ctx context.Context, socket string) sight {
	s := sight{at: time.Now()}
	if s.agent, s.isNew, s.fault = service.Agent(ctx); s.fault == nil && s.agent != 0 {
		s.pods, s.fault = podsOf(ctx, socket)
	}
	return s
}
