package usage

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// bench is a meter of a disk where each file takes as many bytes as its directory's name is long.
type bench struct {
	*Meter
	walks map[string]int
	takes time.Duration
	works time.Duration // of a processor, for a walk
	fails string        // to be walked
}

func newBench() *bench {
	b := &bench{walks: map[string]int{}}
	b.Meter = New(Config{
		Volumes: b, LogDir: func(key node.Key, _ types.UID) (string, error) { return "/logs/" + key.Name, nil },
		Layers: func(context.Context, types.UID) (map[string]node.Space, error) {
			return map[string]node.Space{"main": {Bytes: 100, Inodes: 3}}, nil
		},
	})
	b.walk = func(ctx context.Context, dir string) (Use, error) {
		b.walks[dir]++
		for until := threadTime() + b.works; threadTime() < until; {
		}
		time.Sleep(b.takes)
		if dir == b.fails {
			return Use{}, errors.New("cannot read " + dir)
		}
		return Use{Bytes: int64(len(dir)), Inodes: 1}, ctx.Err()
	}
	return b
}

// NodeDir has volumes called remote lie on a server.
func (b *bench) NodeDir(_ *corev1.Pod, volume string) (string, error) {
	switch volume {
	case "remote", "driven":
		return "", nil
	case "broken":
		return "", errors.New("no way to broken")
	}
	return "/" + volume, nil
}

// DrivenDir has volumes called driven belong to a driver.
func (b *bench) DrivenDir(_ *corev1.Pod, volume string) (string, error) {
	if volume == "driven" {
		return "/driven/mount", nil
	}
	return "", nil
}

func podWith(volumes ...corev1.Volume) *node.Pod {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Volumes: volumes, Containers: []corev1.Container{{Name: "main"}}}}
	pod.Namespace, pod.Name, pod.UID = "default", "web", "u1"
	return &node.Pod{Object: pod}
}

func volume(name string, of corev1.VolumeSource) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: of}
}

func scratch(name string) corev1.Volume {
	return volume(name, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
}

func TestWhereTheFilesOfAPodLie(t *testing.T) {
	memory := volume("memory", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}})
	config := volume("config", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}})
	secret := volume("secret", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}})
	host := volume("host", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}})
	claim := volume("claim", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "mine"}})
	driven := volume("driven", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "disk"}})
	inline := volume("driven", corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "disk"}})
	got, err := newBench().Places(podWith(scratch("scratch"), scratch("broken"), scratch("remote"), memory, config, secret, host, claim, driven, inline))
	want := []node.DiskPlace{
		{Dir: "/scratch", Volume: "scratch", Ephemeral: true}, {Dir: "/memory", Volume: "memory", Apart: true},
		{Dir: "/config", Volume: "config", Ephemeral: true}, {Dir: "/secret", Volume: "secret"},
		{Dir: "/claim", Volume: "claim", Claim: "mine", Apart: true}, {Dir: "/driven/mount", Volume: "driven", Claim: "disk", Apart: true, Driven: true}, {Dir: "/driven/mount", Volume: "driven", Apart: true, Driven: true}, {Dir: "/logs/web/main", Container: "main"},
	}
	if !slices.Equal(got, want) || err == nil || err.Error() != "no way to broken" {
		t.Errorf("got %+v, %v; want %+v, and that there is no way to one", got, err, want)
	}
}

func TestThePartsOfAPodTakeRoomOfTheirDisks(t *testing.T) {
	claim := volume("claim", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "mine"}})
	pod := podWith(scratch("a"), scratch("bc"), claim)
	for _, c := range []struct {
		parts node.DiskParts
		total node.Space
		main  node.Space
	}{
		{node.DiskParts{Files: true, Layers: true}, node.Space{Bytes: 2 + 3 + 14 + 100, Inodes: 6}, node.Space{Bytes: 14 + 100, Inodes: 4}},
		{node.DiskParts{Files: true}, node.Space{Bytes: 2 + 3 + 14, Inodes: 3}, node.Space{Bytes: 14, Inodes: 1}},
		{node.DiskParts{Layers: true}, node.Space{Bytes: 100, Inodes: 3}, node.Space{Bytes: 100, Inodes: 3}},
	} {
		b := newBench()
		got, err := b.Used(t.Context(), pod, c.parts)
		if err != nil || got.Total != c.total || got.Containers["main"] != c.main {
			t.Errorf("%+v: got %+v, %v; want %+v with %+v in main", c.parts, got, err, c.total, c.main)
		}
	}
	b := newBench()
	b.fails = "/a"
	if got, err := b.Used(t.Context(), pod, node.DiskParts{Files: true}); err == nil || got.Total.Bytes != 3+14 {
		t.Errorf("got %+v, %v; want the rest, and an error", got, err)
	}
}

