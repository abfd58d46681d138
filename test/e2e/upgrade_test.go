package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/host/journal"
	"nodal/node/store"
	"nodal/test/agent"
	"nodal/test/claim"
)

// earlier is the last commit whose records had neither JSON names nor a version.
const earlier = "d81874fe4dbe88d3dd9d53022c611aa9432ba23a"

// remembered returns manifests of pods and their objects, whose records use every field.
func remembered() string {
	told := strings.Replace(shell("told", "exec sleep 1000").yaml(), "    args:\n", `    envFrom:
    - {secretRef: {name: login}}
    - {configMapRef: {name: settings}}
    args:
`, 1)
	done := runs("done", "exit", "0")
	done.restart = "Never"
	return strings.Join([]string{
		patient("patient"), told, done.yaml(), active(runs("late", "tick", "50ms").yaml(), 1),
		keeper("keeper", "  - {name: made, persistentVolumeClaim: {claimName: made}}\n", "made"),
		strings.TrimPrefix(claimOf("made", "nodal-local", ""), "---\n"),
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {mode: fast}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: tr0ub4dor}\n",
	}, "---\n")
}

// revisions grow with every start.
var revisions = regexp.MustCompile(`"revision":"\d+",`)

// memory returns what an agent knows of the pods and their objects, without what changes by itself.
func (n *node) memory() string {
	n.t.Helper()
	var text strings.Builder
	for _, name := range []string{"patient", "told", "done", "late", "keeper"} {
		p := n.get(name)
		fmt.Fprintf(&text, "%s %s: %s %s %s", p.Name, p.UID, p.Status.Phase, p.Status.Reason, readyTime(p))
		for _, s := range p.Status.ContainerStatuses {
			fmt.Fprintf(&text, "; %s restarts=%d ready=%t %s", s.Name, s.RestartCount, s.Ready, s.ContainerID)
		}
		text.WriteByte('\n')
	}
	for _, path := range []string{"configmaps/settings", "secrets/login", "persistentvolumeclaims/made"} {
		text.WriteString(revisions.ReplaceAllString(n.curl("/v1/namespaces/default/"+path).String(), ""))
	}
	return text.String()
}

// turn ends the agent and starts another binary in its place.
func (n *node) turn(binary string, end func()) {
	n.t.Helper()
	end()
	n.Binary = binary
	n.up()
	n.unmoved("patient", "told", "keeper")
}

// relapse hangs the patient, and waits until it has had so many restarts and is ready again.
func (n *node) relapse(restarts int) {
	n.t.Helper()
	n.do("patient", "touch /hung")
	n.wait("patient", "a restart", func(p *corev1.Pod) bool { return containerStatus(p, "main").RestartCount == int32(restarts) })
	n.recover(restarts)
}

// recover makes the patient's probes succeed, and waits until the agent has recorded that. Killed before, the next one would show
// the pod as not ready until its first probe.
func (n *node) recover(restarts int) {
	n.t.Helper()
	n.wait("patient", "a run", func(p *corev1.Pod) bool { return containerStatus(p, "main").State.Running != nil })
	n.do("patient", "touch /started /www/ready")
	p := n.waitState("patient", fmt.Sprintf("started=true ready=true restarts=%d Ready=True", restarts))
	run := strings.TrimPrefix(containerStatus(p, "main").ContainerID, "containerd://")
	healthy := regexp.MustCompile(`"ID":"` + run + `"[^{}]*"Ready":true`)
	n.eventually("the record of the patient's health", func() bool {
		record, err := os.ReadFile(filepath.Join(n.Root(), "journal", "records", "pods", "default_patient.rec"))
		return err == nil && healthy.Match(record)
	})
}

