package script

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
	"nodal/node/intake"
	"nodal/node/manifest"
)

// commands lists the commands of a script:
//
//	pod [restart=P] [init=A,B+] [containers=C,D] [grace=30] [uid=U] [env=X] [image=I] [config=M] [claim=C] [label=L]
//	    [probes=startup,liveness/5,liveness@NAME] [hooks=postStart,preStop@NAME] [cpu=100m] [resize=RestartContainer] [deadline=60] [disk=1Mi]
//	    [over=NAME:CODE]
//	                    apply the pod; its differences from the last one decide how; B+ is a sidecar;
//	                    over: all containers restart when NAME exits with CODE, and NAME has no restarts of its own
//	image NAME IMAGE    apply it with another image for one container
//	debug NAME [TARGET] add an ephemeral container, which sees the processes of TARGET
//	delete [GRACE]      delete it within this many seconds
//	restart NAME        ask for a restart of one container
//	post MAP VALUE      post a ConfigMap; a pod with config=MAP has a volume made from it
//	drop MAP            delete the ConfigMap
//	claim NAME          post a claim; a pod with claim=NAME mounts it
//	unclaim NAME        delete the claim, or print that it is gone
//	reply ok [ACTION]   answer the actions in flight, or those whose text begins with ACTION
//	reply fail REASON [ACTION]   answer with a failure; there is no effect
//	reply lost [ACTION]          have the effect without an answer
//	reply none [ACTION]          have neither effect nor answer
//	cgroups             pods have cgroups of their own from now on
//	write AMOUNT        each container has written this much; disk=1Mi limits each to a mebibyte
//	share CPUS          containers without CPUs of their own may use these
//	auto, manual        answer each action at once, or only at a reply
//	probe NAME KIND ok|fails     the probe of the newest run reports this, past its threshold
//	exit NAME CODE [after D]     a container exits
//	lose sandbox        the sandbox dies with all that runs in it
//	lose record         the agent starts again without a record of the pod, and sees what runs
//	full                the node has no CPU left to give
//	remove sandbox, remove container NAME
//	                    it is removed behind the agent's back
//	advance D           time passes, with the exits and wakes that are due
//	crash               the agent dies and starts again
//	look begin, look end         a look at the machine that takes a while
func commands() map[string]func(*stage, []string) error {
	return map[string]func(*stage, []string) error{
		"pod": (*stage).pod, "image": (*stage).image, "debug": (*stage).debug, "delete": (*stage).delete, "restart": (*stage).restart,
		"post": (*stage).post, "drop": (*stage).drop,
		"claim": (*stage).claim, "unclaim": (*stage).claim,
		"cgroups": (*stage).withCgroups, "write": (*stage).write, "lack": (*stage).lack, "share": (*stage).share, "reply": (*stage).reply, "auto": (*stage).automatic, "manual": (*stage).automatic,
		"probe": (*stage).probe, "exit": (*stage).exit, "lose": (*stage).lose, "remove": (*stage).lose, "full": (*stage).full,
		"advance": (*stage).advance, "crash": (*stage).crash, "look": (*stage).takeLook,
	}
}

var errUsage = errors.New("no such command, or not with these words")

// command runs one line and returns the output.
func (s *stage) command(line string) ([]string, error) {
	s.lines = nil
	words := strings.Fields(line)
	play, ok := commands()[words[0]]
	if !ok {
		return nil, errUsage
	}
	switch err := play(s, words); {
	case errors.Is(err, errUsage):
		return nil, err
	case err != nil:
		s.say("error: %v", err) // an error is part of the story
	}
	if err := s.settle(); err != nil {
		return nil, err
	}
	return s.lines, nil
}

func (s *stage) post(words []string) error {
	if len(words) != 3 {
		return errUsage
	}
	object := node.NewObject(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: words[1]}, Data: map[string]string{"v": words[2]},
	})
	_, _, err := s.intake.Apply([]intake.Delivery{{Object: object}}, s.now)
	return err
}

func (s *stage) drop(words []string) error {
	if len(words) != 2 {
		return errUsage
	}
	return s.intake.DeleteObject(node.ObjectRef{Kind: node.ConfigMap, Namespace: s.key.Namespace, Name: words[1]}, s.now)
}

func (s *stage) apply(object *corev1.Pod) error {
	manifest.Default(object)
	outcomes, _, err := s.intake.Apply([]intake.Delivery{{Pod: object}}, s.now)
	if err != nil {
		return err
	}
	s.say("%s %s", outcomes[0].Verdict, outcomes[0].UID)
	return nil
}

func (s *stage) image(words []string) error {
	if len(words) != 3 || s.track == nil {
		return errUsage
	}
	object := s.track.Slot().Pod.Object.DeepCopy()
	for _, list := range [][]corev1.Container{object.Spec.InitContainers, object.Spec.Containers} {
		for i := range list {
			if list[i].Name == words[1] {
				list[i].Image = words[2]
			}
		}
	}
	return s.apply(object)
}

