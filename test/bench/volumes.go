package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	nodev1 "nodal/api/gen/node/v1"
)

// stock holds the objects behind the volumes of a stored pod.
const stock = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {mode: MODE}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: secret}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
`

// storage holds ten volumes of mixed kinds.
const storage = `  volumes:
  - {name: a, emptyDir: {}}
  - {name: b, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
  - {name: c, hostPath: {path: /tmp}}
  - {name: settings, configMap: {name: settings}}
  - {name: d, configMap: {name: settings, items: [{key: mode, path: deep/mode}]}}
  - {name: e, secret: {secretName: login}}
  - {name: f, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}
  - {name: g, projected: {sources: [{configMap: {name: settings}}, {secret: {name: login}}]}}
  - {name: h, persistentVolumeClaim: {claimName: data}}
  - {name: i, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}}}
`

// storageMounts returns the mounts of these volumes.
func storageMounts() string {
	text := "    volumeMounts:\n"
	for _, name := range []string{"a", "b", "c", "settings", "d", "e", "f", "g", "h", "i"} {
		text += fmt.Sprintf("    - {name: %[1]s, mountPath: /v/%[1]s}\n", name)
	}
	return text
}

// volumes runs pods with and without volumes in turns, then changes an object behind a volume.
func (b *suite) volumes(ctx context.Context) error {
	return b.each(func(c *column) error {
		agent, ok := c.kubelet.(*nodal)
		if !ok {
			return nil
		}
		return b.volumesOf(ctx, c, agent)
	})
}

func (b *suite) volumesOf(ctx context.Context, c *column, agent *nodal) error {
	supply := func(mode string) error {
		_, err := agent.manifests.Apply(ctx, &nodev1.ApplyRequest{Manifest: stocked(mode)})
		return err
	}
	if err := supply("start"); err != nil {
		return fmt.Errorf("post what volumes are made from: %w", err)
	}
	started := samples{}
	for range b.sizes.singles {
		for column, stored := range map[string]bool{rawColumn: false, nodalColumn: true} {
			p := b.newPods(c, 1)[0]
			p.stored = stored
			took, err := c.run(ctx, p)
			if err != nil {
				return err
			}
			started.add(column, took)
			if err := c.clear(ctx, p); err != nil {
				return err
			}
		}
	}
	b.add("pod with 10 volumes of mixed kinds: posted to started (raw: the same pod without)", "ms", started.p50(), overRaw(15))
	if err := b.update(ctx, c, supply); err != nil {
		return err
	}
	_, err := agent.manifests.Delete(ctx, &nodev1.DeleteRequest{Manifest: stocked("")})
	return err
}

func stocked(mode string) string { return strings.Replace(stock, "MODE", mode, 1) }

// update waits until a posted change shows in the file of a running pod.
func (b *suite) update(ctx context.Context, c *column, supply func(string) error) error {
	p := b.newPods(c, 1)[0]
	p.stored = true
	if _, err := c.run(ctx, p); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(c.rt.Dir, "nodal/pods/*/volumes/kubernetes.io~configmap/settings/mode"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("find the file of the volume: %v, %w", files, err)
	}
	took := samples{}
	for i := range b.sizes.changes {
		mode := fmt.Sprintf("change-%d", i)
		began := time.Now()
		if err := supply(mode); err != nil {
			return err
		}
		err := poll(ctx, time.Millisecond, func() (bool, error) {
			text, err := os.ReadFile(files[0])
			return string(text) == mode, err
		})
		if err != nil {
			return fmt.Errorf("wait for the file to change: %w", err)
		}
		took.add(c.name, time.Since(began))
	}
	b.add("ConfigMap posted to its file changed in a running pod", "ms", took.p50(), atMost(2000, "ms"))
	return c.clear(ctx, p)
}
