package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/differences"
)

// told are the events about one thing, by their reasons: their types and messages.
type told map[string][]string

// resize gives a pod more.
func (s *side) resize() {
	s.t.Helper()
	s.ask("PATCH", s.pods()+"/guaranteed/resize", "application/strategic-merge-patch+json",
		`{"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "20m"}, "limits": {"cpu": "20m"}}}]}}`)
	s.within(settling, "the resize by "+s.node, func() bool {
		list, _ := get[corev1.EventList](s.plane, "/api/v1/namespaces/"+s.namespace+"/events?fieldSelector=reason=ResizeCompleted")
		return len(list.Items) > 0
	})
}

// end deletes the pods, and waits until they are gone.
func (s *side) end() {
	s.t.Helper()
	for _, m := range specimens {
		s.ask("DELETE", s.pods()+"/"+m.name, "", "")
	}
	s.within(settling, "the end of the pods of "+s.node, func() bool {
		list, ok := get[corev1.PodList](s.plane, s.pods())
		return ok && len(list.Items) == 0
	})
}

// readEvents returns the events about each pod, and about the node.
func (s *side) readEvents() map[string]told {
	s.t.Helper()
	all := map[string]told{}
	for _, namespace := range []string{s.namespace, "default"} {
		list, ok := get[corev1.EventList](s.plane, "/api/v1/namespaces/"+namespace+"/events")
		if !ok {
			s.t.Fatalf("there are no events of %s", namespace)
		}
		for _, e := range list.Items {
			about := e.InvolvedObject.Name
			switch {
			case e.InvolvedObject.Kind == "Node" && about == s.node:
				about = "Node"
			case e.InvolvedObject.Kind != "Pod" || namespace != s.namespace:
				continue
			}
			if momentary(about, e) {
				continue
			}
			if all[about] == nil {
				all[about] = told{}
			}
			where := strings.TrimSpace(e.InvolvedObject.FieldPath + " " + e.Type)
			text := strings.TrimSpace(string(s.plain([]byte(where + ": " + e.Message))))
			if !slices.Contains(all[about][e.Reason], text) {
				all[about][e.Reason] = append(all[about][e.Reason], text)
			}
		}
	}
	return all
}

// momentary reports whether an event depends on the moment at which a pod came or was deleted: while its container ran or was
// probed, before it had restarted often, after the API server or upstream's kubelet had forgotten it.
func momentary(about string, e corev1.Event) bool {
	switch {
	case about == "crash" || about == "unwell":
		return e.Reason == "Killing" || about == "unwell" && e.Reason == "BackOff"
	case about == "redirected" && e.Reason == "Unhealthy", strings.Contains(e.Message, " probe errored "),
		strings.HasSuffix(e.Message, "probe failed: the command ended with exit code 137"): // killed with its container
		return true
	case e.Message == `Pulling image "nodal.test/busybox:1"`: // the first of many pods that need it says so
		return true
	case strings.Contains(e.Message, "no relationship found between node"), // the API server has yet to learn where the pod is
		strings.Contains(e.Message, "cache: timed out waiting for the condition"): // which upstream's kubelet says so
		return true
	}
	return strings.HasSuffix(e.Message, "not registered") || strings.HasSuffix(e.Message, fmt.Sprintf("pod %q not found", about))
}

// compareEvents adds the events to the facts, but for those that the table of events says to differ. It returns an error of
// each line of that table that is not true.
func compareEvents(t *testing.T, theirs, ours map[string]told, upstream, here differences.Facts) (wrong []string) {
	t.Helper()
	both, err := differences.Read("../..", "Events")
	must(t, err)
	alone, err := differences.Read("../..", "Events of this kubelet alone")
	must(t, err)
	for _, row := range both {
		seen, differs := false, false
		for _, reason := range row.Names {
			for about := range theirs {
				a, b := theirs[about][reason], ours[about][reason]
				slices.Sort(a)
				slices.Sort(b)
				same := slices.Equal(a, b)
				seen, differs = seen || len(a) > 0 && len(b) > 0, differs || !same
				if same || len(b) == 0 && row.Cells[1] == "never" || len(b) > 0 && alike(row.Cells[1], a, b) {
					continue
				}
				name := fmt.Sprintf("Event %s: %s", about, reason)
				upstream.Set(name, strings.Join(a, "; "))
				here.Set(name, strings.Join(b, "; "))
			}
		}
		if seen && !differs && row.Cells[1] != "same" {
			wrong = append(wrong, fmt.Sprintf("the line of events %s says %q, and they are the same", row.Cells[0], row.Cells[1]))
		}
	}
	for about, events := range ours {
		for reason, texts := range events {
			isIn := func(row differences.Row) bool {
				return slices.ContainsFunc(row.Names, func(name string) bool { return differences.Match(name, reason) })
			}
			if !slices.ContainsFunc(both, isIn) && !slices.ContainsFunc(alone, isIn) {
				here.Set(fmt.Sprintf("Event %s: %s", about, reason), strings.Join(texts, "; "))
			}
		}
	}
	return wrong
}

// alike reports whether events differ as the word of their line says.
func alike(word string, upstream, here []string) bool {
	switch word {
	case "other":
		return true
	case "more":
		if len(upstream) == 0 {
			return false
		}
		for _, text := range upstream {
			if !slices.ContainsFunc(here, func(longer string) bool { return strings.HasPrefix(longer, text) }) {
				return false
			}
		}
		return true
	}
	return false
}
