package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

// fromFile is a pod whose first container writes a file of variables, of which the others take some.
func fromFile(name, lines, key string) string {
	return strings.NewReplacer("NAME", name, "LINES", strings.ReplaceAll(lines, "'", "''"), "KEY", key).Replace(`apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  volumes: [{name: shared, emptyDir: {}}]
  initContainers:
  - name: writes
    image: nodal.test/busybox:1
    command: [sh, -c, 'mkdir /shared/sub; printf "%b" "$TEXT" >/shared/sub/env; ln -s sub/env /shared/link']
    env: [{name: TEXT, value: 'LINES'}]
    volumeMounts: [{name: shared, mountPath: /shared}]
  - name: early
    image: nodal.test/busybox:1
    command: [sh, -c, 'echo "early $A"']
    env: [{name: A, valueFrom: {fileKeyRef: {volumeName: shared, path: sub/env, key: A}}}]
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, 'echo "$A|$B|${NONE-unset}|${NOFILE-unset}|$C"']
    env:
    - {name: A, valueFrom: {fileKeyRef: {volumeName: shared, path: link, key: KEY}}}
    - {name: B, valueFrom: {fileKeyRef: {volumeName: shared, path: sub/env, key: B, optional: true}}}
    - {name: NONE, valueFrom: {fileKeyRef: {volumeName: shared, path: sub/env, key: NONE, optional: true}}}
    - {name: NOFILE, valueFrom: {fileKeyRef: {volumeName: shared, path: none, key: A, optional: true}}}
    - {name: C, value: c$(A)}
`)
}

func TestVariablesComeFromFiles(t *testing.T) {
	claim.Shows(t, "Identity and environment",
		"environment variables come from files that other containers of the pod have written to its emptyDir, in static pods too; optional ones may be missing",
		"a container whose variable is missing in a file, or whose file has another form, waits with CreateContainerConfigError and the line",
	)
	n, _ := manifests(t)
	const text = `# written\nA='one # two'\n\n B='three\nfour' # five\n`
	const want = "one # two|three\nfour|unset|unset|cone # two\n"
	n.file("node/manifests/static.yaml", fromFile("static", text, "A"))
	n.apply(fromFile("posted", text, "A"))
	n.apply(fromFile("lacking", text, "D"))
	n.apply(fromFile("broken", "A='1'\\nnonsense\\nD='2'\\n", "D"))
	for _, name := range []string{"posted", "static-node-a"} {
		n.wait(name, "success", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
		if got := n.curl("/v1/namespaces/default/pods/" + name + "/containers/main/logs").body; got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
		if got := n.curl("/v1/namespaces/default/pods/" + name + "/containers/early/logs").body; got != "early one # two\n" {
			t.Errorf("the init container of %s has %q", name, got)
		}
	}
	for name, why := range map[string]string{
		"lacking": `environment variable key "D" not found in file "link"`, "broken": "line 2: there is no '='",
	} {
		n.wait(name, "the reason why it waits", func(p *corev1.Pod) bool {
			s := containerStatus(p, "main")
			return s.State.Waiting != nil && s.State.Waiting.Reason == "CreateContainerConfigError" && strings.Contains(s.State.Waiting.Message, why)
		})
	}
	n.deletePod("lacking", "")
	n.deletePod("broken", "")
}

func TestHostileFilesOfVariables(t *testing.T) {
	claim.Shows(t, "Identity and environment",
		"a file of variables is looked for in its volume alone, whatever links lead out of it; one that is too large or no file, or has too long a line, keeps its container waiting with the reason")
	n := start(t)
	outside := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(outside, []byte("K='of the host'\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	files := []struct{ name, makes, wrong string }{
		{"good", `echo "K='of the pod'" >good`, ""},
		{"away", "ln -s " + outside + " away", "no such file or directory"},
		{"up", "ln -s ../../../../../../../../../../.." + outside + " up", "no such file or directory"},
		{"round", "ln -s round round", "too many levels of symbolic links"},
		{"pipe", "mkfifo pipe", "it is no regular file"},
		{"device", "ln -s /dev/zero device", "no such file or directory"},
		{"long", `printf "A='%0100000d'\nK='v'\n" 0 >long`, "line 1: bufio.Scanner: token too long"},
		{"large", `yes "# so much" | head -c 5000000 >large; echo "K='v'" >>large`, "it has more than 4194304 bytes"},
	}
	var makes, containers strings.Builder
	for _, f := range files {
		makes.WriteString(f.makes + "; ")
		fmt.Fprintf(&containers, "  - name: %s\n    image: nodal.test/busybox:1\n    command: [sh, -c, 'echo \"${K-unset}\"; exec sleep 1000']\n"+
			"    env: [{name: K, valueFrom: {fileKeyRef: {volumeName: shared, path: %[1]s, key: K}}}]\n", f.name)
	}
	n.apply(fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: hostile}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: shared, emptyDir: {}}]
  initContainers:
  - {name: writes, image: "nodal.test/busybox:1", command: [sh, -c, %q], workingDir: /shared, volumeMounts: [{name: shared, mountPath: /shared}]}
  containers:
%s`, makes.String(), containers.String()))
	n.wait("hostile", "the fate of each container", func(p *corev1.Pod) bool {
		for _, f := range files {
			state := containerStatus(p, f.name).State
			waits := state.Waiting != nil && state.Waiting.Reason == "CreateContainerConfigError" && strings.Contains(state.Waiting.Message, f.wrong)
			if f.wrong != "" && !waits || f.wrong == "" && state.Running == nil {
				return false
			}
		}
		return true
	})
	n.eventually("the variable of the file that is sound", func() bool {
		return n.curl("/containerLogs/default/hostile/good").body == "of the pod\n"
	})
	n.deletePod("hostile", "")
}
