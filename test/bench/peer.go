package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodal/host/tunable"
	"nodal/test/process"
	"nodal/test/rig"
)

// peer is another kubelet without an API server. It takes pods from a directory only.
type peer struct {
	manifests string // the directory that it watches
	scratch   string // a directory on the same file system
}

var _ kubelet = (*peer)(nil)

func newPeer(t testing.TB, binary string, flags ...string) (*column, error) {
	rt := rig.Containerd(t)
	root := filepath.Join(rt.Dir, "peer")
	k := &peer{manifests: filepath.Join(root, "manifests"), scratch: filepath.Join(root, "scratch")}
	for _, dir := range []string{k.manifests, k.scratch} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make the peer's directories: %w", err)
		}
	}
	at, claim, err := freePorts()
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { claim.Close() })
	if err := makeCgroups(rt.CgroupParent); err != nil {
		return nil, err
	}
	config := filepath.Join(root, "config.yaml")
	if err := os.WriteFile(config, []byte(peerConfig(rt, root, at)), 0o600); err != nil {
		return nil, fmt.Errorf("write the peer's configuration: %w", err)
	}
	c := &column{name: peerColumn, rt: rt, truth: truth{rt.CRI()}, kubelet: k, lazy: true, suffix: "-localhost"}
	// localhost always resolves: a name that does not resolve costs the peer seconds a pod.
	c.process = &process.Process{Path: binary, Log: filepath.Join(root, "log"), Args: append([]string{
		"--config", config, "--root-dir", root, "--cert-dir", filepath.Join(root, "pki"), "--hostname-override", "localhost",
	}, flags...)}
	c.web = &web{
		// Its certificate is self-signed.
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}},
		plain:  localURL("http", at.readOnly), secure: localURL("https", at.secure),
	}
	if err := keepTunables(t); err != nil {
		return nil, err
	}
	sweepLinks(t, root)
	return c, c.begin(t)
}

// sweepLinks removes links to the peer's logs at the end. The peer leaves some in a directory that
// no setting moves.
func sweepLinks(t testing.TB, root string) {
	t.Cleanup(func() {
		links, err := filepath.Glob("/var/log/containers/*")
		if err != nil {
			t.Error(err)
		}
		for _, link := range links {
			if target, err := os.Readlink(link); err != nil || !strings.HasPrefix(target, root+"/") {
				continue
			}
			if err := os.Remove(link); err != nil {
				t.Error(err)
			}
		}
	})
}

// keepTunables restores the kernel's settings at the end, since the peer changes some.
func keepTunables(t testing.TB) error {
	differ, err := tunable.Differ(tunable.Proc)
	if err != nil {
		return err
	}
	t.Cleanup(func() {
		for _, s := range differ {
			if err := tunable.Change(tunable.Proc, tunable.Setting{Name: s.Name, Is: s.Want, Want: s.Is}); err != nil {
				t.Errorf("%v", err)
			}
		}
	})
	return nil
}

// makeCgroups makes the parent of the peer's cgroups in every hierarchy. The rig removes it at the
// end.
func makeCgroups(name string) error {
	hierarchies := []string{"/sys/fs/cgroup"}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
		hierarchies, err = filepath.Glob("/sys/fs/cgroup/*")
		if err != nil {
			return err
		}
	}
	for _, h := range hierarchies {
		if err := os.MkdirAll(filepath.Join(h, name), 0o755); err != nil {
			return fmt.Errorf("make the parent of the peer's cgroups: %w", err)
		}
	}
	return nil
}

// peerConfig returns the peer's configuration. It keeps the peer within the rig, and its logs out
// of the directory of pods, which it clears. A nearly full disk must not make it evict pods or
// remove images. Its containers get the runtime's seccomp profile as in the other columns: without
// the filter, each start and each exec would be cheaper.
func peerConfig(rt *rig.Runtime, root string, at ports) string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: %s
staticPodPath: %s
podLogsDir: %s
address: 127.0.0.1
port: %d
readOnlyPort: %d
healthzPort: 0
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: %s
containerLogMaxSize: 1Gi
evictionHard: {memory.available: 0%%, nodefs.available: 0%%, nodefs.inodesFree: 0%%, imagefs.available: 0%%, imagefs.inodesFree: 0%%}
imageGCHighThresholdPercent: 100
seccompDefault: true
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
maxPods: 250
`, rt.Endpoint, filepath.Join(root, "manifests"), filepath.Join(root, "logs"), at.secure, at.readOnly, rt.CgroupParent)
}

// Post writes each manifest atomically, because the peer watches the directory.
func (k *peer) Post(_ context.Context, pods ...pod) error {
	for _, p := range pods {
		file := filepath.Join(k.scratch, p.name+".yaml")
		if err := os.WriteFile(file, []byte(p.manifest()), 0o600); err != nil {
			return fmt.Errorf("write the manifest of pod %s: %w", p.name, err)
		}
		if err := os.Rename(file, k.path(p)); err != nil {
			return fmt.Errorf("hand over pod %s: %w", p.name, err)
		}
	}
	return nil
}

func (k *peer) Edit(ctx context.Context, p pod) error { return k.Post(ctx, p) }

func (k *peer) Killed(context.Context, pod) error { return nil }

func (k *peer) Delete(_ context.Context, pods ...pod) error {
	for _, p := range pods {
		if err := os.Remove(k.path(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("take back pod %s: %w", p.name, err)
		}
	}
	return nil
}

func (k *peer) path(p pod) string { return filepath.Join(k.manifests, p.name+".yaml") }
