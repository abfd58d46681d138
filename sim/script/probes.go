package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/reconciler/decide"
)

// addProbes gives the application containers probes. The list holds kinds; KIND/SECONDS gives a probe its own grace
// period, and KIND@NAME gives it to one container of any kind.
func addProbes(spec *corev1.PodSpec, list string) error {
	for word := range strings.SplitSeq(list, ",") {
		word, only, isOne := strings.Cut(word, "@")
		name, grace, own := strings.Cut(word, "/")
		probe := corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ask"}}}}
		if own {
			seconds, err := strconv.ParseInt(grace, 10, 64)
			if err != nil {
				return err
			}
			probe.TerminationGracePeriodSeconds = &seconds
		}
		for c := range node.Containers(spec) {
			if isOne && c.Name != only || !isOne && node.InitContainer(spec, c.Name) != nil {
				continue
			}
			switch name {
			case "":
			case "startup":
				c.StartupProbe = &probe
			case "readiness":
				c.ReadinessProbe = &probe
			case "liveness":
				c.LivenessProbe = &probe
			default:
				return errUsage
			}
		}
	}
	return nil
}

// probe reports the result of a probe, if the agent runs it.
func (s *stage) probe(words []string) error {
	if len(words) != 4 || s.track == nil || words[3] != "ok" && words[3] != "fails" {
		return errUsage
	}
	for _, p := range s.probes() {
		if p.Container == words[1] && strings.EqualFold(string(p.Kind), words[2]) {
			s.track.Hear(node.Probed{Key: s.key, Container: p.Container, ID: p.ID, Kind: p.Kind, OK: words[3] == "ok", At: s.now})
			return nil
		}
	}
	return fmt.Errorf("the agent does not run the %s probe of %s", words[2], words[1])
}

func (s *stage) probes() []node.Probe {
	return decide.Probes(s.site(), s.track.Slot(), s.track.Got())
}

// tellProbes prints which probes the agent runs, if they have changed.
func (s *stage) tellProbes() {
	var names []string
	for _, p := range s.probes() {
		names = append(names, fmt.Sprintf("%s %s", strings.ToLower(string(p.Kind)), p.ID))
	}
	slices.Sort(names)
	if asked := strings.Join(names, ", "); asked != s.asked {
		s.asked = asked
		if asked == "" {
			asked = "nothing"
		}
		s.say("? %s", asked)
	}
}
