package e2e

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nodal/test/claim"
)

// soaked returns how many pods with every kind of volume come and go; make chaos has 500.
func soaked(t *testing.T) int {
	t.Helper()
	text := cmp.Or(os.Getenv("NODAL_SOAK"), "10")
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("NODAL_SOAK: %v", err)
	}
	return n
}

// everyKind is a pod with a volume of every kind that lies on this machine.
const everyKind = `---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {fsGroup: 5000}
  volumes:
  - {name: data, emptyDir: {}}
  - {name: memory, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
  - {name: host, hostPath: {path: HOST, type: DirectoryOrCreate}}
  - {name: settings, configMap: {name: settings}}
  - {name: login, secret: {secretName: login}}
  - {name: info, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}
  - {name: all, projected: {sources: [{secret: {name: login}}, {configMap: {name: settings}}]}}
  - {name: claimed, persistentVolumeClaim: {claimName: NAME}}
  - {name: disk, persistentVolumeClaim: {claimName: disk}}
  - {name: own, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}}}
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "touch /v/data/file /v/memory/file /v/claimed/file /v/own/file; exec sleep 1000"]
    volumeMounts:
    - {name: data, mountPath: /v/data}
    - {name: data, mountPath: /v/part, subPath: part}
    - {name: memory, mountPath: /v/memory}
    - {name: host, mountPath: /v/host}
    - {name: settings, mountPath: /v/settings}
    - {name: settings, mountPath: /v/mode, subPath: mode}
    - {name: login, mountPath: /v/login}
    - {name: info, mountPath: /v/info}
    - {name: all, mountPath: /v/all}
    - {name: claimed, mountPath: /v/claimed}
    - {name: disk, mountPath: /v/disk}
    - {name: disk, mountPath: /v/deep, subPath: deep}
    - {name: own, mountPath: /v/own}
`

// crew is the number of pods that a soak has at any time.
const crew = 5

// Pods with all kinds of volumes come and go while the agent is killed at random moments. Whatever
// a kill interrupts is completed or undone.
func TestVolumesComeAndGoThroughCrashes(t *testing.T) {
	claim.Shows(t, "Volumes", "pods with every kind of volume that come and go while the agent is killed leave no mount, directory or loop device")
	n := start(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	crash := func() {
		<-time.After(time.Duration(chance.IntN(400)) * time.Millisecond)
		if chance.IntN(2) == 0 {
			n.Kill()
			n.up()
		}
	}
	host, disk := filepath.Join(n.rt.Dir, "host"), filepath.Join(n.rt.Dir, "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	n.apply(settingsMap("fast") + loginSecret + claimOf("disk", "disks", "") + "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\n" +
		"spec: {storageClassName: disks, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], local: {path: " + disk + "}}\n")
	for done := 0; done < soaked(t); done += crew {
		var manifest string
		for i := range crew {
			manifest += strings.NewReplacer("NAME", fmt.Sprintf("soak-%d", i), "HOST", host).Replace(everyKind)
		}
		n.apply(manifest)
		crash()
		if chance.IntN(2) == 0 {
			n.waitRunning("soak-0")
			n.apply(settingsMap(fmt.Sprintf("mode-%d", done)))
			crash()
		}
		if got := n.runCurl([]string{"--unix-socket", n.Socket, "-X", "DELETE", "--data-binary", manifest, "http://localhost/v1/manifests"}); got.code != 200 {
			t.Fatalf("delete: got %s", got)
		}
		crash()
		for i := range crew {
			n.waitGone(fmt.Sprintf("soak-%d", i))
		}
	}
	n.eventually("every volume of a claim is given back", func() bool {
		var left struct{ PersistentVolumes []struct{ Name string } }
		n.curl("/v1/persistentvolumes").into(n, &left)
		return len(left.PersistentVolumes) == 1 // the disk stays
	})
	if left := mountsUnder(t, n.Root()); left != "" {
		t.Errorf("left are the mounts\n%s", left)
	}
	for _, dir := range []string{"pods", "local-volumes"} {
		if entries, err := os.ReadDir(filepath.Join(n.Root(), dir)); err != nil || len(entries) > 0 {
			t.Errorf("left in %s are %v, %v", dir, entries, err)
		}
	}
	if got := loopDevices(t, n.rt.Dir); len(got) > 0 {
		t.Errorf("loop devices of %q are in use", got)
	}
}

// loopDevices returns the files below a directory that are attached to loop devices.
func loopDevices(t *testing.T, dir string) (files []string) {
	t.Helper()
	backed, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range backed {
		if text, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(text), dir+"/") {
			files = append(files, strings.TrimSpace(string(text)))
		}
	}
	return files
}