func (s *stage) debug(words []string) error {
	words = append(words, "")
	if len(words) < 3 || s.track == nil {
		return errUsage
	}
	object := s.track.Slot().Pod.Object.DeepCopy()
	object.Spec.EphemeralContainers = append(object.Spec.EphemeralContainers, corev1.EphemeralContainer{
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: words[1], Image: words[1] + ":1"},
		TargetContainerName:      words[2],
	})
	return s.apply(object)
}

func (s *stage) delete(words []string) error {
	request := intake.DeleteRequest{Key: s.key}
	if len(words) > 1 {
		grace, err := time.ParseDuration(words[1])
		if err != nil {
			return err
		}
		request.Grace = &grace
	}
	_, err := s.intake.Delete(request, s.now)
	return err
}

func (s *stage) restart(words []string) error {
	if len(words) != 2 {
		return errUsage
	}
	return s.intake.Restart(intake.RestartRequest{Key: s.key, Container: words[1]})
}

func (s *stage) reply(words []string) error {
	words = append(words, "", "")
	how, rest := words[1], words[2:]
	var failure error
	switch how {
	case "fail":
		failure, rest = &node.Failure{Reason: words[2], Err: errors.New("the script says so")}, words[3:]
	case "lost", "none":
		failure = fmt.Errorf("no answer: %w", node.ErrUnknown)
	}
	named := s.flying(strings.TrimSpace(strings.Join(rest, " ")))
	if len(named) == 0 {
		return errors.New("nothing of that is in flight")
	}
	for _, f := range named {
		switch how {
		case "ok", "lost":
			if err := s.answer(f, failure); err != nil {
				return err
			}
		case "fail", "none":
			s.finish(f, node.Result{}, failure)
		default:
			return errUsage
		}
	}
	return nil
}

func (s *stage) withCgroups([]string) error {
	s.cgroups = true
	return nil
}

func (s *stage) share(words []string) error {
	if len(words) != 2 {
		return errUsage
	}
	s.shared = words[1]
	return nil
}

func (s *stage) automatic(words []string) error {
	s.auto = words[0] == "auto"
	return nil
}

func (s *stage) exit(words []string) error {
	if len(words) != 3 && len(words) != 5 {
		return errUsage
	}
	code, err := strconv.ParseInt(words[2], 10, 32)
	if err != nil {
		return err
	}
	at := s.now
	if len(words) == 5 {
		after, err := time.ParseDuration(words[4])
		if err != nil {
			return err
		}
		at = at.Add(after)
	}
	s.exits = append(s.exits, exit{at, words[1], int32(code)})
	s.ends()
	return nil
}

// ends runs the exits that are due.
func (s *stage) ends() {
	s.exits = slices.DeleteFunc(s.exits, func(e exit) bool {
		if e.at.After(s.now) {
			return false
		}
		s.machine.Exit(e.name, e.code)
		s.news()
		return true
	})
}

// news reports a change of the runtime to the track.
func (s *stage) news() {
	if s.track != nil {
		s.track.Doubt(s.mark)
	}
}

func (s *stage) lose(words []string) error {
	if strings.Join(words, " ") == "lose record" {
		return s.loseRecord()
	}
	done := false
	switch what := strings.Join(words[:min(2, len(words))], " "); {
	case what == "remove container" && len(words) == 3:
		done = s.machine.Steal(words[2])
	case what == "lose sandbox":
		done = s.machine.LoseSandbox()
	case what == "remove sandbox":
		done = s.machine.StealSandbox()
	}
	if !done {
		return errUsage
	}
	s.news()
	return nil
}

func (s *stage) advance(words []string) error {
	if len(words) != 2 {
		return errUsage
	}
	d, err := time.ParseDuration(words[1])
	if err != nil {
		return err
	}
	until := s.now.Add(d)
	for next := s.next(until); next.Before(until); next = s.next(until) {
		s.now = next
		s.say("at %s", next.Format("15:04:05"))
		s.ends()
		if err := s.settle(); err != nil {
			return err
		}
	}
	s.now = until
	s.ends()
	return nil
}

// next returns when the next thing happens by itself, at most until.
func (s *stage) next(until time.Time) time.Time {
	if s.wake.After(s.now) && s.wake.Before(until) {
		until = s.wake
	}
	for _, e := range s.exits {
		if e.at.Before(until) {
			until = e.at
		}
	}
	return until
}

func (s *stage) crash([]string) error { return s.boot() }

func (s *stage) takeLook(words []string) error {
	switch {
	case len(words) != 2 || s.track == nil:
		return errUsage
	case words[1] == "begin":
		s.mark++
		s.old = &look{s.seen(), s.mark}
	case words[1] == "end" && s.old != nil:
		verdict := "refused"
		if s.track.See(s.old.seen, s.old.mark, s.now) {
			verdict = "taken"
		}
		s.say("look %s", verdict)
		s.old = nil
	default:
		return errUsage
	}
	return nil
}
