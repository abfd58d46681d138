package volume

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func ptr[T any](v T) *T { return &v }

func TestContentOfVolumes(t *testing.T) {
	settings := map[string]string{"mode": "fast", "level": "3"}
	for _, c := range []struct {
		name   string
		source corev1.VolumeSource
		want   []string
	}{
		{"every key of a configMap is a file", fromConfigMap("settings"),
			[]string{"level -rw-r--r-- 3", "mode -rw-r--r-- fast"}},
		{"items choose keys, paths and modes", fromConfigMap("settings",
			corev1.KeyToPath{Key: "mode", Path: "etc/app/mode.txt", Mode: ptr(int32(0o400))}),
			[]string{"etc/ -rwxr-xr-x", "etc/app/ -rwxr-xr-x", "etc/app/mode.txt -r-------- fast"}},
		{"defaultMode is for files that ask for none", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: "login", DefaultMode: ptr(int32(0o440)),
		}}, []string{"password -r--r----- tr0ub4dor"}},
		{"an optional object that is missing leaves the volume empty", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Optional: ptr(true),
		}}, []string{""}},
		{"an optional key that is missing is left out", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Optional: ptr(true),
			Items: []corev1.KeyToPath{{Key: "none", Path: "none"}, {Key: "level", Path: "level"}},
		}}, []string{"level -rw-r--r-- 3"}},
		{"the downward API tells fields and resources", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
			Items: []corev1.DownwardAPIVolumeFile{
				{Path: "name", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}},
				{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
				{Path: "limit", ResourceFieldRef: &corev1.ResourceFieldSelector{
					ContainerName: "main", Resource: "limits.memory", Divisor: resource.MustParse("1Mi"),
				}},
			},
		}}, []string{`labels -rw-r--r-- app="web"`, "limit -rw-r--r-- 64", "name -rw-r--r-- web"}},
		{"a projection has all sources in one directory", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: ptr(int32(0o600)),
			Sources: []corev1.VolumeProjection{
				{}, // as API servers leave those that they do not know
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}},
				{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "login"}}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
					{Path: "pod/uid", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.uid"}, Mode: ptr(int32(0o644))},
				}}},
			},
		}}, []string{"level -rw------- 3", "mode -rw------- fast", "password -rw------- tr0ub4dor", "pod/ -rwxr-xr-x", "pod/uid -rw-r--r-- u1"}},
		{"certificates that a pod is to trust are one file", trusting(&corev1.ClusterTrustBundleProjection{
			SignerName: ptr("example.com/ca"), LabelSelector: &metav1.LabelSelector{}, Path: "tls/ca.pem",
		}), []string{"tls/ -rwxr-xr-x", "tls/ca.pem -rw-r--r-- " + anchor}},
		{"where they are optional and missing it is empty", trusting(&corev1.ClusterTrustBundleProjection{
			Name: ptr("none"), Optional: ptr(true), Path: "ca.pem",
		}), []string{"ca.pem -rw-r--r-- "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.post(trustBundle("example.com:ca:a"), configMap("settings", settings), secret("login", map[string]string{"password": "tr0ub4dor"}))
			p := pod(c.source)
			p.Object.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"memory": resource.MustParse("64Mi")}
			b.wantShown(b.setUp(p), c.want...)
		})
	}
}

// What a pod asks for while it runs it may have to wait for, or never get.
func TestFilesShowTheResourcesThatTheNodeHasGiven(t *testing.T) {
	b := newBench(t)
	p := pod(corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
		{Path: "limit", ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: "main", Resource: "limits.memory"}},
	}}})
	memory := func(limit string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": resource.MustParse(limit)}}
	}
	p.Object.Spec.Containers[0].Resources = memory("2k")
	p.Resize = &node.Resize{Reason: corev1.PodReasonDeferred, Held: map[string]corev1.ResourceRequirements{"main": memory("1k")}}
	b.wantShown(b.setUp(p), "limit -rw-r--r-- 1000")
	p.Resize = nil
	b.wantShown(b.setUp(p), "limit -rw-r--r-- 2000")
}

