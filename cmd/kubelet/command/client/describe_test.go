package client

import (
	"strings"
	"testing"

	nodev1 "nodal/api/gen/node/v1"
)

func TestDescribeShowsOtherKinds(t *testing.T) {
	n := newFakeNode(t)
	n.pods = []*nodev1.Pod{{Namespace: "default", Name: "web", Object: object(t, map[string]any{
		"metadata": map[string]any{"name": "web"},
		"spec": map[string]any{
			"volumes": []any{map[string]any{"name": "d", "persistentVolumeClaim": map[string]any{"claimName": "data"}}},
			"containers": []any{map[string]any{
				"name": "main", "envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": "settings"}}},
				"env": []any{map[string]any{"name": "A", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "key", "key": "password"}}}},
			}},
		},
		"status": map[string]any{"containerStatuses": []any{map[string]any{"name": "main", "imageID": "sha256:abcdef123456"}}},
	})}}
	n.objects = []*nodev1.Object{
		{Kind: "ConfigMap", Namespace: "default", Name: "settings", Object: object(t, map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"data":     map[string]any{"one": "1", "many": strings.Repeat("line\x1b[2J\n", 30)},
		})},
		{Kind: "Secret", Namespace: "default", Name: "key", Keys: []string{"password", "user"}, Object: object(t, map[string]any{
			"type": "Opaque", "data": map[string]any{"password": "c2VjcmV0"},
		})},
		{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data", Message: "waits for a volume", Object: object(t, map[string]any{
			"spec":   map[string]any{"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}}},
			"status": map[string]any{"phase": "Pending"},
		})},
		{Kind: "PersistentVolume", Name: "disk", Object: object(t, map[string]any{
			"spec":   map[string]any{"capacity": map[string]any{"storage": "2Gi"}, "claimRef": map[string]any{"namespace": "default", "name": "data"}, "local": map[string]any{"path": "/srv/disk"}},
			"status": map[string]any{"phase": "Bound"},
		})},
		{Kind: "RuntimeClass", Name: "fast", Source: "file", Origin: "/etc/pods/fast.yaml", Object: object(t, map[string]any{"spec": map[string]any{"why\x1b": "a"}})},
	}
	n.images = []*nodev1.Image{{Id: "sha256:abcdef123456", References: []string{"app:1", "app:2"}, Size: 3 << 20}}
	for _, c := range []struct {
		args string
		want []string
	}{
		{"describe configmap settings", []string{"Labels:          app=web\n", "  one:           1\n", "  many:\n    line\\x1b[2J\n", "... and 10 lines more", "Used by:         web\n"}},
		{"describe cm/settings", []string{"Kind:            ConfigMap\n"}},
		{"describe secret key", []string{"Type:            Opaque\n", "Keys:            password, user\n", "Used by:         web\n"}},
		{"describe claim data", []string{"Status:          Pending\n", "Message:         waits for a volume\n", "Requests:        storage=1Gi\n", "Access modes:    ReadWriteOnce\n", "Used by:         web\n"}},
		{"describe volume disk", []string{"Claim:           default/data\n", "Capacity:        storage=2Gi\n", "Source:          local path /srv/disk\n"}},
		{"describe runtimeclass fast", []string{"Kind:            RuntimeClass\n", "From:            file /etc/pods/fast.yaml\n", "spec:\n"}},
		{"describe image app:2", []string{"Names:           app:1, app:2\n", "Size:            3.0 MiB\n", "Used by:         default/web\n"}},
	} {
		out, failed, code := n.run(t, strings.Fields(c.args)...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: got %d, %q, want %q in\n%s", c.args, code, failed, want, out)
			}
		}
		if code != 0 || strings.Contains(out, "c2VjcmV0") || strings.Contains(out, "\x1b") {
			t.Errorf("%s: got %d, %q, or a value of a Secret, or what steers the terminal:\n%q", c.args, code, failed, out)
		}
	}
	for args, want := range map[string]string{
		"describe widgets web":     `unknown kind "widgets"`,
		"describe configmap":       "want the name of one of the configmaps",
		"describe configmap a b":   "want KIND NAME",
		"describe secret nope":     "not found; kubelet get secrets -A lists them all",
		"describe image app:9":     "kubelet get images lists them",
		"describe pod/web/x":       "want the name of a pod",
		"describe configmap/":      "want the name of one of the configmaps",
		"describe configmap/a b":   "want KIND NAME",
		"describe nosuchpod":       "kubelet get pods -A lists them all",
		"describe -n shop nosuch":  "not found",
		"describe a b c":           "want KIND NAME",
		"describe describe -x":     "unknown shorthand flag",
		"describe --namespaec x y": "did you mean --namespace?",
	} {
		if _, failed, code := n.run(t, strings.Fields(args)...); code == 0 || !strings.Contains(failed, want) {
			t.Errorf("%s: got %d, %q, want %q", args, code, failed, want)
		}
	}
}
