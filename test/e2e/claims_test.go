package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/claim"
)

// keeper returns a pod that writes into claims. Its mounts are volumes of the pod, by name.
func keeper(name, volumes string, mounts ...string) string {
	var text strings.Builder
	text.WriteString("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n  terminationGracePeriodSeconds: 1\n  volumes:\n" + volumes +
		"  securityContext: {runAsUser: 1000, fsGroup: 5000}\n  containers:\n  - name: main\n    image: nodal.test/busybox:1\n    command: [sh, -c, exec sleep 1000]\n    volumeMounts:\n")
	for _, m := range mounts {
		text.WriteString("    - {name: " + m + ", mountPath: /" + m + "}\n")
	}
	return text.String()
}

func claimOf(name, class, more string) string {
	return "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name + "}\nspec:\n  storageClassName: " + class +
		"\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Mi}}\n" + more
}

// phase returns the phase of a volume or claim, or "" if it does not exist.
func (n *node) phase(path string) string {
	n.t.Helper()
	var answer map[string]struct{ Phase, Volume string }
	got := n.curl("/v1/" + path)
	if got.code == 404 {
		return ""
	}
	if err := json.Unmarshal([]byte(got.body), &answer); err != nil {
		n.t.Fatalf("%s: %v in %s", path, err, got)
	}
	for _, shown := range answer {
		return strings.TrimSpace(shown.Phase + " " + shown.Volume)
	}
	return ""
}

func (n *node) wantPhase(path, want string) {
	n.t.Helper()
	n.eventually(path+" is "+want, func() bool { return n.phase(path) == want })
}

const claims = "namespaces/default/persistentvolumeclaims/"

func TestPersistentVolumes(t *testing.T) {
	claim.Shows(t, "Volumes",
		"a claim binds to a posted local or hostPath volume that fits, and the pod waits until then and says for which claim",
		"a claim of the node's own class gets a directory that the node makes, and it outlives pods and the agent's restart",
		"fsGroup applies to the files of a local volume",
		"the deletion of a claim in use waits for its pod",
		"the files of a claim that was deleted are removed or kept as its class says",
		"a generic ephemeral volume is new for each pod and goes with it",
	)
	claim.Shows(t, "Stats and metrics", "kubelet_volume_stats_* show how full the volumes of claims are")
	n := start(t)
	disk, host := filepath.Join(n.rt.Dir, "disk"), filepath.Join(n.rt.Dir, "host")
	if err := os.MkdirAll(filepath.Join(disk, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	volumes := ""
	for _, name := range []string{"disk", "made", "kept", "host"} {
		volumes += "  - {name: " + name + ", persistentVolumeClaim: {claimName: " + name + "}}\n"
	}
	volumes += "  - name: own\n    ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}}\n"
	pod := keeper("web", volumes, "disk", "made", "kept", "host", "own")
	n.apply(claimOf("made", "nodal-local", "") + claimOf("kept", "nodal-local-retain", "") + claimOf("host", "slow", "") + claimOf("disk", "fast", "") +
		"---\n" + pod)
	n.wait("web", "it waits and says for what", func(p *corev1.Pod) bool {
		return p.Status.Reason == "FailedMount" && strings.Contains(p.Status.Message, `persistentvolumeclaim "`) && strings.Contains(p.Status.Message, "is not bound to a volume")
	})
	n.wantPhase(claims+"disk", "Pending")
	n.apply("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: a-disk}\nspec: {storageClassName: fast, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], local: {path: " + disk + "}}\n" +
		"---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: a-path}\nspec: {storageClassName: slow, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: " + host + ", type: DirectoryOrCreate}}\n")
	uid := string(n.waitRunning("web").UID)
	n.wantPhase(claims+"disk", "Bound a-disk")
	n.wantPhase("persistentvolumes/a-path", "Bound")
	if got := n.inside("web", "main", "for v in disk/deep made kept own; do echo web >/$v/file || exit 1; done; stat -c %g /disk/deep/file; ls /host"); got != "5000\n" {
		t.Errorf("got %q, want that it may write everywhere, as its group", got)
	}
	found := n.metrics("/metrics")
	for _, name := range []string{"disk", "made", "kept", "web-own"} {
		of := []string{"namespace", "default", "persistentvolumeclaim", name}
		if whole, used := n.sample(found, "kubelet_volume_stats_capacity_bytes", of...), n.sample(found, "kubelet_volume_stats_used_bytes", of...); used <= 0 || whole <= used {
			t.Errorf("of claim %s %v bytes of %v are used", name, used, whole)
		}
	}

	n.Kill()
	n.up()
	n.waitRunning("web")
	n.deletePod("web", "")
	if left := mountsUnder(t, filepath.Join(n.Root(), "pods", uid)); left != "" {
		t.Errorf("left are the mounts %s", left)
	}
	n.wantPhase(claims+"web-own", "")
	n.apply(pod)
	n.waitRunning("web")
	if got := n.inside("web", "main", "cat /disk/deep/file /made/file /kept/file; ls /own"); got != "web\nweb\nweb\n" {
		t.Errorf("the next pod finds %q, want what the first has left, and nothing in its own volume", got)
	}

	made, kept := n.volumeOf("made"), n.volumeOf("kept")
	for _, name := range []string{"made", "kept", "disk"} {
		n.curl("/v1/"+claims+name, "-X", "DELETE")
	}
	if got := n.phase(claims + "made"); !strings.HasPrefix(got, "Bound") {
		t.Errorf("a claim in use is %s", got)
	}
	n.deletePod("web", "")
	n.wantPhase("persistentvolumes/"+made, "")
	n.wantPhase("persistentvolumes/"+kept, "Released")
	n.wantPhase("persistentvolumes/a-disk", "Released")
	local := filepath.Join(n.Root(), "local-volumes")
	if entries, err := os.ReadDir(local); err != nil || len(entries) != 1 || entries[0].Name() != kept {
		t.Errorf("left are the directories %v, %v; want %s", entries, err, kept)
	}
	for _, path := range []string{filepath.Join(local, kept, "file"), filepath.Join(disk, "deep/file")} {
		if text, err := os.ReadFile(path); err != nil || string(text) != "web\n" {
			t.Errorf("%s holds %q, %v", path, text, err)
		}
	}
}

// volumeOf returns the volume that a claim is bound to.
func (n *node) volumeOf(claim string) string {
	n.t.Helper()
	_, volume, _ := strings.Cut(n.phase(claims+claim), " ")
	return volume
}