func TestOnlyRequestedDirectoriesAreWalked(t *testing.T) {
	pod := podWith(scratch("a"), scratch("b"))
	for _, c := range []struct {
		name       string
		volumes    []string
		containers bool
		want       node.Written
		walks      []string
	}{
		{"nothing", nil, false, node.Written{}, nil},
		{"a volume", []string{"a"}, false, node.Written{Volumes: map[string]int64{"a": 2}}, []string{"/a"}},
		{"what containers write", nil, true, node.Written{Containers: map[string]int64{"main": 100 + 14}}, []string{"/logs/web/main"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench()
			got, err := b.Written(t.Context(), pod, c.volumes, c.containers)
			if err != nil || !maps.Equal(got.Volumes, c.want.Volumes) || !maps.Equal(got.Containers, c.want.Containers) {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
			if walks := slices.Sorted(maps.Keys(b.walks)); !slices.Equal(walks, c.walks) {
				t.Errorf("got walks through %q, want %q", walks, c.walks)
			}
		})
	}
}

func TestOnlyAWalkIsAnEffort(t *testing.T) {
	b := newBench()
	b.works, b.takes = 20*time.Millisecond, 200*time.Millisecond
	for _, c := range []struct {
		name     string
		min, max time.Duration
	}{
		{"a walk that also waits", b.works, b.works + b.takes/2},
		{"the figures of the walk before", 0, 0},
	} {
		got, err := b.Written(t.Context(), podWith(scratch("a")), []string{"a"}, false)
		if err != nil || got.Effort < c.min || got.Effort > c.max {
			t.Errorf("%s: got an effort of %v, %v; want %v to %v", c.name, got.Effort, err, c.min, c.max)
		}
	}
}

func TestUnreadableDirectoriesAreMissingAndReported(t *testing.T) {
	b := newBench()
	b.fails = "/a"
	got, err := b.Written(t.Context(), podWith(scratch("a"), scratch("b")), []string{"a", "b"}, false)
	if err == nil || !strings.Contains(err.Error(), "cannot read /a") || len(got.Volumes) != 1 || got.Volumes["b"] != 2 {
		t.Errorf("got %v, %v; want the other volume, and why one is missing", got, err)
	}
}

func TestTwoReadersDoNotWalkTheSameDirectoryTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, pod := newBench(), podWith(scratch("a"))
		evictor := func() {
			t.Helper()
			if _, err := b.Written(t.Context(), pod, []string{"a"}, false); err != nil {
				t.Error(err)
			}
		}
		stats := func() {
			t.Helper()
			if bytes, inodes, err := b.Measure(t.Context(), "/a"); bytes != 2 || inodes != 1 || err != nil {
				t.Errorf("got %d bytes and %d inodes, %v; want 2 and 1", bytes, inodes, err)
			}
		}
		for _, c := range []struct {
			name  string
			after time.Duration
			read  func()
			want  int
		}{
			{"the evictor walks", 0, evictor, 1},
			{"stats take what the evictor found", 20 * time.Second, stats, 1},
			{"the evictor walks again", 0, evictor, 2},
			{"and not twice in a second", 900 * time.Millisecond, evictor, 2},
			{"stats walk for themselves after a while", 31 * time.Second, stats, 3},
			{"and the evictor takes what stats have found just now", 100 * time.Millisecond, evictor, 3},
		} {
			time.Sleep(c.after)
			if c.read(); b.walks["/a"] != c.want {
				t.Errorf("%s: got %d walks, want %d", c.name, b.walks["/a"], c.want)
			}
		}
	})
}

func TestReadersShareAWalkThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.takes = time.Minute
		first, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		given := make(chan error)
		go func() {
			_, _, err := b.Measure(first, "/a")
			given <- err
		}()
		synctest.Wait()
		bytes, _, err := b.Measure(t.Context(), "/a")
		if bytes != 2 || err != nil || b.walks["/a"] != 1 {
			t.Errorf("got %d bytes, %v after %d walks; want 2 after one", bytes, err, b.walks["/a"])
		}
		if err := <-given; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the reader that gave up got %v", err)
		}
	})
}

func TestDirectoriesThatAreGoneAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		for range 3 {
			for _, dir := range []string{"/a", "/b"} {
				if _, _, err := b.Measure(t.Context(), dir); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Hour)
		}
		if _, _, err := b.Measure(t.Context(), "/c"); err != nil {
			t.Fatal(err)
		}
		if got := len(b.Meter.walks); got != 1 {
			t.Errorf("it remembers %d directories, want the last", got)
		}
	})
}
