package stats

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// Collections of made-up cgroups and of real ones, the latter where the benchmark may
// make some. Each sample begins with figures that are too old.
func BenchmarkCollections(b *testing.B) {
	for _, pods := range []int{10, 100, 500} {
		b.Run(fmt.Sprintf("made-up/%d", pods), func(b *testing.B) { collections(b, madeUp(b, pods), pods) })
	}
	b.Run("real/100", func(b *testing.B) { collections(b, realOnes(b, 100), 100) })
}

func collections(b *testing.B, in Cgroups, pods int) {
	var views []node.View
	for i := range pods {
		views = append(views, podOn(fmt.Sprintf("web-%d", i), strconv.Itoa(i), "container"+strconv.Itoa(i)))
	}
	c := New(Config{
		Runtime: &scripted{}, Cgroups: in, Views: func() ([]node.View, int64) { return views, 0 }, Root: b.TempDir(),
	})
	defer c.tree.forget()
	for _, kind := range []struct {
		name    string
		collect func(context.Context) error
	}{
		{"usage", func(ctx context.Context) error { _, err := c.Usage(ctx); return err }},
		{"summary", func(ctx context.Context) error { _, err := c.Summary(ctx); return err }},
		{"cgroups", func(ctx context.Context) error { _, err := c.Cgroups(ctx); return err }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			b.ReportAllocs()
			var used unix.Rusage
			_ = unix.Getrusage(unix.RUSAGE_SELF, &used)
			before := used.Utime.Nano() + used.Stime.Nano()
			for b.Loop() {
				c.usage.taken, c.whole.taken, c.cgroups.taken = time.Time{}, time.Time{}, time.Time{}
				_ = kind.collect(b.Context()) // it has no images
			}
			_ = unix.Getrusage(unix.RUSAGE_SELF, &used)
			b.ReportMetric(float64(used.Utime.Nano()+used.Stime.Nano()-before)/float64(b.N)/1e6, "cpu-ms/op")
			if found, _ := c.Usage(b.Context()); len(found.Pods) != pods {
				b.Fatalf("got %d pods, want %d", len(found.Pods), pods)
			}
		})
	}
}

func groupsOf(pod int) []string {
	of := "kubepods/pod" + strconv.Itoa(pod)
	return []string{of, of + "/sandbox" + strconv.Itoa(pod), of + "/container" + strconv.Itoa(pod)}
}

// madeUp are the files of version 1.
func madeUp(b *testing.B, pods int) Cgroups {
	dir := b.TempDir()
	pid := strconv.Itoa(sleeper(b))
	for i := range pods {
		for _, group := range groupsOf(i) {
			for name, text := range kernels[1] {
				path := filepath.Join(dir, strings.Replace(name, "G/", group+"/", 1))
				if strings.HasSuffix(name, "cgroup.procs") {
					text = pid
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					b.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	in := Cgroups{Version: 1, Dirs: map[string]string{}, Pod: func(p *corev1.Pod) string { return "/kubepods/pod" + string(p.UID) }}
	for _, controller := range []string{"cpu", "cpuacct", "memory", "blkio", "pids"} {
		in.Dirs[controller] = filepath.Join(dir, controller)
	}
	return in
}

// realOnes have a process in each sandbox and container.
func realOnes(b *testing.B, pods int) Cgroups {
	top := fmt.Sprintf("nodal-stats-%d", os.Getpid())
	in := Cgroups{Version: 1, Dirs: map[string]string{}, Pod: func(p *corev1.Pod) string { return "/" + top + "/kubepods/pod" + string(p.UID) }}
	for _, controller := range []string{"cpu", "cpuacct", "memory", "blkio", "pids"} {
		in.Dirs[controller] = "/sys/fs/cgroup/" + controller
		if err := os.Mkdir(filepath.Join(in.Dirs[controller], top), 0o755); err != nil {
			b.Skipf("no cgroups of version 1 to make here: %v", err)
		}
		b.Cleanup(func() { _ = os.Remove(filepath.Join(in.Dirs[controller], top)) })
	}
	for _, dir := range in.Dirs {
		if err := os.Mkdir(filepath.Join(dir, top, "kubepods"), 0o755); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = os.Remove(filepath.Join(dir, top, "kubepods")) })
	}
	for i := range pods {
		for k, group := range groupsOf(i) {
			pid := 0
			if k > 0 {
				pid = sleeper(b)
			}
			for _, dir := range in.Dirs {
				path := filepath.Join(dir, top, group)
				if err := os.Mkdir(path, 0o755); err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = os.Remove(path) })
				if pid == 0 {
					continue
				}
				if err := os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0) })
			}
		}
	}
	return in
}

func sleeper(b *testing.B) (pid int) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	return cmd.Process.Pid
}
