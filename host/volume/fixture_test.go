package volume

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

// bench is a tree in a directory of the test, and the objects that pods use.
type bench struct {
	*testing.T
	*Tree
	objects shelf
}

// shelf holds the objects that pods use.
type shelf map[node.ObjectRef]*node.Object

func (s shelf) Object(ref node.ObjectRef) (*node.Object, bool) {
	object, ok := s[ref]
	return object, ok
}

func (s shelf) Objects(kind node.ObjectKind) (all []*node.Object, revision int64) {
	for ref, object := range s {
		if ref.Kind == kind {
			all = append(all, object)
		}
	}
	return all, 0
}

func newBench(t *testing.T) *bench {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root mounts and gives files away")
	}
	b := &bench{T: t, objects: shelf{}}
	b.Tree = New(Config{Pods: filepath.Join(t.TempDir(), "pods"), Objects: b.objects})
	t.Cleanup(func() {
		if err := b.Sweep(context.WithoutCancel(t.Context()), keepNone); err != nil {
			t.Errorf("sweep: %v", err)
		}
	})
	return b
}

func configMap(name string, data map[string]string) *node.Object {
	return node.NewObject(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: data})
}

func secret(name string, data map[string]string) *node.Object {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return node.NewObject(s)
}

const anchor = "-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n"

func trustBundle(name string) *node.Object {
	return node.NewObject(&certificatesv1.ClusterTrustBundle{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       certificatesv1.ClusterTrustBundleSpec{SignerName: node.SignerOf(name), TrustBundle: anchor},
	})
}

func trusting(source *corev1.ClusterTrustBundleProjection) corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ClusterTrustBundle: source}}}}
}

func (b *bench) post(objects ...*node.Object) {
	for _, o := range objects {
		b.objects[o.Ref()] = o
	}
}

// pod has one container that mounts one volume at /v.
func pod(source corev1.VolumeSource) *node.Pod {
	return &node.Pod{Object: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}}},
			Volumes:    []corev1.Volume{{Name: "v", VolumeSource: source}},
		},
	}}
}

func fromConfigMap(name string, items ...corev1.KeyToPath) corev1.VolumeSource {
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: items,
	}}
}

func fromSecret(name string) corev1.VolumeSource {
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}
}

func emptyDir() corev1.VolumeSource {
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
}

// setUp lays out the pod's volume and returns where it lies.
func (b *bench) setUp(p *node.Pod) string {
	b.Helper()
	if err := b.SetUp(b.Context(), p, "v"); err != nil {
		b.Fatal(err)
	}
	return b.source(p)
}

// source returns the path that the pod's container gets mounted.
func (b *bench) source(p *node.Pod) string {
	b.Helper()
	mounts, err := b.Mounts(p, &p.Object.Spec.Containers[0], nil)
	if err != nil {
		b.Fatal(err)
	}
	return mounts[0].HostPath
}

// show lists what a reader of a directory finds: path, mode and data of each file, without the
// node's own names.
func (b *bench) show(dir string) string {
	b.Helper()
	var lines []string
	var walk func(at string)
	walk = func(at string) {
		entries, err := os.ReadDir(filepath.Join(dir, at))
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range entries {
			name := filepath.Join(at, e.Name())
			info, err := os.Stat(filepath.Join(dir, name))
			switch {
			case strings.HasPrefix(e.Name(), ".."):
			case err != nil:
				b.Fatal(err)
			case info.IsDir():
				lines = append(lines, name+"/ "+info.Mode().Perm().String())
				walk(name)
			default:
				data, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					b.Fatal(err)
				}
				lines = append(lines, name+" "+info.Mode().Perm().String()+" "+string(data))
			}
		}
	}
	walk("")
	return strings.Join(lines, "\n")
}

func (b *bench) wantShown(dir string, want ...string) {
	b.Helper()
	if got := b.show(dir); got != strings.Join(want, "\n") {
		b.Errorf("the volume shows\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// mounted are the mount points below the tree.
func (b *bench) mounted() []string {
	b.Helper()
	if _, err := os.Stat(b.Pods); err != nil {
		return nil
	}
	points, err := mountsBelow(b.Pods)
	if err != nil {
		b.Fatal(err)
	}
	var paths []string
	for _, p := range points {
		paths = append(paths, p.path)
	}
	return paths
}

// write makes a file in a directory, with its parents.
func (b *bench) write(dir, name, data string) {
	b.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		b.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func modeAt(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}