func TestContentThatIsMissing(t *testing.T) {
	for _, c := range []struct {
		name   string
		source corev1.VolumeSource
		want   string
	}{
		{"a configMap", fromConfigMap("none"), `MountVolume.SetUp failed for volume "v" : configmap "none" not found`},
		{"a secret", fromSecret("none"), `MountVolume.SetUp failed for volume "v" : secret "none" not found`},
		{"a key of a configMap", fromConfigMap("settings", corev1.KeyToPath{Key: "none", Path: "none"}),
			`MountVolume.SetUp failed for volume "v" : configmap references non-existent config key: none`},
		{"a key of a secret", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: "login", Items: []corev1.KeyToPath{{Key: "none", Path: "none"}},
		}}, `MountVolume.SetUp failed for volume "v" : references non-existent secret key: none`},
		{"a bundle of certificates", trusting(&corev1.ClusterTrustBundleProjection{Name: ptr("none"), Path: "ca.pem"}),
			`MountVolume.SetUp failed for volume "v" : clustertrustbundle "none" not found`},
		{"all that is missing is told", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "a"}}},
			{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "b"}}},
		}}}, `MountVolume.SetUp failed for volume "v" : [configmap "a" not found, secret "b" not found]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.post(configMap("settings", nil), secret("login", nil))
			err := b.SetUp(t.Context(), pod(c.source), "v")
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestASecretThatIsLockedIsNotTakenForAMissingOne(t *testing.T) {
	locked := secret("login", nil)
	locked.Locked = errors.New("its key is away")
	optional := corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "login", Optional: ptr(true)}}
	for _, source := range []corev1.VolumeSource{fromSecret("login"), optional} {
		b := newBench(t)
		b.post(locked)
		if err := b.SetUp(t.Context(), pod(source), "v"); err == nil || !strings.Contains(err.Error(), "its key is away") {
			t.Errorf("got %v, want the reason", err)
		}
	}
}

func TestASecretNeverTouchesTheDisk(t *testing.T) {
	b := newBench(t)
	b.post(secret("login", map[string]string{"password": "tr0ub4dor"}))
	dir := b.setUp(pod(fromSecret("login")))
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil || stat.Type != unix.TMPFS_MAGIC {
		t.Errorf("the volume lies on a file system of type %x, %v; want a tmpfs", stat.Type, err)
	}
	if b.setUp(pod(fromSecret("login"))); len(b.mounted()) != 1 {
		t.Errorf("laid out twice, mounted are %q; want one", b.mounted())
	}
	if err := b.TearDown(t.Context(), "u1"); err != nil {
		t.Fatal(err)
	}
	if points := b.mounted(); len(points) > 0 || exists(filepath.Join(b.Pods, "u1")) {
		t.Errorf("left are %q", points)
	}
}

func TestFilesBelongToTheUserThatTheirSourceNames(t *testing.T) {
	b := newBench(t)
	b.post(configMap("settings", map[string]string{"a": "1", "b": "2"}))
	source := fromConfigMap("settings", corev1.KeyToPath{Key: "a", Path: "a"}, corev1.KeyToPath{Key: "b", Path: "b", User: ptr(int64(7))})
	source.ConfigMap.DefaultUser = ptr(int64(1000))
	dir := b.setUp(pod(source))
	for name, want := range map[string]uint32{"a": 1000, "b": 7} {
		var stat unix.Stat_t
		if err := unix.Stat(filepath.Join(dir, name), &stat); err != nil || stat.Uid != want || stat.Gid != 0 {
			t.Errorf("%s belongs to %d:%d, %v; want %d:0", name, stat.Uid, stat.Gid, err, want)
		}
	}
}

func TestContentIsWrittenOnlyWhenItChanges(t *testing.T) {
	b := newBench(t)
	b.post(configMap("settings", map[string]string{"a": "1"}))
	dir := b.setUp(pod(fromConfigMap("settings")))
	before, err := os.Readlink(filepath.Join(dir, dataLink))
	if err != nil {
		t.Fatal(err)
	}
	b.setUp(pod(fromConfigMap("settings")))
	if after, _ := os.Readlink(filepath.Join(dir, dataLink)); after != before {
		t.Errorf("version %s became %s though nothing had changed", before, after)
	}

	for _, change := range []map[string]string{{"a": "2"}, {"a": "2", "b": "1"}, {"b": "1"}, {}} {
		b.post(configMap("settings", change))
		var want []string
		for _, key := range []string{"a", "b"} {
			if value, ok := change[key]; ok {
				want = append(want, key+" -rw-r--r-- "+value)
			}
		}
		b.wantShown(b.setUp(pod(fromConfigMap("settings"))), want...)
	}
}

// A crash may end a write after any step; what it leaves is completed or cleared.
func TestAWriteGoesOnAfterACrash(t *testing.T) {
	for _, c := range []struct {
		name  string
		crash func(b *bench, dir string)
	}{
		{"before the new version was in force", func(b *bench, dir string) {
			b.write(dir, "..2030_01_01_00_00_00.000000001/a", "half")
			if err := os.Symlink("..2030_01_01_00_00_00.000000001", filepath.Join(dir, newLink)); err != nil {
				b.Fatal(err)
			}
		}},
		{"before the names were linked", func(b *bench, dir string) {
			if err := os.Remove(filepath.Join(dir, "a")); err != nil {
				b.Fatal(err)
			}
		}},
		{"before the old names were removed", func(b *bench, dir string) {
			if err := os.Symlink("..data/old", filepath.Join(dir, "old")); err != nil {
				b.Fatal(err)
			}
		}},
		{"before anything was in force", func(b *bench, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				b.Fatal(err)
			}
			b.write(dir, "..2030_01_01_00_00_00.000000001/a", "half")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.post(configMap("settings", map[string]string{"a": "1"}))
			dir := b.setUp(pod(fromConfigMap("settings")))
			c.crash(b, dir)
			b.wantShown(b.setUp(pod(fromConfigMap("settings"))), "a -rw-r--r-- 1")
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 3 { // a, ..data and its version
				t.Errorf("the volume has %v, %v; want three entries", entries, err)
			}
		})
	}
}

// A reader through ..data sees one version or the other.
func TestAChangeIsSeenWholeOrNotAtAll(t *testing.T) {
	b := newBench(t)
	version := func(v string) { b.post(configMap("settings", map[string]string{"a": v, "b": v})) }
	version("0")
	dir := b.setUp(pod(fromConfigMap("settings")))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 300 {
			version(strings.Repeat("x", i))
			if err := b.SetUp(t.Context(), pod(fromConfigMap("settings")), "v"); err != nil {
				t.Error(err)
			}
		}
	}()
	defer func() { <-done }()
	for {
		select {
		case <-done:
			return
		default:
		}
		if _, err := os.Readlink(filepath.Join(dir, dataLink)); err != nil {
			t.Fatalf("at no moment may the volume be without data: %v", err)
		}
		version, err := os.Open(filepath.Join(dir, dataLink)) // holds on to the version
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went between the link's being read and followed
		}
		if err != nil {
			t.Fatal(err)
		}
		now, err := os.OpenRoot(version.Name())
		if err == nil {
			a, errA := now.ReadFile("a")
			b, errB := now.ReadFile("b")
			if errA == nil && errB == nil && string(a) != string(b) {
				t.Fatalf("a is %q and b is %q", a, b)
			}
			now.Close()
		}
		version.Close()
	}
}

func TestVolumesMountOnReadOnlyVolumes(t *testing.T) {
	b := newBench(t)
	b.post(configMap("settings", map[string]string{"a": "1"}))
	p := pod(fromConfigMap("settings"))
	p.Object.Spec.Volumes = append(p.Object.Spec.Volumes, corev1.Volume{Name: "w", VolumeSource: emptyDir()})
	c := &p.Object.Spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "w", MountPath: "/v/cache/deep"})
	want := []string{"a -rw-r--r-- 1", "cache/ -rwxr-xr-x", "cache/deep/ -rwxr-xr-x"}
	if err := b.SetUp(t.Context(), p, "w"); err != nil {
		t.Fatal(err)
	}
	b.wantShown(b.setUp(p), want...)
	b.wantShown(b.setUp(p), want...)
}

// Upstream's kubelet mounts a tmpfs where there is none, and hides what lies there from then on.
func TestVolumesLieInMemoryWhereUpstreamHasThemThere(t *testing.T) {
	facts := corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
		Path: "name", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"},
	}}}
	for _, c := range []struct {
		name   string
		source corev1.VolumeSource
		memory bool
	}{
		{"downwardAPI", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: facts.Items}}, true},
		{"projected", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{DownwardAPI: &facts}}}}, true},
		{"configMap", fromConfigMap("settings"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.post(configMap("settings", map[string]string{"mode": "fast"}))
			dir := b.setUp(pod(c.source))
			if got := len(b.mounted()) == 1; got != c.memory {
				t.Errorf("mounted are %q, want a tmpfs: %t", b.mounted(), c.memory)
			}
			if !c.memory {
				return
			}
			// An earlier version has laid it out on the disk, and containers have that mounted.
			if err := errors.Join(unix.Unmount(dir, 0), os.Mkdir(filepath.Join(dir, "..before"), 0o755),
				os.Symlink("..before", filepath.Join(dir, dataLink))); err != nil {
				t.Fatal(err)
			}
			if b.setUp(pod(c.source)); len(b.mounted()) != 0 {
				t.Errorf("mounted over the files of an earlier version are %q", b.mounted())
			}
			b.wantShown(dir, "name -rw-r--r-- web")
		})
	}
}