func TestAnEarlierAgentAndThisOneTakeTurns(t *testing.T) {
	claim.Shows(t, "Restarts and faults",
		"neither an upgrade nor a downgrade restarts a container or loses a record: restarts, health, ends, ConfigMaps, Secrets and claims",
	)
	before, err := agent.Earlier(earlier)
	if err != nil {
		t.Fatal(err)
	}
	today := os.Getenv(agent.BinaryEnv)
	n := start(t, func(c *agent.Config) {
		c.Binary = before
		c.Settings["crashLoopBackOff"] = map[string]any{"maxContainerRestartPeriod": "1s"}
	})
	n.apply(remembered())
	n.waitRunning("told")
	n.waitRunning("keeper")
	n.waitExceeded("late")
	n.wait("done", "done at its end", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	n.recover(0)
	n.relapse(1)
	stop := func() {
		if err := n.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	for i, change := range []struct {
		to  string
		end func()
	}{{today, stop}, {before, n.Kill}, {today, n.Kill}, {before, stop}} {
		knew, ran := n.memory(), fmt.Sprint(n.running())
		n.turn(change.to, change.end)
		if knows := n.memory(); knows != knew {
			t.Errorf("turn %d: the agent knows\n%swant what the one before knew\n%s", i, knows, knew)
		}
		if runs := fmt.Sprint(n.running()); runs != ran {
			t.Errorf("turn %d: %s runs, want %s as before", i, runs, ran)
		}
		n.relapse(i + 2) // this makes the agent write its records
	}
	n.deletePod("told", "")
	if got := n.sandboxes("told"); got != 0 {
		t.Errorf("a pod of the earlier agent left %d sandboxes when it was deleted", got)
	}
}

// rewrite changes the record of a pod while the agent is down.
func (n *node) rewrite(changes map[string]func(record map[string]any)) {
	n.t.Helper()
	n.inJournal(func(j *journal.Journal, records map[string][]byte) error {
		for pod, change := range changes {
			var record map[string]any
			if err := json.Unmarshal(records[pod], &record); err != nil {
				return err
			}
			change(record)
			data, err := json.Marshal(record)
			if err := errors.Join(err, j.Commit(store.Record{Name: pod, Data: data})); err != nil {
				return err
			}
		}
		return nil
	})
}

// inJournal opens the journal of a stopped agent and calls work.
func (n *node) inJournal(work func(j *journal.Journal, records map[string][]byte) error) {
	n.t.Helper()
	j, err := journal.Open(filepath.Join(n.Root(), "journal"), slog.New(slog.DiscardHandler))
	if err != nil {
		n.t.Fatal(err)
	}
	kept, _, err := j.Load()
	records := map[string][]byte{}
	for _, r := range kept {
		records[r.Name] = r.Data
	}
	if err := errors.Join(err, work(j, records), j.Close()); err != nil {
		n.t.Fatal(err)
	}
}

func TestRecordsOfANewerAgent(t *testing.T) {
	claim.Shows(t, "Restarts and faults",
		"fields of a newer agent's record that this one does not know survive a change",
		"a pod whose record has a newer version runs on untouched, is shown, and cannot be changed until such an agent is back",
	)
	n := start(t)
	n.apply(bundle(web("later"), web("newer")))
	n.waitRunning("later")
	n.waitRunning("newer")
	ran := fmt.Sprint(n.running())
	n.Kill()
	var left []byte
	n.rewrite(map[string]func(map[string]any){
		"pods/default_later": func(record map[string]any) { record["Pod"].(map[string]any)["Aim"] = "high" },
		"pods/default_newer": func(record map[string]any) { record["Version"] = store.Version + 1 },
	})
	n.inJournal(func(_ *journal.Journal, records map[string][]byte) error {
		left = records["pods/default_newer"]
		return nil
	})
	n.up()
	n.unmoved("later", "newer")
	n.follow("/v1/events:watch").until("RecordOfNewerAgent")
	for _, args := range [][]string{{"-X", "DELETE"}, {"-X", "POST", "--data-binary", web("newer").yaml()}} {
		path := "/v1/namespaces/default/pods/newer"
		if args[1] == "POST" {
			path = "/v1/manifests"
			args[3] = strings.Replace(args[3], "metadata:", "metadata:\n  labels: {a: b}", 1)
		}
		if got := n.curl(path, args...); got.code != 409 || !strings.Contains(got.body, "newer agent") {
			t.Errorf("%s: got %s, want 409 for the newer agent's record", args[1], got)
		}
	}
	n.changed("/v1/manifests", strings.Replace(web("later").yaml(), "metadata:", "metadata:\n  labels: {a: b}", 1)).is(t, "UPDATED", "")
	if runs := fmt.Sprint(n.running()); runs != ran {
		t.Errorf("%s runs, want %s as before", runs, ran)
	}
	n.Kill()
	n.inJournal(func(_ *journal.Journal, records map[string][]byte) error {
		if got := string(records["pods/default_later"]); !strings.Contains(got, `"Aim":"high"`) || !strings.Contains(got, `"a":"b"`) {
			t.Errorf("the record is %s, want the change and what the newer agent has recorded", got)
		}
		if got := records["pods/default_newer"]; string(got) != string(left) {
			t.Errorf("the newer agent's record is %s now", got)
		}
		return nil
	})
	n.rewrite(map[string]func(map[string]any){
		"pods/default_newer": func(record map[string]any) { record["Version"] = store.Version },
	})
	n.up() // as an agent that reads them
	n.unmoved("newer")
	n.deletePod("newer", "")
}
